"""Compute cues, the times at which words are heard in a file: one cue per segment, from the lengths of its clips."""

from __future__ import annotations

from collections.abc import Sequence

from voxcli.jobs.result import Cue
from voxcli.text.script import SpokenSegment


def make_cues(
    segments: Sequence[SpokenSegment], samples: Sequence[int], rate: int, limit: int, lead_s: float = 0.0
) -> tuple[Cue, ...]:
    """Return the cues of segments whose clips are joined by `audio.join`.

    samples: length of each clip, in samples at `rate` Hz.
    limit:   length of the file in samples; later words have no cue.
    lead_s:  seconds of silence before the first clip.

    Cues contain the words as written, without a description of the voice and without pause marks.
    """
    cues = []
    start = round(lead_s * rate)
    for segment, size in zip(segments, samples, strict=True):
        end = min(start + size, limit)
        if start < end:
            cues.append(Cue(round(start / rate, 4), round(end / rate, 4), segment.written))
        start += size + round(segment.pause_s * rate)
    return tuple(cues)
