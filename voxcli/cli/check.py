"""`voxcpm2 check`: listen to files that were made before."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from voxcli.cli.check_options import AllowDoubtful, LimitOptions, check_folder
from voxcli.cli.flatten import flatten, option
from voxcli.cli.help import INPUT, OUTPUT, SPEECH, VOICE, Command, examples
from voxcli.cli.options import Debug, Encoding, InputFormat, VoiceOptions, notify
from voxcli.cli.values import complete, voice_words
from voxcli.errors import InputError, OutputError, VoxError, quoted
from voxcli.files.names import RESULTS_NAME
from voxcli.files.read import open_regular
from voxcli.jobs.job import take_key
from voxcli.jobs.output_paths import STDOUT
from voxcli.terminal import counted, printable

if TYPE_CHECKING:
    from voxcli.check.folder import FileToCheck
    from voxcli.check.record import LineCheck
    from voxcli.jobs.result import Result

EXAMPLES = examples(
    "voxcpm2 check speech",
    "voxcpm2 check recordings --manifest lines.csv --map text=Line --allow-doubtful",
)
CHECKS_NAME = "check.jsonl"
MAX_LINE = 1 << 24  # bytes


def register(app: typer.Typer) -> None:
    app.command(cls=Command, epilog=EXAMPLES, no_args_is_help=True)(flatten(check))


def check(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder with audio files and results.jsonl.")],
    limits: LimitOptions,
    manifest: Annotated[
        str | None,
        option(
            INPUT,
            "--manifest",
            metavar="FILE",
            show_default="results.jsonl in FOLDER",
            help="For files of other programs: JSON Lines or a table with text and file, or text and id, in each row.",
        ),
    ] = None,
    input_format: InputFormat = None,
    encoding: Encoding = None,
    column_map: Annotated[
        list[str] | None,
        option(INPUT, "--map", metavar="FIELD=COLUMN", help="Read fields from columns with other names: text=Line."),
    ] = None,
    ref: Annotated[
        Path | None, option(VOICE, "--ref", metavar="FILE", help="Recording of the voice that all files should have.")
    ] = None,
    voice: Annotated[
        str | None,
        option(
            VOICE,
            "--voice",
            metavar="NAME",
            autocompletion=complete(voice_words),
            help="Named voice that all files should have, see `voxcpm2 voices`.",
        ),
    ] = None,
    language: Annotated[
        str | None,
        option(SPEECH, "--language", metavar="TAG", show_default="detected", help="Language of the texts: en, de, zh."),
    ] = None,
    out: Annotated[
        Path | None,
        option(
            OUTPUT,
            "--out",
            "-o",
            metavar="FILE",
            show_default=f"results.jsonl, or {CHECKS_NAME} in FOLDER with --manifest",
            help="JSON Lines file for what the check finds; - writes it to stdout.",
        ),
    ] = None,
    allow_doubtful: AllowDoubtful = False,
    debug: Debug = False,
) -> None:
    """Listen to finished files and compare them with their texts.

    Prints the name of each doubtful file and the reason. A recognizer transcribes the files: missing, repeated and
    added words are found, and silence, clipping, noise and, with a recording, another voice. The exit code is 1 if a
    file is doubtful. All findings are recorded in results.jsonl, with --manifest in check.jsonl.
    """
    from voxcli.inputs.columns import parse_map
    from voxcli.inputs.document import InputOptions, format_named

    check_folder(folder)
    tag = _language(language)
    if manifest is None and (input_format or encoding or column_map):
        raise InputError("--input-format, --encoding and --map are for a --manifest")
    wanted = _voice(ref, voice)
    read = InputOptions(format_named(input_format), encoding, parse_map(column_map or ()))
    if manifest is None:
        files = _files_of_results(folder, wanted, tag)
    else:
        files = _files_of_manifest(manifest, folder, read, wanted, tag)
    target = out or (None if manifest is None else folder / CHECKS_NAME)
    if target is not None and target != STDOUT:
        _protect(target, folder, manifest, files)
        _prepare(target)
    doubtful, failed = _check(files, limits, folder, target)
    print(f"{counted(len(files), 'file')} checked, {doubtful} doubtful, {failed} failed", file=sys.stderr)
    if failed or (doubtful and not allow_doubtful):
        raise typer.Exit(1)


def _voice(ref: Path | None, name: str | None) -> Path | None:
    """Return the voice that all files should have. Raises InputError if it can't be used."""
    from voxcli.jobs.plan import check_voices

    found = VoiceOptions(ref=ref, voice=name).file() or ref
    check_voices(found)
    return found


def _language(named: str | None) -> str | None:
    from voxcli.jobs.settings import DEFAULTS

    return None if named is None else DEFAULTS.updated({"language": named}).language


