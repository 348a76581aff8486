"""Check files that were made before: by this program, or by another one whose texts are known."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from voxcli.check.checker import Checker, ClipText
from voxcli.check.record import LineCheck, Listened, line_check
from voxcli.check.signals import measure
from voxcli.errors import AudioError, VoxError, as_vox_error, reason_of
from voxcli.files.read import check_regular
from voxcli.jobs.result import Cue

__all__ = ["FileToCheck", "check_file", "check_files"]


@dataclass(frozen=True)
class FileToCheck:
    """A file and its text.

    cues:     when parts of the text are heard; empty: the whole text in the whole file.
    voice:    the recording of the voice that it should have, or the file of a named voice.
    language: of the text; None to guess it.
    take:     its number, as in its result.
    """

    id: str
    path: Path
    text: str
    cues: tuple[Cue, ...] = ()
    voice: Path | None = None
    language: str | None = None
    take: int | None = None


def check_files(files: Iterable[FileToCheck], checker: Checker) -> Iterator[tuple[FileToCheck, LineCheck | VoxError]]:
    """Yield each file with its check or the error that prevented it, in order. Several are heard at once."""
    with ThreadPoolExecutor(checker.threads + 1, thread_name_prefix="check") as pool:
        waiting: list[tuple[FileToCheck, Future[LineCheck]]] = []
        try:
            for file in files:
                waiting.append((file, pool.submit(check_file, file, checker)))
                if len(waiting) > 2 * checker.threads:
                    yield _answer(*waiting.pop(0))
            while waiting:
                yield _answer(*waiting.pop(0))
        finally:
            for _, future in waiting:
                future.cancel()


def _answer(file: FileToCheck, future: Future[LineCheck]) -> tuple[FileToCheck, LineCheck | VoxError]:
    try:
        return file, future.result()
    except Exception as error:
        return file, as_vox_error(error)


def check_file(file: FileToCheck, checker: Checker) -> LineCheck:
    """Check a file. Raises AudioError if it can't be read, and the errors of `Checker.check`."""
    samples, rate = read_whole(file.path)
    cues = file.cues or (Cue(0.0, len(samples) / rate, file.text),)
    clips = []
    for cue in cues:
        part = samples[round(cue.start * rate) : round(cue.end * rate)]
        text = ClipText.of(cue.text, language=file.language)
        clips.append(Listened(cue.text, cue.start, checker.check(part, rate, text, voice=file.voice, about=file.text)))
    return line_check(file.text, clips, measure(samples, rate), checker.limits, checker.model.name)


def read_whole(path: Path) -> tuple[NDArray[np.float32], int]:
    """Read a file as float32[n], its channels averaged, and its sample rate in Hz. Raises AudioError."""
    try:
        check_regular(path)
        samples, rate = soundfile.read(os.fsencode(path), dtype="float32", always_2d=True)
    except FileNotFoundError as error:
        raise AudioError(f"{path}: the file is missing") from error
    except (soundfile.SoundFileError, OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or reason_of(error)
        raise AudioError(f"{path}: it can't be read ({reason})") from error
    if not len(samples):
        raise AudioError(f"{path}: the file is empty")
    mixed: NDArray[np.float32] = samples.mean(axis=1, dtype=np.float32)
    return mixed, int(rate)
