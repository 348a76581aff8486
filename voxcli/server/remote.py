"""Speak one text on a server, into a file or to a stream: the same files and lines as `voxcli.run.single`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO

from voxcli.files.write import check_place, prepare_folder, write_atomic
from voxcli.jobs.job import Job
from voxcli.jobs.result import CUT_OFF
from voxcli.run.summary import Spoken, Summary
from voxcli.server.client import Server

if TYPE_CHECKING:
    from voxcli.artifacts.subtitles import Subtitles

Notify = Callable[[str], None]


def speak_one_there(job: Job, url: str, subtitles: Subtitles | None, notify: Notify) -> Spoken:
    """Run one job into its file. Raises the job's error when it fails."""
    server = Server(url)
    prepare_folder(job.out.parent)
    check_place(job.out)
    result, content = server.speak(job)
    write_atomic(job.out, content)
    if subtitles is not None:
        from voxcli.artifacts.subtitles import subtitles_path, write_subtitles

        write_subtitles(subtitles_path(job.out, subtitles), result.cues or (), subtitles)
    if result.voice_notes and (recording := job.ref or job.prompt_audio):
        notify(f"{recording}: {', '.join(result.voice_notes)}")
    for warning in result.warnings:
        if warning != CUT_OFF:
            notify(warning)
    cut_off = result.stop_reason == "length"
    return Spoken(Summary(model=server.url).one_line(result, job.out), cut_off)


def speak_aloud_there(job: Job, url: str, sink: BinaryIO, notify: Notify, *, raw: bool, name: str = "stdout") -> Spoken:
    """Run one job into a stream that plays meanwhile. Raises the job's error when it fails. name: of the sink."""
    from voxcli.audio.wavstream import write_stream

    server = Server(url)
    began = time.perf_counter()
    with server.stream(job) as stream:
        line = write_stream(stream, sink, raw=raw, began=began, name=name)
    for warning in stream.warnings:
        if warning != CUT_OFF:
            notify(warning)
    return Spoken(f"{line} ({server.url})", stream.cut_off)
