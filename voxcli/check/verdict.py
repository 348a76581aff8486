"""The limits: what a clip must not exceed to count as right, and which of several takes is the best.

A recognizer mishears words: it writes another word of about the same length. A model that fails leaves words out,
repeats or adds them. So missing and added words count by their letters, and misheard ones only by the error rates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from voxcli.check.compare import MIN_LETTERS, Comparison, ErrorRun, Place, error_runs
from voxcli.check.options import CheckOptions
from voxcli.check.signals import Signals
from voxcli.errors import shortened

__all__ = ["ClipCheck", "Limits", "badness", "reasons"]

# Right clips of the demo voice measured 0.85 to 0.95 against a recording of it, other speakers 0.44, and the demo voice
# made lower by a quarter 0.67.
MIN_SIMILARITY = 0.75
MIN_REPEATED = 2  # letters of words that are heard twice in a row: that is no mishearing
MAX_WER, MAX_CER = 0.1, 0.05  # of long texts
MAX_ERRORS, MAX_WRONG_LETTERS = 1, 3  # of short ones, in which one error is a large share
MAX_CLIPPING = 0.0005
MAX_SILENCE_S = 2.0
MAX_PAUSE_S = 2.0
MAX_NOISE_DB = -10.0  # fluent speech without a pause reaches -18; noise 6 dB below the speech measures -6
LETTERS_PER_S = (4.0, 35.0)
MIN_RATED_LETTERS = 10  # the rate of shorter texts says nothing
MIN_SPOKEN_S = 1.0  # the speaker of shorter clips is uncertain


@dataclass(frozen=True)
class Limits:
    """See CheckOptions."""

    max_wer: float | None = None
    min_similarity: float = MIN_SIMILARITY

    @classmethod
    def of(cls, options: CheckOptions) -> Limits:
        similarity = MIN_SIMILARITY if options.min_similarity is None else options.min_similarity
        return cls(options.max_wer, similarity)

    def record(self) -> dict[str, float | None]:
        """Return the limits for results.jsonl: a later run with the same ones need not listen again."""
        return {"max_wer": self.max_wer, "min_similarity": self.min_similarity}


@dataclass(frozen=True)
class ClipCheck:
    """The check of a clip.

    comparison: with its text; None if its language is not one of the recognizer's.
    similarity: of its speaker to the recording; None without one.
    unheard:    why it could not be checked; or empty.
    """

    signals: Signals
    comparison: Comparison | None = None
    similarity: float | None = None
    unheard: str = ""


def reasons(check: ClipCheck, limits: Limits) -> list[str]:
    """Return why a clip is doubtful, a phrase each; empty if it is right."""
    found = [f"it could not be checked: {check.unheard}"] if check.unheard else []
    found += _of_signals(check.signals)
    if check.comparison is not None:
        found = [*_of_words(check.comparison, limits), *found]
        found += _of_rate(check.comparison, check.signals)
    similarity = check.similarity
    if similarity is not None and similarity < limits.min_similarity and check.signals.speech_s >= MIN_SPOKEN_S:
        found.append(f"another voice: similarity {similarity:.2f} to the recording, at least {limits.min_similarity:g}")
    return found


def badness(check: ClipCheck, limits: Limits) -> tuple[int, float]:
    """Return the order of takes, best first: by the number of reasons, then by the error rates."""
    comparison, similarity = check.comparison, check.similarity
    errors = 0.0 if comparison is None else comparison.wer + comparison.cer
    return len(reasons(check, limits)), round(errors - (similarity or 0.0), 6)


def _of_words(comparison: Comparison, limits: Limits) -> Iterator[str]:
    words = len(comparison.wanted)
    if limits.max_wer is not None:
        if comparison.wer > limits.max_wer:
            yield f"word error rate {comparison.wer:.2f}, at most {limits.max_wer:g}"
        return
    missing, added = _wrong_runs(comparison)
    if missing:
        yield f"words are missing: {_named(missing)}"
    if added:
        yield f"{_how(added, comparison.repeated)}: {_named(added)}"
    letters = sum(len(word.key) for word in comparison.wanted)
    too_many_words = comparison.errors > max(MAX_ERRORS, MAX_WER * words)
    if (
        not missing
        and not added
        and too_many_words
        and comparison.cer * letters > max(MAX_WRONG_LETTERS, MAX_CER * letters)
    ):
        yield f"{comparison.errors} of {words} words are wrong: {_named(comparison.changed)}"


def _wrong_runs(comparison: Comparison) -> tuple[list[Place], list[Place]]:
    """Return the missing and the added words of all runs of errors that a mishearing does not explain."""
    missing: list[Place] = []
    added: list[Place] = []
    for run in error_runs(comparison):
        if run.more_letters <= -MIN_LETTERS:
            missing += [Place(*word[1:]) for word in comparison.wanted[run.wanted : run.wanted_end]]
        elif run.more_letters >= (MIN_REPEATED if _is_repeated(run, comparison) else MIN_LETTERS):
            added += [Place(word.place, word.text) for word in comparison.heard[run.heard : run.heard_end]]
    return missing, added


def _is_repeated(run: ErrorRun, comparison: Comparison) -> bool:
    """Whether the words of a run are heard twice in a row, and none of the text is missing there."""
    words = {place.word for place in comparison.repeated}
    return run.wanted == run.wanted_end and all(
        word.text in words for word in comparison.heard[run.heard : run.heard_end]
    )


def _how(added: Sequence[Place], repeated: Sequence[Place]) -> str:
    words = {place.word for place in repeated}
    return "words are repeated" if all(place.word in words for place in added) else "words are added"


def _named(places: Sequence[Place]) -> str:
    return shortened(" ".join(dict.fromkeys(place.word for place in places)), 60)


def _of_signals(signals: Signals) -> Iterator[str]:
    if signals.lufs is None:
        yield "it is silent"
        return
    if signals.clipping > MAX_CLIPPING:
        yield f"{signals.clipping:.1%} of its samples are clipped"
    for seconds, where in ((signals.lead_s, "at the start"), (signals.trail_s, "at the end")):
        if seconds > MAX_SILENCE_S:
            yield f"{seconds:.1f} s of silence {where}"
    if signals.pause_s > MAX_PAUSE_S:
        yield f"{signals.pause_s:.1f} s of silence inside"
    if signals.noise_db is not None and signals.noise_db > MAX_NOISE_DB:
        yield f"noise: the background is only {-signals.noise_db:.0f} dB below the speech"


def _of_rate(comparison: Comparison, signals: Signals) -> Iterator[str]:
    letters = sum(len(word.key) for word in comparison.wanted)
    if letters < MIN_RATED_LETTERS or not signals.speech_s:
        return
    rate = letters / signals.speech_s
    if letters == len(comparison.wanted):  # each character is a syllable
        rate *= 3
    if not LETTERS_PER_S[0] <= rate <= LETTERS_PER_S[1]:
        yield f"{rate:.0f} letters a second"
