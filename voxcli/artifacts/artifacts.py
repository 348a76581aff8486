"""What a batch makes of its finished files: subtitles beside them, one joined file, a report.

Made at the end, from results and files alone: the same command again makes them where a run was stopped before that.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from voxcli.artifacts.joined import Part, write_joined
from voxcli.artifacts.page import write_page
from voxcli.artifacts.subtitles import Subtitles, subtitles_path, write_subtitles
from voxcli.audio.write import check_output
from voxcli.errors import InputError, VoxError
from voxcli.files.write import prepare_folder
from voxcli.jobs.job import Job
from voxcli.jobs.output_paths import format_of
from voxcli.jobs.protected import Recordings
from voxcli.jobs.result import Outcome, Result, failure
from voxcli.terminal import clock


class Products:
    """Those that are wanted of `jobs`, which stand in the order of the manifest. Raises InputError."""

    def __init__(
        self,
        jobs: Sequence[Job],
        *,
        subtitles: Subtitles | None = None,
        join: Path | None = None,
        report: Path | None = None,
        title: str = "",
    ):
        self.jobs = jobs
        self.subtitles = subtitles
        self.join = join
        self.report = report
        self.title = title
        self.format = _joined_format(join, jobs[0]) if join is not None else ""
        self._results: dict[str, Result] = {}
        self._refuse_clashes()
        if report is not None and report.suffix.lower() not in (".html", ".htm"):
            raise InputError(f"the report is a page: end its name with .html, not {report.name!r}")

    @property
    def folders(self) -> set[Path]:
        return {path.parent for path in (self.join, self.report) if path is not None}

    def prepare(self, rate: int) -> None:
        """Prove that they can be written; `rate` is what files will have that ask for none. Raises OutputError."""
        for folder in self.folders:
            prepare_folder(folder)
        if self.join is not None:
            check_output(self.join, self.jobs[0].settings.sample_rate or rate, format=self.format)

    def add(self, outcome: Outcome) -> None:
        if self.subtitles or self.join or self.report:
            self._results[outcome.job.id] = outcome.result

    def make(self, say: Callable[[str], None]) -> None:
        """Write them all; where one can't be written the others are. Raises the first VoxError in the end.

        The joined file is written only when no line is missing in it.
        """
        finished = [(job, result) for job in self.jobs if (result := self._results.get(job.id)) and result.ok]
        errors: list[VoxError] = []
        for product in self._products(finished, say):
            try:
                product()
            except VoxError as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def _products(
        self, finished: Sequence[tuple[Job, Result]], say: Callable[[str], None]
    ) -> Iterator[Callable[[], None]]:
        if self.subtitles is not None:
            for job, result in finished:
                path = subtitles_path(job.out, self.subtitles)
                yield partial(write_subtitles, path, result.cues or (), self.subtitles)
        if self.join is not None:
            yield partial(self._join, self.join, finished, say)
        if self.report is not None:
            yield partial(self._report, self.report, say)

    def _report(self, path: Path, say: Callable[[str], None]) -> None:
        write_page(path, self.title or path.stem, [(job, self._result(job)) for job in self.jobs])
        say(f"{path} shows all lines")

    def _join(self, path: Path, finished: Sequence[tuple[Job, Result]], say: Callable[[str], None]) -> None:
        missing = [job for job in self.jobs if not ((result := self._results.get(job.id)) and result.ok)]
        if missing:
            say(f"{path} is not written: {_count(missing)} missing in it, the first is {missing[0]}")
            return
        parts = [Part(job.out, job.pause_after, result.cues or ()) for job, result in finished]
        whole = write_joined(path, parts, format=self.format)
        if self.subtitles is not None:
            write_subtitles(subtitles_path(path, self.subtitles), whole.cues, self.subtitles)
        say(f"{path}: {clock(whole.duration_s)} of audio, {len(parts)} files joined")

    def _result(self, job: Job) -> Result:
        found = self._results.get(job.id)
        return found or failure(job, VoxError("not spoken in this run"), job.out.parent).result

    def _paths(self) -> Iterator[Path]:
        """All that is written."""
        yield from (path for path in (self.join, self.report) if path is not None)
        if self.subtitles is not None:
            for path in (*(job.out for job in self.jobs), *((self.join,) if self.join else ())):
                yield subtitles_path(path, self.subtitles)

    def _refuse_clashes(self) -> None:
        if not (self.subtitles or self.join or self.report):
            return
        recordings = Recordings(path for job in self.jobs for path in job.voices)
        for path in self._paths():
            recordings.refuse(path)
        taken: dict[str, str] = {_place(job.out): str(job) for job in self.jobs}
        if self.join is not None and _place(self.join) in taken:
            raise InputError(f"--join {self.join} is already the file of {taken[_place(self.join)]}")
        if self.subtitles is None:
            return
        names: dict[str, str] = {}
        for path in (*(job.out for job in self.jobs), *((self.join,) if self.join else ())):
            first = names.setdefault(_place(subtitles_path(path, self.subtitles)), path.name)
            if first != path.name:
                raise InputError(f"{first} and {path.name} would share one file of subtitles: give them other names")


def _place(path: Path) -> str:
    """Names that differ only in case are one on some systems."""
    return os.path.abspath(path).casefold()


def _joined_format(path: Path, first: Job) -> str:
    """What the name says, and of several that fit the one of the files."""
    fitting = format_of(path, None)
    try:
        return format_of(path, first.format)
    except InputError:
        return fitting


def _count(jobs: Sequence[Job]) -> str:
    return "1 line is" if len(jobs) == 1 else f"{len(jobs)} lines are"
