"""A voice file -> mono samples at the encoder's rate, with a note on everything that was done to them."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import soundfile
from numpy.typing import NDArray

from voxcli.audio.levels import FRAME_S, active_rms, quietest_place
from voxcli.audio.resample import resample
from voxcli.audio.source import check_end, open_sound, refuse_cut_off
from voxcli.errors import AudioError
from voxcli.terminal import printable

__all__ = ["Recording", "check_voice", "read_voice"]

# Speech below QUIET (-40 dBFS) is lifted to LIFTED (-26 dBFS, a usual level of recorded speech), its peak to PEAK at
# most; below SILENT (-80 dBFS, a few steps of 16 bits) there is nothing to lift.
QUIET_RMS, LIFTED_RMS, PEAK, SILENT_RMS = 0.01, 0.05, 0.9, 1e-4

MIN_S, MAX_S = 1.0, 60.0  # of a voice: shorter is refused, longer is cut

_NOT_ALL_NUMBERS = ("FLOAT", "DOUBLE")  # encodings that can hold NaN and infinity
_START_S = 3.0
_BLOCK_FRAMES = 1 << 16
_CUT_WINDOW_S = 10.0


@dataclass(frozen=True, eq=False)
class Recording:
    """A voice as the encoder takes it.

    samples: float32[n], mono at `rate`.
    sha256:  of the file's bytes, in hex: the same voice under two paths is one voice.
    notes:   what was done to it, one phrase each; empty when the samples are those of the file.
    """

    samples: NDArray[np.float32]
    rate: int
    sha256: str
    notes: tuple[str, ...] = ()

    @property
    def duration_s(self) -> float:
        return len(self.samples) / self.rate


def check_voice(path: Path) -> None:
    """Raise AudioError for a file that `read_voice` refuses.

    Cheap: reads the start and the end of the file, and the rest of what would be used only where those leave a doubt.
    """
    with open_sound(path) as (_, sound):
        check_end(path, sound)
        sound.seek(0)
        if not _is_surely_usable(path, sound):
            sound.seek(0)
            _prepared(path, sound, MIN_S, MAX_S)


def read_voice(path: Path, rate: int, *, min_s: float = MIN_S, max_s: float = MAX_S) -> Recording:
    """Read `path` as a voice: downmixed, cut at a pause before `max_s`, lifted if very quiet, resampled to `rate` Hz.

    A mono file at `rate` with a normal level comes back bit for bit. Memory is bounded by `max_s`, whatever the file's
    length. Raises AudioError, naming the file and the reason, for what is not a whole sound file with samples in it,
    for silence, for samples that are not numbers and for less than `min_s` seconds.
    """
    with open_sound(path) as (file, sound):
        native, channels = sound.samplerate, sound.channels
        samples, notes = _prepared(path, sound, min_s, max_s)
        sha256 = _sha256(file)
    if (native, channels) != (rate, 1):
        notes.insert(0, f"{_khz(native)} {_named(channels)} -> {_khz(rate)} mono")
    return Recording(resample(samples, native, rate), rate, sha256, tuple(notes))


def _prepared(
    path: Path, sound: soundfile.SoundFile, min_s: float, max_s: float
) -> tuple[NDArray[np.float32], list[str]]:
    """All of `read_voice` but the resampling: samples at the file's rate, and what was done to them."""
    native, length_s = sound.samplerate, sound.frames / sound.samplerate
    samples = _read_mono(path, sound, limit=int(max_s * native) + 1)
    if broken := np.count_nonzero(~np.isfinite(samples)):
        raise AudioError(f"{printable(path)}: it has samples that are not finite: {broken:,} of {len(samples):,}")
    notes: list[str] = []
    if len(samples) > max_s * native:
        samples = _cut_at_pause(samples, native, max_s)
        notes.append(
            f"cut at a pause: {len(samples) / native:.1f} s of {length_s:.1f} s used, the limit is {max_s:g} s"
        )
    if len(samples) < min_s * native:
        length = math.floor(100 * len(samples) / native) / 100  # not rounded up to what it falls short of
        raise AudioError(f"{printable(path)}: only {length:.2f} s long; a voice needs {min_s:g} s at least")
    gain, why = _gain(path, samples, native)
    if why:
        samples = samples * np.float32(gain)
        notes.append(why)
    return samples, notes


