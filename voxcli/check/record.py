"""The check of a whole line, from the checks of its clips: what results.jsonl records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from voxcli.check.checker import CheckedClip
from voxcli.check.compare import Place
from voxcli.check.signals import Signals
from voxcli.check.times import word_times
from voxcli.check.verdict import ClipCheck, Limits, reasons
from voxcli.errors import shortened
from voxcli.jobs.result import Cue, Result

__all__ = ["LineCheck", "Listened", "line_check"]

MAX_REASON = 200  # characters
SEEDS = ("takes", "first_seed", "seeds", "next_seed")  # what the synthesis adds to a record


@dataclass(frozen=True)
class Listened:
    """A clip that was checked. written: its words in the text.  start_s: its start in the file."""

    written: str
    start_s: float
    clip: CheckedClip


@dataclass(frozen=True)
class LineCheck:
    """The check of a line.

    record: the field `check` of its result.
    reason: why it is doubtful; None if it is right.
    words:  when its words are heard in the file; None if they were not checked.
    notes:  which parts of it were not checked.
    """

    record: Mapping[str, Any]
    reason: str | None
    words: tuple[Cue, ...] | None
    notes: tuple[str, ...]

    @property
    def status(self) -> Literal["ok", "doubtful"]:
        return "ok" if self.reason is None else "doubtful"

    def with_record(self, more: Mapping[str, Any]) -> LineCheck:
        """Return a copy with more values in its record."""
        return replace(self, record={**self.record, **more})

    def applied(self, result: Result) -> Result:
        """Return a result with this check. What an earlier check says about seeds stays."""
        seeds = {name: value for name, value in (result.check or {}).items() if name in SEEDS}
        return replace(
            result,
            status=self.status,
            reason=self.reason,
            check={**seeds, **self.record},
            words=self.words,
            warnings=tuple(dict.fromkeys((*result.warnings, *self.notes))),
        )


def line_check(text: str, clips: Sequence[Listened], whole: Signals, limits: Limits, model: str) -> LineCheck:
    """Combine the checks of a line's clips.

    text:  the text of the line, in which the places of words are counted.
    whole: measures of its file.
    model: the name of the recognizer.
    """
    found = list(dict.fromkeys(reason for clip in clips for reason in reasons(clip.clip.check, limits)))
    return LineCheck(
        record={"model": model, "limits": limits.record(), **_words(text, clips), **_signals(whole, clips)},
        reason=shortened("; ".join(found), MAX_REASON) if found else None,
        words=tuple(_times(clips)) if all(clip.clip.check.comparison is not None for clip in clips) else None,
        notes=tuple(dict.fromkeys(clip.clip.note for clip in clips if clip.clip.note)),
    )


def _words(text: str, clips: Sequence[Listened]) -> dict[str, Any]:
    compared = [(clip, found) for clip in clips if (found := clip.clip.check.comparison) is not None]
    if not compared:
        return {"wer": None, "cer": None, "missing": [], "repeated": [], "added": [], "changed": []}
    words = sum(len(found.wanted) for _, found in compared)
    letters = [sum(len(word.key) for word in found.wanted) for _, found in compared]
    wrong = sum(found.cer * max(1, count) for (_, found), count in zip(compared, letters, strict=True))
    kinds: dict[str, list[list[Any]]] = {"missing": [], "repeated": [], "added": [], "changed": []}
    start = 0
    for clip, found in compared:
        place = text.find(clip.written, start)
        start = max(start, place)
        for kind, places in kinds.items():
            places += map(list, _moved(getattr(found, kind), text, start, exact=place >= 0))
        start += len(clip.written) if place >= 0 else 0
    return {
        "wer": round(sum(found.errors for _, found in compared) / max(1, words), 4),
        "cer": round(wrong / max(1, sum(letters)), 4),
        **kinds,
        "heard": " ".join("".join(word.text for word in clip.clip.words).strip() for clip, _ in compared),
    }


def _moved(places: Iterable[Place], text: str, start: int, *, exact: bool) -> Iterator[Place]:
    """Yield places of a clip as places of the line's text.

    exact: the words of the clip are at `start` as they are; else each word is looked for, because marks were left out.
    """
    for place, word in places:
        if exact:
            yield Place(start + place, word)
        else:
            found = text.find(word, min(start + place, len(text)))
            yield Place(found if found >= 0 else min(start + place, len(text)), word)


def _signals(whole: Signals, clips: Sequence[Listened]) -> dict[str, Any]:
    checks: list[ClipCheck] = [clip.clip.check for clip in clips]
    spoken_s = sum(check.signals.speech_s for check in checks)
    words = sum(len(check.comparison.wanted) for check in checks if check.comparison is not None)
    similarities = [check.similarity for check in checks if check.similarity is not None]
    return {
        "rate": round(words / spoken_s, 2) if words and spoken_s else None,
        "lufs": None if whole.lufs is None else round(whole.lufs, 1),
        "clipping": round(whole.clipping, 6),
        "silence": {"start": round(whole.lead_s, 2), "end": round(whole.trail_s, 2), "inside": round(whole.pause_s, 2)},
        "noise": None if whole.noise_db is None else round(whole.noise_db, 1),
        "similarity": round(min(similarities), 3) if similarities else None,
    }


def _times(clips: Sequence[Listened]) -> Iterator[Cue]:
    for clip in clips:
        comparison, signals = clip.clip.check.comparison, clip.clip.check.signals
        assert comparison is not None, "the words of this clip were not checked"
        for cue in word_times(clip.written, comparison, clip.clip.words, signals.duration_s):
            yield Cue(round(clip.start_s + cue.start, 3), round(clip.start_s + cue.end, 3), cue.text)
