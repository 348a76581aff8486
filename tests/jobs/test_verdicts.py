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


HEARD = {1: replace(FIRST, sha256="a" * 64), 2: replace(SECOND, sha256="b" * 64)}


def test_a_verdict_holds_for_the_audio_that_was_heard() -> None:
    assert decide(LineVerdict("approved", 2, sha256=("b" * 16,)), HEARD) == Decision(2)
    assert decide(LineVerdict("approved", 2, sha256=("c" * 16,)), HEARD) == Decision(stale=2)
    assert decide(LineVerdict("approved", sha256=("b" * 16,)), HEARD) == Decision(stale=1)
    both = LineVerdict("approved", 2, (1,), sha256=("b" * 16, "c" * 16))
    assert decide(both, HEARD) == Decision(2, frozenset(), stale=1)
    assert decide(LineVerdict("rejected", 2, (2,), sha256=("b" * 16,)), HEARD).rejects(HEARD[2])
    assert decide(LineVerdict("rejected", 2, (2,), sha256=("c" * 16,)), HEARD) == Decision(stale=2)


def test_without_digests_the_results_say_what_was_judged_before() -> None:
    before = Decision(2).review_again(2, HEARD[2])
    assert before == Review(approved="b" * 64)
    again = HEARD | {2: replace(HEARD[2], sha256="c" * 64, review=before)}
    assert decide(LineVerdict("approved", 2), again) == Decision(stale=2)
    assert decide(LineVerdict("approved"), again) == Decision(stale=1), "it may have been take 2"
    assert decide(LineVerdict("rejected", 2), again) == Decision(None, frozenset({2})), "another verdict"
    back = HEARD | {2: replace(HEARD[2], review=before)}
    assert decide(LineVerdict("approved", 2), back) == Decision(2)
    kept = decide(LineVerdict("rejected", 2), again).review_again(2, again[2])
    assert kept == Review(None, "", (2,), approved="b" * 64, rejected="c" * 64)
    third = HEARD | {2: replace(HEARD[2], seed=5, sha256="d" * 64, review=kept)}
    assert decide(LineVerdict("approved", 2), third).stale == 2
    assert decide(LineVerdict("rejected", 2), third).stale == 2


def test_a_verdict_that_does_not_count_leaves_the_earlier_one() -> None:
    recorded = HEARD | {2: replace(HEARD[2], review=Review("approved"))}
    assert decide(LineVerdict("approved", 9), recorded) == Decision(2, missing=9)
    assert decide(LineVerdict("rejected", 9), recorded) == Decision(2, missing=9)
    assert decide(LineVerdict("approved", 1, sha256=("c" * 16,)), recorded) == Decision(2, stale=1)
    assert decide(LineVerdict("approved", 9, (2,)), recorded) == Decision(None, frozenset({2}), missing=9)
    assert decide(LineVerdict("rejected", 2, (8,)), recorded) == Decision(2, frozenset({8}), stale=2)
    assert decide(LineVerdict("rejected", 2), recorded) == Decision(None, frozenset({2}))


def test_an_approval_takes_back_the_rejection_of_its_take() -> None:
    recorded = {1: replace(FIRST, review=Review("rejected", "", (1, 5)))}
    assert decide(LineVerdict("approved", 1), recorded) == Decision(1, frozenset({5}), "")
