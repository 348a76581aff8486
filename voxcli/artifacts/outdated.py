"""Subtitles that an earlier run wrote beside files that are spoken again, and that no longer fit them.

A file is known as ours by its content: it is what the earlier result of the take gives. Files of others are not named.
"""

from __future__ import annotations

from pathlib import Path
from typing import cast

from voxcli.artifacts.subtitles import KINDS, Subtitles, subtitles_of, subtitles_path
from voxcli.files.read import read_regular
from voxcli.jobs.history import Earlier
from voxcli.jobs.result import Outcome
from voxcli.terminal import counted

__all__ = ["OutdatedSubtitles"]

MAX_BYTES = 1 << 24  # of a subtitle file


class OutdatedSubtitles:
    """Collects outdated subtitles of the takes that a run speaks.

    earlier: results from before the run.
    written: the subtitles that the run writes; None: none.
    """

    def __init__(self, earlier: Earlier, written: Subtitles | None):
        self._earlier, self._written = earlier, written
        self._found: dict[Path, Subtitles] = {}

    def add(self, outcome: Outcome) -> None:
        """Look for subtitles beside the file of an outcome, if that was spoken again."""
        history = self._earlier.of(outcome.job) if outcome.result.ok and not outcome.before else None
        if history is None or history.good is None:
            return
        rewritten = None if self._written is None else subtitles_path(outcome.job.out, self._written)
        for kind in cast("tuple[Subtitles, ...]", KINDS):
            path = subtitles_path(outcome.job.out, kind)
            if path == rewritten or path in self._found:
                continue
            try:
                content = read_regular(path, MAX_BYTES)
            except OSError:
                continue
            if content == subtitles_of(history.good, kind) != subtitles_of(outcome.result, kind):
                self._found[path] = kind

    @property
    def note(self) -> str | None:
        """For people; None if there are none."""
        if not self._found:
            return None
        path, kind = next(iter(self._found.items()))
        files = counted(len(self._found), "subtitle file shows", "subtitle files show")
        return f"{files} earlier speech, the first is {path}: add --subtitles {kind} to write it again"
