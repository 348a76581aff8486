"""Play audio while it is made, or from a file: through a player on PATH, else through the package sounddevice."""

from __future__ import annotations

import io
import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import soundfile

from voxcli.audio.pcm import pcm16
from voxcli.audio.wavstream import HEADER_BYTES, wav_header
from voxcli.errors import InputError, OutputError, in_one_line
from voxcli.extras import install_hint
from voxcli.terminal import printable

__all__ = ["check_player", "open_player", "play_file"]

# Programs that play WAV from stdin, whose header has no length.
PLAYERS = (
    ("ffplay", "-nodisp", "-autoexit", "-loglevel", "quiet", "-i", "-"),
    ("mpv", "--no-terminal", "--no-video", "-"),
    ("play", "-q", "-t", "wav", "--ignore-length", "-"),
    ("aplay", "-q", "-"),
)
BLOCK = 1 << 16  # frames
RATE_AT = 24  # position of the sample rate in the header of a WAV file


def check_player() -> None:
    """Raise InputError when nothing on this machine can play."""
    if _command() is None and find_spec("sounddevice") is None:
        names = ", ".join(command[0] for command in PLAYERS)
        raise InputError(f"--play: no player found ({names}): install one of them, or `{install_hint('play')}`")


@contextmanager
def open_player() -> Iterator[BinaryIO]:
    """Yield a file that plays the WAV stream written to it; leaving the block waits until all of it was heard.

    Raises OutputError when the player fails. If the listener ends it, writing raises BrokenPipeError.
    """
    command = _command()
    if command is None:
        with _Speakers() as speakers:
            yield cast(BinaryIO, speakers)
        return
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except OSError as error:
        raise OutputError(f"the player {command[0]} can't be started ({error.strerror or error})") from error
    assert process.stdin is not None, "it was asked for a pipe"
    try:
        yield cast(BinaryIO, process.stdin)
    except BaseException:
        process.terminate()
        raise
    finally:
        with suppress(OSError):
            process.stdin.close()
        process.wait()
    if process.returncode:
        raise OutputError(f"the player {command[0]} ended with code {process.returncode}: nothing may have been heard")


def play_file(path: Path) -> None:
    """Play a file that was written. Raises OutputError."""
    try:
        with open_player() as player, soundfile.SoundFile(path) as sound:
            player.write(wav_header(sound.samplerate))
            while len(block := sound.read(BLOCK, dtype="float32")):
                player.write(pcm16(block).tobytes())
    except BrokenPipeError:
        return  # the listener has heard enough
    except (OSError, soundfile.SoundFileError) as error:
        raise OutputError(f"{printable(path)}: can't be played ({in_one_line(error)})") from error


def _command() -> tuple[str, ...] | None:
    return next((command for command in PLAYERS if shutil.which(command[0])), None)


class _Speakers(io.RawIOBase):
    """The default output of sounddevice: a file for a WAV stream of 16 bit."""

    def __init__(self) -> None:
        self._head = b""
        self._stream: Any = None

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        rest = bytes(data)
        if self._stream is None:
            self._head += rest
            if len(self._head) < HEADER_BYTES:
                return len(data)
            head, rest = self._head[:HEADER_BYTES], self._head[HEADER_BYTES:]
            self._start(struct.unpack_from("<I", head, RATE_AT)[0])
        if rest:
            self._stream.write(np.frombuffer(rest, "<i2")[:, None])
        return len(data)

    def _start(self, rate: int) -> None:
        try:
            import sounddevice

            self._stream = sounddevice.OutputStream(samplerate=rate, channels=1, dtype="int16")
            self._stream.start()
        except Exception as error:  # no device, or the library of the system is missing
            raise OutputError(f"sounddevice can't play here ({in_one_line(error)})") from error

    def close(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.stop()  # waits until all of it was heard
            stream.close()
        super().close()
