"""Read a voice recording as mono samples at the encoder's rate, with a note on every conversion."""

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

__all__ = ["MAX_S", "Recording", "check_voice", "read_voice"]

# Speech below QUIET (-40 dBFS) is lifted to LIFTED (-26 dBFS, a usual level of recorded speech), with a peak of at most
# PEAK. Audio below SILENT (-80 dBFS, a few 16-bit steps) counts as silence.
QUIET_RMS, LIFTED_RMS, PEAK, SILENT_RMS = 0.01, 0.05, 0.9, 1e-4

MIN_S, MAX_S = 1.0, 60.0  # length of a voice: a shorter recording is refused, a longer one is cut
MAX_RATE = 48_000  # of a recording that is kept: no voice encoder takes more

_NOT_ALL_NUMBERS = ("FLOAT", "DOUBLE")  # encodings that can contain NaN and infinity
_START_S = 3.0
_BLOCK_FRAMES = 1 << 16
_CUT_WINDOW_S = 10.0
_CANCELLED = 0.25  # of the loudest channel: what is left of two that have nothing in common is 0.7


@dataclass(frozen=True, eq=False)
class Recording:
    """A recording prepared for the voice encoder.

    samples: float32[n], mono at `rate` Hz.
    sha256:  SHA-256 of the file in hex, so that one file under two paths is one voice.
    notes:   conversions, one phrase each; empty if the samples are those of the file.
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

    Cheap: reads the start and the end of the file, and the rest only if these do not settle it.
    """
    with open_sound(path) as (_, sound):
        check_end(path, sound)
        sound.seek(0)
        if not _is_surely_usable(path, sound):
            sound.seek(0)
            _prepared(path, sound, MIN_S, MAX_S)


def read_voice(
    path: Path, rate: int | None, *, min_s: float = MIN_S, max_s: float = MAX_S, content: bytes | None = None
) -> Recording:
    """Read `path` as a voice: downmixed, cut at a pause before `max_s`, lifted if very quiet, resampled to `rate` Hz.

    rate:    None: that of the file, at most MAX_RATE.
    content: of the file, if it lies in memory; `path` then names it in errors.

    A mono file at `rate` with a normal level is returned bit for bit. Memory depends on `max_s`, not on the length of
    the file. Raises AudioError that names the file and the reason, for a file that is not audio, cut off or empty, for
    silence, for samples that are not finite, and for less than `min_s` seconds.
    """
    with open_sound(path, content) as (file, sound):
        native, channels = sound.samplerate, sound.channels
        samples, notes = _prepared(path, sound, min_s, max_s)
        sha256 = _sha256(file)
    rate = rate or min(native, MAX_RATE)
    if (native, channels) != (rate, 1):
        notes.insert(0, f"{_khz(native)} {_named(channels)} -> {_khz(rate)} mono")
    return Recording(resample(samples, native, rate), rate, sha256, tuple(notes))


def _prepared(
    path: Path, sound: soundfile.SoundFile, min_s: float, max_s: float
) -> tuple[NDArray[np.float32], list[str]]:
    """Do everything of `read_voice` except resampling: return samples at the file's rate, and notes."""
    native, length_s = sound.samplerate, sound.frames / sound.samplerate
    samples, notes = _mixed(path, sound, limit=int(max_s * native) + 1)
    if broken := np.count_nonzero(~np.isfinite(samples)):
        raise AudioError(f"{printable(path)}: it has samples that are not finite: {broken:,} of {len(samples):,}")
    if len(samples) > max_s * native:
        samples = _cut_at_pause(samples, native, max_s)
        notes.append(
            f"cut at a pause: {len(samples) / native:.1f} s of {length_s:.1f} s used, the limit is {max_s:g} s"
        )
    if len(samples) < min_s * native:
        length = math.floor(100 * len(samples) / native) / 100  # rounded down: 0.999 is shown as 0.99, not as 1.00
        raise AudioError(f"{printable(path)}: only {length:.2f} s long; a voice needs at least {min_s:g} s")
    gain, why = _gain(path, samples, native)
    if why:
        samples = samples * np.float32(gain)
        notes.append(why)
    return samples, notes


