"""Where the results of many workers land: files that came as bytes are written, and every result is noted."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from voxcli.cluster.messages import FinishedResult
from voxcli.errors import SynthesisError, VoxError
from voxcli.files.write import make_folder, write_atomic
from voxcli.jobs.plan import Utterance
from voxcli.jobs.result import Outcome, failure, now
from voxcli.run.profile import StageTimer
from voxcli.run.results import ResultLog

WRITERS = 8  # files of one report that are written at once: most of that is waiting for the disk


class ResultCollector:
    """Inside a `with` block. out: the folder of the output.  log: None where nothing is noted."""

    def __init__(self, out: Path, log: ResultLog | None, timer: StageTimer):
        self.out, self.log, self.timer = out, log, timer

    def __enter__(self) -> ResultCollector:
        self._writers = ThreadPoolExecutor(WRITERS, thread_name_prefix="writer")
        return self

    def __exit__(self, *exception: object) -> None:
        self._writers.shutdown()

    def placed(self, landed: Sequence[tuple[Utterance, FinishedResult]]) -> list[tuple[Utterance, Outcome]]:
        """Their files are where they belong; one that can't be written is a failure."""
        if any(each.content is not None for _, each in landed):
            with self.timer("files"):
                return list(self._writers.map(self._place, landed))
        return list(map(self._place, landed))

    def note(self, outcomes: Sequence[Outcome]) -> None:
        """Those that landed together share a sync. Raises OutputError."""
        if self.log is not None:
            with self.timer("results"):
                self.log.append(*(outcome.result for outcome in outcomes))

    def _place(self, pair: tuple[Utterance, FinishedResult]) -> tuple[Utterance, Outcome]:
        """May run in a thread."""
        utterance, landed = pair
        job, result = utterance.job, landed.result
        if landed.content is not None:
            try:
                make_folder(job.out.parent)
                write_atomic(job.out, landed.content)
            except VoxError as error:
                return utterance, failure(job, error, self.out, result.seed)
            result = replace(result, finished=now())
        return utterance, Outcome(job, result, None if result.ok else SynthesisError(str(result.error)))