def _is_surely_usable(path: Path, sound: soundfile.SoundFile) -> bool:
    """Whether the first seconds of a file show that it is neither too short nor silent, nor can hold what is no number.

    A frame's deviation from its own mean is no more than its level without the constant offset of the whole file; and
    the level of the whole, in which frames of a tenth of the loudest count, is at least a tenth of that.
    """
    if sound.subtype in _NOT_ALL_NUMBERS or sound.frames < 1.5 * MIN_S * sound.samplerate:
        return False
    start = _read_mono(path, sound, limit=int(_START_S * sound.samplerate))
    size = round(FRAME_S * sound.samplerate)
    frames = start[: len(start) // size * size].reshape(-1, size)
    return bool(frames.std(axis=1, dtype=np.float64).max() > 11 * SILENT_RMS)


def _read_mono(path: Path, sound: soundfile.SoundFile, limit: int) -> NDArray[np.float32]:
    """The first `limit` frames, the channels averaged; AudioError when the file ends before it should."""
    blocks = []
    wanted = min(limit, sound.frames)
    got = 0
    try:
        while got < wanted:
            block = sound.read(min(_BLOCK_FRAMES, wanted - got), dtype="float32", always_2d=True)
            if not len(block):
                break
            got += len(block)
            # One channel is copied, not averaged: it must stay bit for bit.
            blocks.append(
                block[:, 0] if sound.channels == 1 else block.mean(axis=1, dtype=np.float64).astype(np.float32)
            )
    except soundfile.SoundFileError as error:
        if got == 0:
            raise AudioError(f"{printable(path)}: its sound data is damaged") from error
    # Compressed formats may be a frame off in what they promise.
    if wanted - got > 0.1 * sound.samplerate or got == 0:
        refuse_cut_off(path, got / sound.frames)
    return np.concatenate(blocks)


def _sha256(file: BinaryIO) -> str:
    file.seek(0)
    digest = hashlib.sha256()
    while chunk := file.read(1 << 20):
        digest.update(chunk)
    return digest.hexdigest()


def _cut_at_pause(samples: NDArray[np.float32], rate: int, max_s: float) -> NDArray[np.float32]:
    """The part before the quietest place of the last seconds below `max_s`."""
    stop = int(max_s * rate)
    window = int(min(_CUT_WINDOW_S, max_s / 3) * rate)
    return samples[: quietest_place(samples, rate, stop - window, stop)]


def _gain(path: Path, samples: NDArray[np.float32], rate: int) -> tuple[float, str]:
    """What to multiply by and why; (1, "") for a normal level. AudioError for silence."""
    peak = float(np.abs(samples).max())
    full = max(peak, 1.0)
    # Within full scale, so that nothing gets beyond float32, and without a constant offset: it is not sound.
    level = samples / np.float32(full)
    rms = full * active_rms((level - level.mean(dtype=np.float64)).astype(np.float32), rate)
    if rms < SILENT_RMS:
        raise AudioError(f"{printable(path)}: there is only silence in it (level {_db(rms)})")
    if peak > 1.0:
        return 1.0 / peak, f"scaled down by {peak:.3g}: its samples went beyond full scale"
    gain = min(LIFTED_RMS / rms, PEAK / peak)
    if rms < QUIET_RMS and gain > 1.0:
        return gain, f"lifted by {20 * math.log10(gain):.0f} dB: its level was {_db(rms)}"
    return 1.0, ""


def _db(rms: float) -> str:
    return f"{20 * math.log10(rms):.0f} dBFS" if rms else "zero"


def _khz(rate: int) -> str:
    return f"{rate / 1000:g} kHz"


def _named(channels: int) -> str:
    return {1: "mono", 2: "stereo"}.get(channels, f"{channels} channels")
