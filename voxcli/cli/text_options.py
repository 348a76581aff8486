"""The text of `synth` and `clone`: an argument, a file or stdin."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from voxcli.cli.flatten import OptionGroup, option
from voxcli.cli.help import INPUT
from voxcli.cli.options import Encoding, InputFormat, notify
from voxcli.errors import InputError, quoted

if TYPE_CHECKING:
    from voxcli.jobs.protected import ProtectedInputs

MAX_BYTES = 1 << 26  # maximum size of a text, about ten times the longest novels


@dataclass(frozen=True)
class TextOptions(OptionGroup):
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", show_default=False, help="Text to speak; - reads stdin.")
    ] = None
    file: Annotated[
        Path | None, option(INPUT, "--file", "-f", metavar="FILE", help="Read the text from a file; - reads stdin.")
    ] = None
    input_format: InputFormat = None
    encoding: Encoding = None

    def protect(self, inputs: ProtectedInputs) -> None:
        """Protect the file that the text is read from, if any."""
        if self.file is not None and str(self.file) != "-":
            inputs.add(self.file, "the text")
        elif self.file is not None or self.text == "-":
            inputs.add_stream(sys.stdin, "the text")

    def read(self) -> str:
        """Read the text. Raises InputError when there is none or more than one."""
        if self.text is not None and self.file is not None:
            raise InputError("give the text as an argument or with --file, not both")
        if self.text is None and self.file is None:
            raise InputError("no text given: type it in quotes, or name a file with --file")
        if self.text is not None and self.text != "-":
            _refuse_file_name(self.text)
            return self.text
        return self._read_document()

    def _read_document(self) -> str:
        from voxcli.inputs.document import STDIN, InputOptions, format_named, open_document

        options = InputOptions(format_named(self.input_format), self.encoding)
        document = open_document(STDIN if self.file is None else str(self.file), MAX_BYTES, options)
        text = document.prose()
        notes = document.notes()
        if document.format != "text" or document.encoding is not None:
            notes.insert(0, document.description(None))
        for note in notes:
            notify(f"{document.name}: {note}")
        return text


def _refuse_file_name(text: str) -> None:
    """Raise InputError for a text that is the name of an existing file: it is not meant to be spoken."""
    if re.fullmatch(r"\S{1,250}\.\w{1,8}", text) and os.path.isfile(text):
        raise InputError(f"{quoted(text)} is a file: speak its text with --file {text}")
