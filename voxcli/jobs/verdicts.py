"""Verdicts: what a person decided about the takes of a line, as review.json has it and as results record it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from voxcli.jobs.result import Result, Review, Verdict
from voxcli.jobs.takes import best_take


@dataclass(frozen=True)
class LineVerdict:
    """A line of review.json.

    verdict: None takes back an earlier one.
    take:    the approved take; None: the best one.
    seeds:   the seeds that are rejected. They are never used again for the line.
    note:    a remark; None leaves an earlier one.
    """

    verdict: Verdict | None = None
    take: int | None = None
    seeds: tuple[int, ...] = ()
    note: str | None = None


@dataclass(frozen=True)
class Decision:
    """What holds for a line: the verdicts of earlier runs and the one that is given now.

    approved: the approved take.
    seeds:    rejected seeds.
    """

    approved: int | None = None
    seeds: frozenset[int] = frozenset()
    note: str = ""

    def rejects(self, result: Result | None) -> bool:
        return result is not None and result.seed in self.seeds

    def review(self, take: int, result: Result | None) -> Review | None:
        """Return what is recorded with a take. result: its audio; None for audio that is yet to be made."""
        verdict: Verdict | None = "rejected" if self.rejects(result) else None
        if result is not None and take == self.approved:
            verdict = "approved"
        review = Review(verdict, self.note, tuple(sorted(self.seeds)))
        return review if review != Review() else None


UNDECIDED = Decision()


def as_approved(result: Result) -> Result:
    """Return a result that is not doubtful if its take is approved: who has listened overrides the check."""
    if result.review is None or result.review.verdict != "approved" or not result.doubtful:
        return result
    return replace(result, status="ok", reason=None)


def decide(given: LineVerdict | None, takes: Mapping[int, Result]) -> Decision:
    """Combine the verdict that is given with those in the results of the takes; the given one overrides them.

    Seeds that were rejected stay rejected, except for those of takes that are still there: the given verdict decides.
    """
    reviews = {take: result.review for take, result in takes.items() if result.review is not None}
    if given is None and not reviews:
        return UNDECIDED
    approved = next((take for take, review in reviews.items() if review.verdict == "approved"), None)
    note = next((review.note for review in reviews.values() if review.note), "")
    seeds = {seed for review in reviews.values() for seed in review.seeds}
    if given is not None:
        approved = _approved(given, takes)
        note = note if given.note is None else given.note
        seeds = (seeds - {result.seed for result in takes.values() if result.seed is not None}) | set(given.seeds)
    if approved is not None and approved in takes:
        seeds -= {takes[approved].seed}
    return Decision(approved, frozenset(seeds), note)


def _approved(given: LineVerdict, takes: Mapping[int, Result]) -> int | None:
    if given.verdict != "approved":
        return None
    if given.take is not None:
        return given.take
    best = best_take(takes.values())
    return None if best is None else best.take or 1
