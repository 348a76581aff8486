"""Options of `batch` that set which lines of an earlier run are spoken again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from voxcli.cli.flatten import OptionGroup, option
from voxcli.cli.help import RESUME
from voxcli.errors import InputError

if TYPE_CHECKING:
    from voxcli.jobs.job import Job
    from voxcli.jobs.rerun import Rerun, RerunPolicy


@dataclass(frozen=True)
class RerunOptions(OptionGroup):
    """Lines of an earlier run."""

    force: Annotated[bool, option(RESUME, "--force", help="Speak all lines again, including unchanged ones.")] = False
    retry_failed: Annotated[
        bool, option(RESUME, "--retry-failed", help="Speak only lines that failed or are doubtful.")
    ] = False
    review: Annotated[
        Path | None,
        option(
            RESUME,
            "--review",
            metavar="FILE",
            help="Verdicts saved from the report: rejected takes are spoken again with new seeds, approved lines stay.",
        ),
    ] = None
    only: Annotated[
        list[str] | None,
        option(RESUME, "--only", metavar="ID,ID", help="Speak only these lines; the others stay as they are."),
    ] = None
    without: Annotated[
        list[str] | None,
        option(RESUME, "--except", metavar="ID,ID", help="Speak all lines but these; they stay as they are."),
    ] = None

    @property
    def policy(self) -> RerunPolicy:
        """Raises InputError when options exclude each other."""
        if self.force and self.retry_failed:
            raise InputError("--force and --retry-failed exclude each other")
        return "all" if self.force else "failed" if self.retry_failed else "changed"

    def rerun(self, jobs: Sequence[Job]) -> tuple[Rerun, list[str]]:
        """Return what is spoken of the lines of a manifest, and notes for people. Raises InputError."""
        from voxcli.inputs.review import read_review
        from voxcli.jobs.rerun import Rerun, ids_named

        verdicts, notes = (None, []) if self.review is None else read_review(self.review, jobs)
        only = ids_named("--only", self.only, jobs) if self.only else None
        without = ids_named("--except", self.without, jobs) if self.without else frozenset[str]()
        return Rerun(self.policy, only, without, verdicts), notes
