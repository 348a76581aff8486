"""Collect the results of many workers: write files that arrived as bytes and append every result to the log."""

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

WRITERS = 8  # files of one reply written at once: the time goes into waiting for the disk


class ResultCollector:
    """Writes files and results; use it as a context manager.

    out: the output folder.
    log: the results log; None if results are not recorded.
    """

    def __init__(self, out: Path, log: ResultLog | None, timer: StageTimer):
        self.out, self.log, self.timer = out, log, timer

    def __enter__(self) -> ResultCollector:
        self._writers = ThreadPoolExecutor(WRITERS, thread_name_prefix="writer")
        return self

    def __exit__(self, *exception: object) -> None:
        self._writers.shutdown()

    def placed(self, landed: Sequence[tuple[Utterance, FinishedResult]]) -> list[tuple[Utterance, Outcome]]:
        """Write the files that came as bytes. A file that can't be written makes its line a failure."""
        if any(each.content is not None for _, each in landed):
            with self.timer("files"):
                return list(self._writers.map(self._place, landed))
        return list(map(self._place, landed))

    def note(self, outcomes: Sequence[Outcome]) -> None:
        """Append results to the log, with one sync for all of them. Raises OutputError when that fails."""
        if self.log is not None:
            with self.timer("results"):
                self.log.append(*(outcome.result for outcome in outcomes))

    def _place(self, pair: tuple[Utterance, FinishedResult]) -> tuple[Utterance, Outcome]:
        """Write one file; may run in a writer thread."""
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
