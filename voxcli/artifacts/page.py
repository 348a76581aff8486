"""The report of a batch: an HTML page to listen, to compare takes, and to approve or reject them.

It is one file that loads nothing but the sounds. Its parts are in the folder `desk`; the lines are JSON in the page.
Words of lines reach the page as text only, so that they can't become markup or a script.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from pathlib import Path
from string import Template

from voxcli.artifacts.pagedata import page_data, to_json
from voxcli.files.write import write_atomic
from voxcli.jobs.job import Job
from voxcli.jobs.result import Result

SCRIPTS = ("data.js", "order.js", "player.js", "rows.js", "list.js", "desk.js", "main.js")
IDENTITY_DIGITS = 16


@dataclass(frozen=True)
class PageInfo:
    """What the page shows of the whole run.

    title: its heading.
    run:   the output folder of the batch: a browser keeps verdicts by it.
    model: name of the model; empty if unknown.
    """

    title: str
    run: Path
    model: str = ""

    @property
    def identity(self) -> str:
        """A digest of the folder's path: another run's page does not share its verdicts, and the path stays private."""
        return hashlib.sha256(str(self.run.resolve()).encode(errors="replace")).hexdigest()[:IDENTITY_DIGITS]


def write_page(path: Path, info: PageInfo, lines: Sequence[tuple[Job, Result]]) -> None:
    """Write the page for `lines`, given in manifest order. Raises OutputError when it can't be written."""
    write_atomic(path, render(info, lines, path.parent).encode("utf-8", "replace"))


def render(info: PageInfo, lines: Sequence[tuple[Job, Result]], folder: Path) -> str:
    """Return the page as HTML. Links to files are relative to `folder`."""
    style = _part("page.css")
    script = "\n".join(['"use strict";', *map(_part, SCRIPTS)])
    data = {"run": info.identity, "model": info.model, **page_data(lines, folder)}
    return Template(_part("page.html")).substitute(
        title=escape(info.title),
        style=style,
        style_digest=_digest(style),
        script=script,
        script_digest=_digest(script),
        data=to_json(data),
    )


def _part(name: str) -> str:
    return (resources.files("voxcli.artifacts") / "desk" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """Return the digest by which the page's policy allows this style or script, and no other."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
