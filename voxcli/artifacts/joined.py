"""Join the files of a batch into one, in manifest order, with a pause after each file, without holding audio in memory.

It reads finished files, so it can be made again at any time. Files with another sample rate are resampled.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from voxcli.audio.join import FADE_S, faded, silence
from voxcli.audio.loudness import LoudnessMeter
from voxcli.audio.write import NO_TAGS, write_blocks
from voxcli.errors import OutputError
from voxcli.interrupts import check
from voxcli.jobs.result import Cue

Samples = NDArray[np.float32]

BLOCK = 1 << 16  # frames


class Track(NamedTuple):
    """A finished file, the seconds of silence after it, its cues and words. path: None for silence only."""

    path: Path | None
    pause_s: float
    cues: Sequence[Cue] = ()
    words: Sequence[Cue] = ()


class JoinedAudio(NamedTuple):
    """quieter: LU that the peak keeps it below the loudness that was asked for."""

    duration_s: float
    cues: list[Cue]
    quieter: float = 0.0
    words: Sequence[Cue] = ()


def write_joined(
    path: Path,
    parts: Sequence[Track],
    *,
    format: str,
    bitrate: int | None = None,
    loudness: float | None = None,
    tags: Mapping[str, str] = NO_TAGS,
) -> JoinedAudio:
    """Write `parts` as one file, at the sample rate of the first part with a file; at least one must have a file.

    The edges of each part are faded in and out. There is no pause after the last file. A part without a file replaces
    the pause before it. Raises OutputError that names the file and the reason; an existing file is then unchanged.

    bitrate:  in kbit/s, for formats that have one.
    tags:     of the file, by name.
    loudness: of the whole in LUFS, with its true peak at most -1 dBTP; None: as the parts are. The files are read
              twice for it.
    """
    with _open(next(part.path for part in parts if part.path is not None)) as first:
        rate: int = first.samplerate
    gain, quieter = _gain(parts, rate, loudness) if loudness is not None else (1.0, 0.0)
    cues: list[Cue] = []
    words: list[Cue] = []
    written = 0

    def blocks() -> Iterator[Samples]:
        nonlocal written
        for part, sound in _tracks(parts, rate):
            cues.extend(cue.later(written / rate) for cue in part.cues)
            words.extend(word.later(written / rate) for word in part.words)
            for block in sound:
                written += len(block)
                yield block if gain == 1 else block * np.float32(gain)

    write_blocks(path, blocks(), rate, format=format, bitrate=bitrate, tags=tags)
    return JoinedAudio(written / rate, cues, quieter, words)


def _tracks(parts: Sequence[Track], rate: int) -> Iterator[tuple[Track, Iterator[Samples]]]:
    """Yield each part with the blocks of its file and of the silence after it."""
    for number, part in enumerate(parts):
        sound = faded(_read(part.path, rate), round(FADE_S * rate)) if part.path is not None else iter(())
        pauses = part.path is None or (number < len(parts) - 1 and parts[number + 1].path is not None)
        yield part, chain(sound, silence(part.pause_s, rate) if pauses else ())


def _gain(parts: Sequence[Track], rate: int, loudness: float) -> tuple[float, float]:
    """Measure the whole: see `LoudnessMeter.gain_to`."""
    meter = LoudnessMeter(rate)
    for _, sound in _tracks(parts, rate):
        for block in sound:
            check()
            meter.add(block)
    meter.end()
    return meter.gain_to(loudness)


def _open(path: Path) -> soundfile.SoundFile:
    try:
        return soundfile.SoundFile(os.fsencode(path))  # a file name need not be valid Unicode
    except (OSError, soundfile.SoundFileError) as error:
        raise OutputError(f"{path} can't be read for joining; rerun with --force to create it again") from error


def _read(path: Path, rate: int) -> Iterator[Samples]:
    """Yield the samples of a mono file in blocks, at `rate` Hz."""
    with _open(path) as sound:
        stream = soxr.ResampleStream(sound.samplerate, rate, 1, dtype="float32", quality="VHQ")
        resampled = sound.samplerate != rate
        try:
            while len(block := sound.read(BLOCK, dtype="float32")):
                yield stream.resample_chunk(block) if resampled else block
        except soundfile.SoundFileError as error:
            raise OutputError(f"{path} can't be read for joining; rerun with --force to create it again") from error
        if resampled:
            yield stream.resample_chunk(np.zeros(0, np.float32), last=True)
