"""A session that keeps audio in memory instead of writing files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from voxcli.check.checker import Checker
from voxcli.engine.engine import Engine
from voxcli.jobs.plan import Utterance
from voxcli.jobs.result import Result
from voxcli.run.finish import JobAudio, audio_of, result_of
from voxcli.run.running_job import EncodedVoices, RunningJob
from voxcli.run.session import Session


class MemorySession(Session):
    """audio: of finished jobs, by id; who takes an outcome takes its audio as well."""

    def __init__(
        self,
        engine: Engine,
        utterances: list[Utterance],
        voices: EncodedVoices,
        notify: Callable[[str], None],
        checker: Checker | None = None,
    ):
        super().__init__(engine, utterances, Path(), log=None, notify=notify, voices=voices)
        self.audio: dict[str, JobAudio] = {}
        self.checker = checker
        if checker is None:
            self.backlog = 0  # each job is handed on when it is finished; with a check the engine would wait for it

    def write(self, running: RunningJob) -> Result:
        audio = self.audio[running.job.key] = audio_of(running)
        return result_of(running, audio, running.job.out.as_posix(), None)
