"""When which words are heard in a file: one cue for each piece of a text, from the lengths of its clips."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from voxcli.text.clean import split_control
from voxcli.text.split import Piece


class Cue(NamedTuple):
    """Words heard from `start` to `end`, in seconds from the beginning of the file."""

    start: float
    end: float
    text: str

    def later(self, seconds: float) -> Cue:
        """The same words in a file that holds this one after so many seconds."""
        return Cue(self.start + seconds, self.end + seconds, self.text)


def cues_of(pieces: Sequence[Piece], samples: Sequence[int], rate: int, limit: int) -> tuple[Cue, ...]:
    """The cues of `pieces` whose clips have so many `samples` each, joined as `audio.join` does, cut at `limit`.

    The texts are those spoken, without a description of the voice.
    """
    cues = []
    start = 0
    for piece, size in zip(pieces, samples, strict=True):
        end = min(start + size, limit)
        if start < end:
            cues.append(Cue(round(start / rate, 4), round(end / rate, 4), split_control(piece.text)[1]))
        start += size + round(piece.pause_s * rate)
    return tuple(cues)
