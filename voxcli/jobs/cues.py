"""When which words are heard in a file: one cue for each piece of a text, from the lengths of its clips."""

from __future__ import annotations

from collections.abc import Sequence

from voxcli.jobs.result import Cue
from voxcli.text.clean import split_control
from voxcli.text.split import Segment


def make_cues(
    segments: Sequence[Segment], samples: Sequence[int], rate: int, limit: int, written: Sequence[str | None] = ()
) -> tuple[Cue, ...]:
    """The cues of `segments` whose clips have so many `samples` each, joined as `audio.join` does, cut at `limit`.

    The texts are those spoken, without a description of the voice; of a piece that is `written` in other words, those.
    """
    cues = []
    start = 0
    for segment, size, words in zip(segments, samples, written or [None] * len(segments), strict=True):
        end = min(start + size, limit)
        if start < end:
            cues.append(Cue(round(start / rate, 4), round(end / rate, 4), words or split_control(segment.text)[1]))
        start += size + round(segment.pause_s * rate)
    return tuple(cues)
