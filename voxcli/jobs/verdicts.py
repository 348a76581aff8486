"""Verdicts: what a person decided about the takes of a line, as review.json has it and as results record it.

A verdict holds for the audio that was heard. A line that is spoken again keeps its seeds, so audio is known by its
digest: review.json has those of the takes it judges. For a review without them, as people write it, the results say
which audio of a take was judged before it was spoken again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from voxcli.jobs.result import Result, Review, Verdict
from voxcli.jobs.takes import best_take


@dataclass(frozen=True)
class LineVerdict:
    """A line of review.json.

    verdict: None takes back an earlier one.
    take:    the approved or rejected take; None: the best one is approved, and those with rejected seeds are rejected.
    seeds:   the seeds that are rejected. They are never used again for the line.
    note:    a remark; None leaves an earlier one.
    sha256:  beginnings of the SHA-256 of the files that were heard; empty if unknown.
    """

    verdict: Verdict | None = None
    take: int | None = None
    seeds: tuple[int, ...] = ()
    note: str | None = None
    sha256: tuple[str, ...] = ()


@dataclass(frozen=True)
class Decision:
    """What holds for a line: the verdicts of earlier runs and the one that is given now.

    approved: the approved take.
    seeds:    rejected seeds.
    missing:  the take that the given verdict names, if it has no file. Then the verdict does not count.
    stale:    the take that the given verdict is about, if it was spoken again since. Then the verdict does not count.
    """

    approved: int | None = None
    seeds: frozenset[int] = frozenset()
    note: str = ""
    missing: int | None = None
    stale: int | None = None

    def rejects(self, result: Result | None) -> bool:
        return result is not None and result.seed in self.seeds

    def review(self, take: int, result: Result | None) -> Review | None:
        """Return what is recorded with a take. result: its audio; None for audio that is yet to be made."""
        verdict: Verdict | None = "rejected" if self.rejects(result) else None
        if result is not None and take == self.approved:
            verdict = "approved"
        before = (result.review if result is not None else None) or Review()
        review = Review(
            verdict,
            self.note,
            tuple(sorted(self.seeds)),
            approved="" if verdict == "approved" else before.approved,
            rejected="" if verdict == "rejected" else before.rejected,
        )
        return review if review != Review() else None

    def review_again(self, take: int, before: Result | None) -> Review | None:
        """Return what is recorded with a take that is spoken again: it is open. before: its audio until now."""
        now = self.review(take, None) or Review()
        if before is not None and (judged := self.review(take, before)) is not None:
            heard = before.sha256 or ""
            now = replace(
                now,
                approved=heard if judged.verdict == "approved" else judged.approved,
                rejected=heard if judged.verdict == "rejected" else judged.rejected,
            )
        return now if now != Review() else None


UNDECIDED = Decision()


def as_approved(result: Result) -> Result:
    """Return a result that is not doubtful if its take is approved: who has listened overrides the check."""
    if result.review is None or result.review.verdict != "approved" or not result.doubtful:
        return result
    return replace(result, status="ok", reason=None)


def decide(given: LineVerdict | None, takes: Mapping[int, Result]) -> Decision:
    """Combine the verdict that is given with those in the results of the takes; the given one overrides them.

    Seeds that were rejected stay rejected, except for those of takes that are still there: the given verdict decides.
    A given verdict about a take that is not there, or about other audio than that of the take, does not count.
    """
    reviews = {take: result.review for take, result in takes.items() if result.review is not None}
    if given is None and not reviews:
        return UNDECIDED
    approved = next((take for take, review in reviews.items() if review.verdict == "approved"), None)
    note = next((review.note for review in reviews.values() if review.note), "")
    seeds = {seed for review in reviews.values() for seed in review.seeds}
    missing, stale = None, set[int]()
    if given is not None:
        note = note if given.note is None else given.note
        rejected = _rejected(given, takes)
        chosen = _approved(given, takes)
        stale = {take for take in rejected if not _is_heard(given, "rejected", takes[take])}
        if chosen is not None and chosen in takes and not _is_approval_heard(given, chosen, takes):
            stale.add(chosen)
        named = chosen if given.verdict == "approved" else given.take if given.verdict and not given.seeds else None
        missing = named if named is not None and named not in takes else None
        if given.verdict == "rejected" and given.seeds and not rejected and approved is not None:
            stale.add(approved)  # what it rejects was spoken again, and approved
        judged = {chosen} if given.verdict == "approved" else rejected
        if missing is None and (judged - stale or not stale):
            approved = chosen
        elif approved in rejected - stale:
            approved = None
        there = {result.seed for take, result in takes.items() if take not in stale}
        seeds = {seed for seed in seeds if seed not in there} | _new_seeds(given, takes, rejected, stale)
    if approved is not None and approved in takes:
        seeds -= {takes[approved].seed}
    return Decision(approved, frozenset(seeds), note, missing, min(stale, default=None))


def _approved(given: LineVerdict, takes: Mapping[int, Result]) -> int | None:
    """Return the take that a verdict approves, which may not exist."""
    if given.verdict != "approved":
        return None
    if given.take is not None:
        return given.take
    best = best_take(takes.values())
    return 1 if best is None else best.take or 1


def _rejected(given: LineVerdict, takes: Mapping[int, Result]) -> set[int]:
    """Return the takes that a verdict rejects: by their seeds, or without any by number."""
    if given.seeds:
        return {take for take, result in takes.items() if result.seed in given.seeds}
    return {given.take} & takes.keys() if given.verdict == "rejected" and given.take is not None else set()


def _new_seeds(given: LineVerdict, takes: Mapping[int, Result], rejected: set[int], stale: set[int]) -> set[int]:
    """Return the seeds that a verdict rejects."""
    unheard = {takes[take].seed for take in stale}
    by_number = {seed for take in rejected - stale if (seed := takes[take].seed) is not None}
    return {seed for seed in given.seeds if seed not in unheard} | by_number


def _is_approval_heard(given: LineVerdict, chosen: int, takes: Mapping[int, Result]) -> bool:
    """Whether an approval is about the audio that the chosen take has now. Without a number it may be any take's."""
    review = takes[chosen].review
    if given.sha256 or given.take is not None or (review is not None and review.verdict == "approved"):
        return _is_heard(given, "approved", takes[chosen])
    return all(_is_heard(given, "approved", result) for result in takes.values())


def _is_heard(given: LineVerdict, verdict: Verdict, result: Result) -> bool:
    """Whether a verdict is about the audio that a take has now."""
    sha256, review = result.sha256 or "", result.review
    if given.sha256:
        return any(sha256.startswith(each) for each in given.sha256)
    if review is None or review.verdict == verdict or (verdict == "rejected" and given.seeds):
        return True
    return getattr(review, verdict) in ("", sha256)
