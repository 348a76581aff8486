"""The command `voxcpm2`: finds the subcommand, turns errors into one line and an exit code.

stdout is data, stderr is for people. Importing this module, and `--help`, load neither torch nor anything else that
takes time.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import Annotated, Any

import typer

from voxcli.cli import batch, bench, clone, doctor, download, presets, synth, voices
from voxcli.cli.flatten import option
from voxcli.cli.help import CONTEXT, OTHER, Group, examples
from voxcli.cli.streams import stand_in
from voxcli.cli.usage import usage_error
from voxcli.errors import InputError, ManifestError, ModelError, VoxError, in_one_line
from voxcli.interrupts import ENDED, INTERRUPTED, TERMINATED
from voxcli.memory import is_out_of_memory
from voxcli.terminal import one_line, printable

TITLE = "Text to speech with VoxCPM2, from one sentence to thousands of lines."
PROBLEMS_SHOWN = 50
EXIT_CODES = {
    0: "success",
    VoxError.exit_code: "some lines failed or were cut off (unless --allow-truncated), or a file could not be written",
    InputError.exit_code: "invalid input: usage, text, voice or manifest",
    ModelError.exit_code: "no usable model or device",
    INTERRUPTED: "interrupted with Ctrl-C",
    TERMINATED: "terminated (SIGTERM)",
}


class Main(Group):
    """The command itself: its help ends with the exit codes of all commands."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        super().format_options(ctx, formatter)
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), meaning) for code, meaning in EXIT_CODES.items()])


app = typer.Typer(
    name="voxcpm2",
    cls=Main,
    add_completion=True,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=CONTEXT,
    help=TITLE,
    epilog=examples('voxcpm2 synth "Hello there." -o hello.wav', "voxcpm2 batch lines.jsonl -o speech"),
)
for command in (synth, batch, clone, voices, presets, bench, download, doctor):
    command.register(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"voxcpm2 {version('voxcpm2')}")
        except PackageNotFoundError:
            print("voxcpm2, run from a checkout that is not installed")
        raise typer.Exit


@app.callback()
def voxcpm2(
    show_version: Annotated[
        bool,
        option(OTHER, "--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Options of the command itself; its help is the app's."""


def run(arguments: list[str]) -> int:
    stand_in()
    # Read when torch is imported: its threads spin for a moment while they wait for each other, then sleep. Spinning
    # without end makes a busy machine many times slower, never spinning costs an idle one a quarter of its speed.
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "20000")
    debug = "--debug" in arguments  # read here too: an error may come before or after options are parsed
    try:
        _check_working_directory()
        code = app(arguments, prog_name="voxcpm2", standalone_mode=False) or 0
        sys.stdout.flush()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except VoxError as error:
        if debug:
            traceback.print_exception(error)
        _tell_error(error)
        return error.exit_code
    except Exception as error:
        if hasattr(error, "format_message"):  # of the click that typer brings or of the one it needs: no common base
            return _tell_usage(error)
        if debug:
            traceback.print_exception(error)
        if is_out_of_memory(error):
            _tell(f"out of memory ({in_one_line(error)})")
            return VoxError.exit_code
        hint = "" if debug else " (run again with --debug for the traceback)"
        _tell(f"unexpected {in_one_line(error)}{hint}")
        return VoxError.exit_code
    if code in ENDED:
        _tell(ENDED[code])
    return int(code)


def _check_working_directory() -> None:
    """Libraries that torch loads look for it, and end the process where there is none."""
    try:
        os.getcwd()
    except OSError as error:
        reason = "is no longer there" if isinstance(error, FileNotFoundError) else f"can't be used ({error.strerror})"
        raise VoxError(f"the working directory {reason}: change to another one") from error


def _tell_usage(error: Any) -> int:
    """One line for an error of the parser; a command without any argument shows its help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
    else:
        _tell(usage_error(error))
    return InputError.exit_code


def _tell_error(error: VoxError) -> None:
    _tell(str(error))
    if isinstance(error, ManifestError) and len(error.problems) > 1:
        for problem in error.problems[:PROBLEMS_SHOWN]:
            print(f"  {printable(str(problem))}", file=sys.stderr)
        if len(error.problems) > PROBLEMS_SHOWN:
            print(f"  and {len(error.problems) - PROBLEMS_SHOWN} more", file=sys.stderr)


def _tell(message: str) -> None:
    print(f"voxcpm2: {one_line(message)}", file=sys.stderr)
