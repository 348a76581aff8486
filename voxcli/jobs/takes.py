"""Takes: a line spoken several times, each time with its own seed and into its own file.

Take 1 is the line as it is without takes, with its file and its seed, so that a line keeps it when the number of takes
changes. Take 2 of NAME.wav is NAME.take2.wav.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from typing import Any

from voxcli.jobs.job import Job
from voxcli.jobs.plan import Utterance
from voxcli.jobs.result import Result

# A clip that fails is made again with the next seeds: seeds so far apart never meet.
SPAN = 64
_TRIED = 256  # seeds of a take among which one is looked for that is not rejected


def take_path(out: Path, take: int) -> Path:
    """Return the path of a take, given that of take 1."""
    return out if take == 1 else out.with_name(f"{out.stem}{_mark(take)}{out.suffix}")


def line_output(result: Result) -> str:
    """Return the `out` of take 1, given the result of any take."""
    if result.take in (None, 1):
        return result.out
    stem, dot, extension = result.out.rpartition(".")
    return f"{stem.removesuffix(_mark(result.take))}{dot}{extension}"


def _mark(take: int | None) -> str:
    return f".take{take}"


def take_of(utterance: Utterance, take: int, rejected: Collection[int] = (), before: Result | None = None) -> Utterance:
    """Return a take of a line. rejected, before: see `requested_seed`."""
    job = utterance.job
    seed = requested_seed(job, take, rejected, before)
    if take == 1 and seed == job.settings.seed:
        return utterance
    settings = replace(job.settings, seed=seed)
    return replace(utterance, job=replace(job, take=take, out=take_path(job.out, take), settings=settings))


def takes_of(utterances: Iterable[Utterance]) -> Iterator[Utterance]:
    """Yield every take of every line."""
    for utterance in utterances:
        for take in range(1, utterance.job.takes + 1):
            yield take_of(utterance, take)


def requested_seed(job: Job, take: int, rejected: Collection[int], before: Result | None) -> int | None:
    """Return the seed to ask for; None if the line has none: then one is drawn.

    It depends only on the line's seed, the take, and what was rejected. The seed of an earlier file that was not
    rejected stays.
    """
    seed = job.settings.seed
    if seed is None:
        return None
    if not rejected:
        return next(_seeds(seed, take))
    candidates = list(islice(_seeds(seed, take), _TRIED))
    asked = (before.fingerprint or {}).get("seed") if before is not None and before.seed not in rejected else None
    return asked if asked in candidates else next(each for each in candidates if is_free(each, rejected))


def drawn_seed(rejected: Collection[int]) -> int:
    """Draw a seed that no rejected one is near."""
    while not is_free(seed := secrets.randbits(31), rejected):
        pass
    return seed


def is_free(seed: int, rejected: Collection[int]) -> bool:
    """Whether neither a seed nor the next ones, which retries use, are rejected."""
    return not any(0 <= each - seed < SPAN for each in rejected)


def next_free(seed: int, rejected: Collection[int]) -> int:
    """Return the first seed from `seed` on that no rejected one is near."""
    while not is_free(seed, rejected):
        seed = max(each for each in rejected if 0 <= each - seed < SPAN) + 1
    return seed


def _seeds(seed: int, take: int) -> Iterator[int]:
    """Yield the seeds of a take: of take 1 the line's own first, then ones that are derived from it."""
    for place in count():
        if take == 1 and place == 0:
            yield seed
        else:
            digest = hashlib.sha256(f"{seed} {take} {place}".encode()).digest()
            yield int.from_bytes(digest[:4], "big") >> 1


def best_take(results: Iterable[Result]) -> Result | None:
    """Return the take to use: the approved one, else the best by the check, else the first. None if none has a file.

    A rejected take is used only if there is no other.
    """
    return min((result for result in results if result.ok), key=_rank, default=None)


def is_rejected(result: Result) -> bool:
    return result.review is not None and result.review.verdict == "rejected"


def _rank(result: Result) -> tuple[Any, ...]:
    approved = result.review is not None and result.review.verdict == "approved"
    return not approved, is_rejected(result), *_check_rank(result), result.take or 1


def _check_rank(result: Result) -> tuple[int, float, float]:
    """Rank a result by its check: passed before unchecked before doubtful, then by the errors of words and letters."""
    if not result.check:
        return 1, 0.0, 0.0
    wer, cer = (float(result.check.get(name) or 0.0) for name in ("wer", "cer"))
    return (2 if result.doubtful else 0), wer, cer