def _is_surely_usable(path: Path, sound: soundfile.SoundFile) -> bool:
    """True if the start of a file shows that it is long enough, not silent, and can't contain NaN.

    A frame's deviation from its own mean is at most its level without the constant offset of the whole file. The level
    of the whole file, in which frames within a tenth of the loudest count, is at least a tenth of that.
    """
    if sound.subtype in _NOT_ALL_NUMBERS or sound.frames < 1.5 * MIN_S * sound.samplerate:
        return False
    start, _ = _read_mono(path, sound, limit=int(_START_S * sound.samplerate))
    size = round(FRAME_S * sound.samplerate)
    frames = start[: len(start) // size * size].reshape(-1, size)
    return bool(frames.std(axis=1, dtype=np.float64).max() > 11 * SILENT_RMS)


def _mixed(path: Path, sound: soundfile.SoundFile, limit: int) -> tuple[NDArray[np.float32], list[str]]:
    """The first `limit` frames from where the file stands, its beginning, and a note when only one channel was used.

    Channels may cancel each other out (a cable with its poles exchanged), or only one of many may hold the voice.
    """
    mixed, levels = _read_mono(path, sound, limit)
    loudest = int(levels.argmax())
    if not levels[loudest] > SILENT_RMS:  # nor where samples are no numbers
        return mixed, []
    with np.errstate(all="ignore"):
        lost = float(mixed.std(dtype=np.float64) / levels[loudest])
    if not lost < _CANCELLED:
        return mixed, []
    sound.seek(0)
    samples, _ = _read_mono(path, sound, limit, channel=loudest)
    how = f"mixed they would be {-20 * math.log10(lost):.0f} dB quieter" if lost > 1e-4 else "mixed they are silent"
    return samples, [f"channel {loudest + 1} of {sound.channels} used: {how}"]


def _read_mono(
    path: Path, sound: soundfile.SoundFile, limit: int, *, channel: int | None = None
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """The first `limit` frames, the channels averaged or one of them, and the level of each channel without its offset.

    Raises AudioError when the file ends before it should.
    """
    blocks = []
    sums, squares = np.zeros(sound.channels), np.zeros(sound.channels)
    wanted = min(limit, sound.frames)
    got = 0
    try:
        while got < wanted:
            block = sound.read(min(_BLOCK_FRAMES, wanted - got), dtype="float32", always_2d=True)
            if not len(block):
                break
            got += len(block)
            # One channel is copied, not averaged: it must stay bit for bit.
            if sound.channels == 1 or channel is not None:
                blocks.append(block[:, channel or 0].copy())
                continue
            exact = block.astype(np.float64)
            with np.errstate(all="ignore"):  # samples that are no numbers are refused later
                blocks.append(exact.mean(axis=1).astype(np.float32))
                sums += exact.sum(axis=0)
                squares += np.square(exact).sum(axis=0)
    except soundfile.SoundFileError as error:
        if got == 0:
            raise AudioError(f"{printable(path)}: its sound data is damaged") from error
    # The header of compressed formats may be off by a frame.
    if wanted - got > 0.1 * sound.samplerate or got == 0:
        refuse_cut_off(path, got / sound.frames)
    with np.errstate(all="ignore"):
        levels = np.sqrt(np.maximum(squares / got - np.square(sums / got), 0))
    return np.concatenate(blocks), levels


def _sha256(file: BinaryIO) -> str:
    file.seek(0)
    digest = hashlib.sha256()
    while chunk := file.read(1 << 20):
        digest.update(chunk)
    return digest.hexdigest()


def _cut_at_pause(samples: NDArray[np.float32], rate: int, max_s: float) -> NDArray[np.float32]:
    """Return the part before the quietest place of the last seconds before `max_s`."""
    stop = int(max_s * rate)
    window = int(min(_CUT_WINDOW_S, max_s / 3) * rate)
    return samples[: quietest_place(samples, rate, stop - window, stop)]


def _gain(path: Path, samples: NDArray[np.float32], rate: int) -> tuple[float, str]:
    """Return the gain to apply and a note; (1, "") for a normal level. Raises AudioError for silence."""
    peak = float(np.abs(samples).max())
    full = max(peak, 1.0)
    # Scaled below full scale to avoid overflow in float32, and without the constant offset, which is inaudible.
    level = samples / np.float32(full)
    rms = full * active_rms((level - level.mean(dtype=np.float64)).astype(np.float32), rate)
    if rms < SILENT_RMS:
        raise AudioError(f"{printable(path)}: there is only silence in it (level {_db(rms)})")
    if peak > 1.0:
        return 1.0 / peak, f"scaled down by {peak:.3g}: its samples exceeded full scale"
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
