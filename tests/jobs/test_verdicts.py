from __future__ import annotations

from dataclasses import replace

from voxcli.jobs.result import Result, Review
from voxcli.jobs.verdicts import UNDECIDED, Decision, LineVerdict, decide

FIRST = Result("a", "a.wav", "Hello.", "ok", seed=1, take=1)
SECOND = replace(FIRST, out="a.take2.wav", seed=2, take=2)
TAKES = {1: FIRST, 2: SECOND}


def test_without_verdicts_nothing_is_decided() -> None:
    assert decide(None, TAKES) is UNDECIDED
    assert UNDECIDED.review(1, FIRST) is None and not UNDECIDED.rejects(FIRST)


def test_an_approved_take_is_recorded_with_it_alone() -> None:
    decision = decide(LineVerdict("approved", 2, note="warm"), TAKES)
    assert decision == Decision(2, frozenset(), "warm")
    assert decision.review(2, SECOND) == Review("approved", "warm")
    assert decision.review(1, FIRST) == Review(None, "warm")


def test_an_approval_without_a_take_means_the_best_one() -> None:
    assert decide(LineVerdict("approved"), TAKES).approved == 1
    rejected = {1: replace(FIRST, review=Review("rejected", seeds=(1,))), 2: SECOND}
    assert decide(LineVerdict("approved"), rejected).approved == 2
    assert decide(LineVerdict("approved"), {}).approved is None


def test_a_rejected_take_is_known_by_its_seed() -> None:
    decision = decide(LineVerdict("rejected", 1, (1,), "too fast"), TAKES)
    assert decision.rejects(FIRST) and not decision.rejects(SECOND)
    assert decision.review(1, FIRST) == Review("rejected", "too fast", (1,))
    assert decision.review(2, SECOND) == Review(None, "too fast", (1,))
    again = replace(FIRST, seed=9)
    assert decision.review(1, again) == Review(None, "too fast", (1,)), "spoken again"
    assert decision.review(1, None) == Review(None, "too fast", (1,))


def test_what_is_recorded_holds_until_a_verdict_overrides_it() -> None:
    recorded = {1: replace(FIRST, review=Review(None, "old", (5, 6))), 2: replace(SECOND, review=Review("approved"))}
    assert decide(None, recorded) == Decision(2, frozenset({5, 6}), "old")
    assert decide(LineVerdict(None), recorded) == Decision(None, frozenset({5, 6}), "old")
    assert decide(LineVerdict("rejected", 2, (2,), ""), recorded) == Decision(None, frozenset({2, 5, 6}), "")


def test_a_verdict_without_the_seed_takes_back_the_rejection_of_a_take_that_is_still_there() -> None:
    recorded = {1: replace(FIRST, review=Review("rejected", "", (1, 5)))}
    assert decide(LineVerdict(None), recorded) == Decision(None, frozenset({5}), "")
    assert decide(LineVerdict("rejected", 1, (1,)), recorded).seeds == {1, 5}
    assert decide(None, recorded).seeds == {1, 5}


def test_an_approval_takes_back_the_rejection_of_its_take() -> None:
    recorded = {1: replace(FIRST, review=Review("rejected", "", (1, 5)))}
    assert decide(LineVerdict("approved", 1), recorded) == Decision(1, frozenset({5}), "")
