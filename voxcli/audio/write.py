"""Write samples to a file atomically: it is complete or absent, even if the process or machine stops."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

import numpy as np
import soundfile
from numpy.typing import NDArray

from voxcli.audio.formats import FORMATS, Format, compression, rates_of
from voxcli.audio.pcm import pcm16, pcm24
from voxcli.audio.reproducible import make_reproducible
from voxcli.errors import OutputError, quoted, reason_of
from voxcli.files.write import TEMPORARY, check_place, replacing, write_atomic
from voxcli.interrupts import check
from voxcli.terminal import printable

__all__ = ["TEMPORARY", "check_output", "encode_audio", "write_atomic", "write_audio", "write_blocks"]

NO_TAGS: Mapping[str, str] = MappingProxyType({})
_BLOCK_FRAMES = 1 << 16
_WAV_BYTES = 2**32 - 2**12  # size fields of WAV have 32 bits
_Convert = Callable[[NDArray[np.float32]], NDArray[Any]]
# By subtype. libsndfile would truncate instead of round, and wrap around beyond full scale. From integers it makes the
# codes of G.711, with the decision values of its tables. The other subtypes accept float32.
_ROUNDED: Mapping[str, _Convert] = MappingProxyType({"PCM_16": pcm16, "PCM_24": pcm24, "ULAW": pcm16, "ALAW": pcm16})


def check_output(path: Path, rate: int, *, format: str = "wav") -> None:
    """Raise OutputError when `write_audio` can't write to `path`. Cheap, for use before the work; creates nothing."""
    _format(path, rate, format)
    check_place(path)


def write_audio(
    path: Path,
    samples: NDArray[np.floating],
    rate: int,
    *,
    format: str = "wav",
    bitrate: int | None = None,
    tags: Mapping[str, str] = NO_TAGS,
) -> None:
    """Write mono `samples` (float[n], full scale 1) at `rate` Hz to `path`, replacing an existing file.

    bitrate: in kbit/s, for formats that have one; the nearest that the format has at this sample rate is used.
    tags:    by name, among those of `tags_of(format)`.

    Samples are rounded to the steps of the format and, except in "wavf", clipped at full scale. The same samples give
    the same bytes. If the process is killed, `path` is unchanged and a file named like TEMPORARY may stay behind.
    Raises OutputError that names the file and the reason; no file is left then.
    """
    samples = np.asarray(samples, dtype=np.float32)
    if samples.ndim != 1 or not len(samples):
        raise OutputError(f"{printable(path)}: there is no mono sound to write (shape {samples.shape})")
    _check_size(path, len(samples), rate, _format(path, rate, format))
    write_blocks(path, _blocks(samples), rate, format=format, bitrate=bitrate, tags=tags)


def write_blocks(
    path: Path,
    blocks: Iterable[NDArray[np.float32]],
    rate: int,
    *,
    format: str = "wav",
    bitrate: int | None = None,
    tags: Mapping[str, str] = NO_TAGS,
) -> None:
    """Write audio that arrives in blocks of float32[n_i], one in memory at a time. See `write_audio`."""
    kind = _format(path, rate, format)
    with replacing(path) as file:
        _write(file, path, blocks, rate, kind, bitrate, tags)


def encode_audio(samples: NDArray[np.floating], rate: int, *, format: str = "wav", bitrate: int | None = None) -> bytes:
    """Return the bytes of the file that `write_audio` would write. Raises OutputError."""
    file, name = io.BytesIO(), Path("audio")
    kind = _format(name, rate, format)
    _check_size(name, len(samples), rate, kind)
    _write(file, name, _blocks(np.asarray(samples, dtype=np.float32)), rate, kind, bitrate)
    return file.getvalue()


def _write(
    file: BinaryIO,
    path: Path,
    blocks: Iterable[NDArray[np.float32]],
    rate: int,
    kind: Format,
    bitrate: int | None,
    tags: Mapping[str, str] = NO_TAGS,
) -> None:
    """Write blocks of audio to an open file. path: names it in errors."""
    convert = _ROUNDED.get(kind.subtype)
    sink = _Sink(file)
    try:
        with soundfile.SoundFile(
            sink,
            "w",
            samplerate=rate,
            channels=1,
            format=kind.container,
            subtype=kind.subtype,
            **compression(kind, rate, bitrate),
        ) as sound:
            for name, tag in tags.items():
                setattr(sound, name, tag)
            frames = 0
            for block in blocks:
                check()
                frames += len(block)
                _check_size(path, frames, rate, kind)
                if not np.isfinite(block).all():
                    raise OutputError(f"{printable(path)}: some samples are not finite (NaN or infinity)")
                sound.write(convert(block) if convert else block)
        if frames and sink.error is None:
            make_reproducible(file, kind.container)
    except (soundfile.SoundFileError, AssertionError) as error:
        name = next(name for name, known in FORMATS.items() if known == kind)
        raise sink.error or OutputError(
            f"{printable(path)}: can't be written as {name} ({reason_of(error)})"
        ) from error
    if sink.error:
        raise sink.error
    if not frames:
        raise OutputError(f"{printable(path)}: there is no mono sound to write")


class _Sink:
    """A file for libsndfile that stores the first error, which its C callbacks would print and drop."""

    def __init__(self, file: BinaryIO):
        self._file = file
        self.error: OSError | None = None

    def write(self, data: bytes) -> int:
        return self._kept(self._file.write, data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._kept(self._file.seek, offset, whence)  # flushes, so it can fail like a write

    def tell(self) -> int:
        return self._kept(self._file.tell)

    def read(self, size: int = -1) -> bytes:
        raise io.UnsupportedOperation("libsndfile does not read what it writes")

    def _kept(self, method: Callable[..., int], *arguments: Any) -> int:
        if self.error is None:
            try:
                return method(*arguments)
            except OSError as error:
                self.error = error
        return 0


def _check_size(path: Path, frames: int, rate: int, kind: Format) -> None:
    width = {"PCM_16": 2, "PCM_24": 3, "FLOAT": 4, "ULAW": 1, "ALAW": 1}.get(kind.subtype, 0)
    if kind.container == "WAV" and frames * width > _WAV_BYTES:
        raise OutputError(f"{printable(path)}: {frames / rate / 3600:.1f} hours are more than WAV can hold; use flac")


def _blocks(samples: NDArray[np.float32]) -> Iterator[NDArray[np.float32]]:
    """Split into small blocks: libsndfile's Vorbis and Opus encoders keep a whole call's input on the stack."""
    return (samples[start : start + _BLOCK_FRAMES] for start in range(0, len(samples), _BLOCK_FRAMES))


def _format(path: Path, rate: int, name: str) -> Format:
    kind = FORMATS.get(name)
    if kind is None:
        raise OutputError(f"{printable(path)}: unknown format {quoted(name)}; choose one of {', '.join(FORMATS)}")
    if kind.container not in soundfile.available_formats():
        raise OutputError(f"{printable(path)}: the installed libsndfile can't write {name}; choose wav or flac")
    rates = rates_of(name)
    if rates and rate not in rates:
        known = ", ".join(f"{known / 1000:g}" for known in rates)
        raise OutputError(f"{printable(path)}: {name} can't hold {rate / 1000:g} kHz, only {known} kHz")
    return kind
