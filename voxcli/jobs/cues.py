"""When which words are heard in a file: one cue for each piece of a text, from the lengths of its clips."""

from __future__ import annotations

from collections.abc import Sequence

from voxcli.jobs.result import Cue
from voxcli.text.script import SpokenSegment


def make_cues(
    segments: Sequence[SpokenSegment], samples: Sequence[int], rate: int, limit: int, lead_s: float = 0.0
) -> tuple[Cue, ...]:
    """The cues of `segments` whose clips have so many `samples` each, joined as `audio.join` does, cut at `limit`.

    The texts are those written, without a description of the voice and without marks of pauses.
    """
    cues = []
    start = round(lead_s * rate)
    for segment, size in zip(segments, samples, strict=True):
        end = min(start + size, limit)
        if start < end:
            cues.append(Cue(round(start / rate, 4), round(end / rate, 4), segment.written))
        start += size + round(segment.pause_s * rate)
    return tuple(cues)