def _files_of_results(folder: Path, voice: Path | None, language: str | None) -> list[FileToCheck]:
    from voxcli.check.folder import FileToCheck
    from voxcli.run.results import read_history

    try:
        histories = read_history(folder)
    except OutputError as error:  # here they are an input
        raise InputError(str(error)) from error
    good = [history.good for history in histories.values() if history.good is not None]
    if not good:
        raise InputError(f"there are no results in {folder}: name the texts of its files with --manifest FILE")
    return [
        FileToCheck(
            result.id,
            folder / result.out,
            result.text,
            result.cues or (),
            voice or (folder / result.voice if result.voice else None),
            language,
            result.take,
        )
        for result in good
    ]


def _files_of_manifest(
    manifest: str, folder: Path, read: Any, voice: Path | None, language: str | None
) -> list[FileToCheck]:
    from voxcli.check.folder import FileToCheck
    from voxcli.inputs.recorded import read_recorded

    return [
        FileToCheck(line.id, line.path, line.text, (), voice or line.voice, language)
        for line in read_recorded(manifest, folder, read)
    ]


def _protect(target: Path, folder: Path, manifest: str | None, files: list[FileToCheck]) -> None:
    """Raise InputError if the file for checks is an input, or exists and was not made by this command."""
    from voxcli.inputs.document import STDIN
    from voxcli.jobs.protected import ProtectedInputs

    inputs = ProtectedInputs()
    if manifest == STDIN:
        inputs.add_stream(sys.stdin, "the manifest")
    elif manifest is not None:
        inputs.add(Path(manifest), "the manifest")
    inputs.add(folder / RESULTS_NAME, "the results")
    for file in files:
        inputs.add(file.path, "the audio file")
        if file.voice is not None:
            inputs.add(file.voice, "the recording")
    inputs.refuse(target)
    if os.path.lexists(target) and not _holds_checks(target):
        raise InputError(f"{quoted(target)} exists and holds no checks: name another file")


def _prepare(target: Path) -> None:
    """Create the folder of the file for checks. Raises OutputError if the file can't be written."""
    from voxcli.files.write import check_place, prepare_folder

    prepare_folder(target.parent)
    check_place(target)


def _holds_checks(path: Path) -> bool:
    try:
        with open_regular(path) as file:
            line = json.loads(file.readline(MAX_LINE))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(line, dict) and isinstance(line.get("check"), dict)


def _check(files: list[FileToCheck], limits: LimitOptions, folder: Path, target: Path | None) -> tuple[int, int]:
    """Check files and record what was found.

    target: a file of its own, or STDOUT, to which lines are written as they come; None: results.jsonl in `folder`.

    Returns the number of doubtful files and of those that could not be checked.
    """
    from voxcli.check.checker import Checker
    from voxcli.check.folder import check_files
    from voxcli.files.write import write_atomic
    from voxcli.interrupts import cleanup, interruptible

    doubtful = failed = 0
    lines: list[str] = []
    with ExitStack() as stack:
        stack.enter_context(cleanup())
        checker = Checker(limits.options(), notify)
        record = None if target is not None else stack.enter_context(_Recorder(folder))
        stack.enter_context(checker)
        stack.enter_context(interruptible())
        for file, found in check_files(files, checker):
            if isinstance(found, VoxError):
                failed += 1
                notify(f"{file.id}: {found}")
                continue
            if found.reason is not None:
                doubtful += 1
                message = printable(f"{file.path}: {found.reason}")
                print(message, file=sys.stderr if target == STDOUT else sys.stdout, flush=True)
            if record is not None:
                record.add(file, found)
            elif target == STDOUT:
                print(_line(file, found), end="", flush=True)
            else:
                lines.append(_line(file, found))
        if target is not None and target != STDOUT:
            write_atomic(target, "".join(lines).encode("utf-8", "replace"))
    return doubtful, failed


def _line(file: FileToCheck, found: LineCheck) -> str:
    values = {
        "id": file.id,
        "out": str(file.path),
        "text": file.text,
        "status": found.status,
        "reason": found.reason,
        "check": found.record,
        "words": found.words,
    }
    return json.dumps(values, ensure_ascii=False) + "\n"


class _Recorder:
    """Records checks in the results.jsonl of a folder, which no run may write meanwhile. A context manager."""

    def __init__(self, folder: Path):
        from voxcli.run.lock import FolderLock
        from voxcli.run.results import ResultLog

        self._lock, self._log = FolderLock(folder, notify), ResultLog(folder)

    def __enter__(self) -> _Recorder:
        with ExitStack() as stack:
            stack.enter_context(self._lock)
            stack.enter_context(self._log)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._stack.__exit__(*exception)

    def add(self, file: FileToCheck, found: LineCheck) -> None:
        history = self._log.history.get(take_key(file.id, file.take))
        if history is not None and history.good is not None:
            self._log.append(*_checked(history.good, history.last, found))


def _checked(good: Result, last: Result, found: LineCheck) -> Iterator[Result]:
    """Yield a line's result with its check. A later failure stays its last result."""
    from voxcli.jobs.verdicts import as_approved

    yield as_approved(found.applied(good))
    if last is not good:
        yield last
