"""The artifacts of a batch: subtitles, one joined file, a report.

They are made at the end, from results and files only. If a run stops before that, rerunning the command makes them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from voxcli.artifacts.joined import Track, write_joined
from voxcli.artifacts.page import PageInfo, write_page
from voxcli.artifacts.subtitles import Subtitles, subtitles_path, write_subtitles
from voxcli.audio.write import check_output
from voxcli.errors import InputError, VoxError, quoted
from voxcli.files.write import check_place, prepare_folder
from voxcli.jobs.job import Job
from voxcli.jobs.output_paths import OutputFolder, format_of
from voxcli.jobs.protected import ProtectedInputs
from voxcli.jobs.registry import OutputRegistry
from voxcli.jobs.result import Outcome, Result, failure
from voxcli.jobs.tags import tags_of_whole
from voxcli.jobs.takes import best_take, is_rejected, take_path
from voxcli.terminal import counted, format_duration

MISSED_LU = 0.5  # below the loudness asked for, above which it is reported


class Artifacts:
    """The artifacts to make of `jobs`, given in manifest order.

    subtitles: format of the subtitles.
    join:      path of the joined file.
    report:    path of the report.
    out:       the output folder of the batch, which gives the report its title.
    inputs:    inputs of the command; the recordings of the jobs are added.

    Raises InputError when outputs clash with each other or with an input, or a name has the wrong suffix.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        *,
        subtitles: Subtitles | None = None,
        join: Path | None = None,
        report: Path | None = None,
        out: Path | None = None,
        inputs: ProtectedInputs | None = None,
    ):
        self.jobs = jobs
        self.subtitles = subtitles
        self.join = join
        self.report = report
        self.out = out
        self.format = _joined_format(join, jobs[0]) if join is not None else ""
        self.model = ""  # its name for people, if it is known
        self._outcomes: defaultdict[str, list[Outcome]] = defaultdict(list)  # of the takes of each line
        self._refuse_clashes(ProtectedInputs() if inputs is None else inputs)
        if report is not None and report.suffix.lower() not in (".html", ".htm"):
            raise InputError(f"the report is an HTML page: its name must end with .html, not {quoted(report.name)}")

    @property
    def formats(self) -> set[str]:
        """The formats of the lines' files and of the joined file."""
        return {job.format for job in self.jobs} | ({self.format} if self.format else set())

    @property
    def folders(self) -> set[Path]:
        return {path.parent for path in (self.join, self.report) if path is not None}

    def beside(self, job: Job) -> Iterator[Path]:
        """Yield the subtitles of a job, and with the first job also those of the joined file."""
        if self.subtitles is not None:
            yield subtitles_path(job.out, self.subtitles)
            if self.join is not None and job.key == self.jobs[0].key:
                yield subtitles_path(self.join, self.subtitles)

    def prepare(self, rate: int) -> None:
        """Check that all artifacts can be written. rate: the default sample rate in Hz. Raises OutputError."""
        for folder in self.folders:
            prepare_folder(folder)
        if self.join is not None:
            check_output(self.join, self.jobs[0].sample_rate or rate, format=self.format)
        if self.report is not None:
            check_place(self.report)

    def add(self, outcome: Outcome) -> None:
        if self.subtitles or self.join or self.report:
            self._outcomes[outcome.job.id].append(outcome)

    def make(self, notify: Callable[[str], None]) -> None:
        """Write all artifacts. If one fails, the others are written and the first VoxError is raised at the end.

        The joined file is written only if all lines are done.
        """
        finished = [outcome for job in self.jobs for outcome in self._takes(job) if outcome.result.ok]
        errors: list[VoxError] = []
        for make in self._tasks(finished, notify):
            try:
                make()
            except VoxError as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def _takes(self, job: Job) -> list[Outcome]:
        """Return the outcomes of a line, one for each take, in order."""
        return sorted(self._outcomes.get(job.id, ()), key=lambda outcome: outcome.job.take)

    def _chosen(self, job: Job) -> Outcome | None:
        """Return the outcome of a line that is used: that of its best take, else any. None if it was not spoken."""
        takes = self._takes(job)
        best = best_take(outcome.result for outcome in takes)
        return next((outcome for outcome in takes if outcome.result is best), takes[0] if takes else None)

    def _tasks(self, finished: Sequence[Outcome], notify: Callable[[str], None]) -> Iterator[Callable[[], None]]:
        if self.subtitles is not None:
            for outcome in finished:
                path, result = subtitles_path(outcome.job.out, self.subtitles), outcome.result
                yield partial(write_subtitles, path, result.cues or (), self.subtitles, result.words or ())
        if self.join is not None:
            yield partial(self._join, self.join, notify)
        if self.report is not None:
            yield partial(self._report, self.report, notify)

    def _report(self, path: Path, notify: Callable[[str], None]) -> None:
        info = PageInfo(str(self.out or path.stem), self.out or path.parent, self.model)
        write_page(path, info, [each for job in self.jobs for each in self._results(job)])
        notify(f"{path} shows all lines")

    def _join(self, path: Path, notify: Callable[[str], None]) -> None:
        chosen = {job.id: self._chosen(job) for job in self.jobs}
        missing = [job for job in self.jobs if (outcome := chosen[job.id]) is None or outcome.result.failed]
        used = [outcome for outcome in chosen.values() if outcome is not None]
        finished = [outcome for outcome in used if outcome.result.ok]
        if missing:
            notify(f"{path} is not written: {_count(missing)} missing, the first is {missing[0]}")
            return
        if not finished:
            notify(f"{path} is not written: no line has words")
            return
        if rejected := [outcome.job for outcome in finished if is_rejected(outcome.result)]:
            notify(f"{path} contains {counted(len(rejected), 'rejected line')}, the first is {rejected[0]}")
        parts = [self._part(outcome) for outcome in used]
        bitrate, loudness = self.jobs[0].settings.bitrate, _common_loudness(self.jobs)
        tags = tags_of_whole(path, self.jobs, self.format)
        whole = write_joined(path, parts, format=self.format, bitrate=bitrate, loudness=loudness, tags=tags)
        if self.subtitles is not None:
            write_subtitles(subtitles_path(path, self.subtitles), whole.cues, self.subtitles, whole.words)
        notify(f"{path}: {format_duration(whole.duration_s)} of audio, {counted(len(finished), 'file')} joined")
        if whole.quieter >= MISSED_LU:
            notify(f"{path} is {whole.quieter:.1f} LU below the loudness asked for: its peak allows no more")

    @staticmethod
    def _part(outcome: Outcome) -> Track:
        """Make the track of a finished line; a line without words becomes silence."""
        job, result = outcome.job, outcome.result
        if not result.ok:
            return Track(None, result.duration_s or 0.0)
        return Track(job.out, job.pause_after, result.cues or (), result.words or ())

    def _results(self, job: Job) -> list[tuple[Job, Result]]:
        """Return the results of a line, one for each take."""
        found = [(outcome.job, outcome.result) for outcome in self._takes(job)]
        return found or [(job, failure(job, VoxError("not spoken in this run"), job.out.parent).result)]

    def _files(self) -> Iterator[Path]:
        for job in self.jobs:
            yield from (take_path(job.out, take) for take in range(1, job.takes + 1))

    def _outputs(self) -> Iterator[tuple[str, Path]]:
        """Yield description and path of every artifact."""
        if self.join is not None:
            yield "the joined file", self.join
        if self.report is not None:
            yield "the report", self.report
        if self.subtitles is not None:
            for path in (*self._files(), *((self.join,) if self.join else ())):
                yield f"the subtitles of {path.name}", subtitles_path(path, self.subtitles)

    def _refuse_clashes(self, inputs: ProtectedInputs) -> None:
        if not (self.subtitles or self.join or self.report):
            return
        registry = OutputRegistry[Job | str]()
        for path in OutputFolder(self.out).run_files if self.out is not None else ():
            registry.claim(path, f"{path.name} of the run")
        for job in self.jobs:
            inputs.add_voices(job)
            for take in range(1, job.takes + 1):
                registry.claim(take_path(job.out, take), job)
        for name, path in self._outputs():
            if (taken := registry.claim(path, name)) is not None:
                raise InputError(f"{name} and {_file_of(taken)} would be the same file, {path}: choose another name")
        for owner, found in registry.overwritten(inputs):
            raise InputError(f"{_file_of(owner)} would overwrite {found}: choose another name")
        for owner, folder, other in registry.in_the_way():
            raise InputError(f"{_file_of(owner)} would be inside {quoted(folder)}, which is {_file_of(other)}")


def _file_of(owner: Job | str) -> str:
    return f"the file of {owner}" if isinstance(owner, Job) else owner


def _joined_format(path: Path, first: Job) -> str:
    """Return the format of the joined file by its suffix; if several fit, that of the first job."""
    fitting = format_of(path, None)
    try:
        return format_of(path, first.format)
    except InputError:
        return fitting


def _common_loudness(jobs: Sequence[Job]) -> float | None:
    """Return the loudness that all lines ask for; None if they differ: the whole stays as they are."""
    asked = {job.settings.loudness for job in jobs}
    return asked.pop() if len(asked) == 1 else None


def _count(jobs: Sequence[Job]) -> str:
    return counted(len(jobs), "line is", "lines are")
