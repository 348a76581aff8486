"""The command `voxcpm2`: run a subcommand and turn errors into one line and an exit code.

stdout is for data, stderr for people. Importing this module and `--help` load neither torch nor other slow modules.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterable
from importlib import import_module
from typing import Annotated, Any

import typer

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
    VoxError.exit_code: (
        "some lines failed, were cut off (unless --allow-truncated) or are doubtful (unless --allow-doubtful), "
        "or a file could not be written"
    ),
    InputError.exit_code: "invalid input: usage, text, voice or manifest",
    ModelError.exit_code: "no usable model or device",
    INTERRUPTED: "interrupted with Ctrl-C",
    TERMINATED: "terminated (SIGTERM)",
}


class Main(Group):
    """The top-level command. Its help ends with the exit codes."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        super().format_options(ctx, formatter)
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), meaning) for code, meaning in EXIT_CODES.items()])


COMMANDS = ("synth", "batch", "clone", "check", "serve", "voices", "presets", "bench", "download", "doctor")


def program(commands: Iterable[str] = COMMANDS) -> typer.Typer:
    """Return the program with these commands. Only their modules are imported."""
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
    app.callback()(voxcpm2)
    for command in commands:
        import_module(f"voxcli.cli.{command}").register(app)
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"voxcpm2 {version('voxcpm2')}")
        except PackageNotFoundError:
            print("voxcpm2 (not installed, running from a checkout)")
        raise typer.Exit


def voxcpm2(
    show_version: Annotated[
        bool,
        option(OTHER, "--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Define the top-level options; the help text is that of the app."""


def run(arguments: list[str]) -> int:
    """Run a command line and return its exit code. Errors are printed to stderr."""
    stand_in()
    # Torch reads this when it is imported: waiting threads spin for a moment, then sleep. Endless spinning makes a busy
    # machine many times slower; no spinning costs an idle machine a quarter of its speed.
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "20000")
    debug = "--debug" in arguments  # errors may occur before options are parsed
    try:
        _check_working_directory()
        app = program(arguments[:1] if arguments and arguments[0] in COMMANDS else COMMANDS)
        code = app(arguments, prog_name="voxcpm2", standalone_mode=False) or 0
        sys.stdout.flush()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except VoxError as error:
        if debug:
            traceback.print_exception(error)
        _print_error(error)
        return error.exit_code
    except Exception as error:
        if hasattr(error, "format_message"):  # typer may bundle its own click: there is no common base class
            return _print_usage_error(error)
        if debug:
            traceback.print_exception(error)
        if is_out_of_memory(error):
            _print(f"out of memory ({in_one_line(error)})")
            return VoxError.exit_code
        hint = "" if debug else " (rerun with --debug for the traceback)"
        _print(f"unexpected {in_one_line(error)}{hint}")
        return VoxError.exit_code
    if code in ENDED:
        _print(ENDED[code])
    return int(code)


def _check_working_directory() -> None:
    """Raise VoxError when there is no working directory: libraries that torch loads would end the process."""
    try:
        os.getcwd()
    except OSError as error:
        reason = "no longer exists" if isinstance(error, FileNotFoundError) else f"can't be used ({error.strerror})"
        raise VoxError(f"the working directory {reason}: change to another one") from error


def _print_usage_error(error: Any) -> int:
    """Print a parser error as one line, or the help of a command without arguments. Returns the exit code."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
    else:
        _print(usage_error(error))
    return InputError.exit_code


def _print_error(error: VoxError) -> None:
    _print(str(error))
    if isinstance(error, ManifestError) and len(error.problems) > 1:
        for problem in error.problems[:PROBLEMS_SHOWN]:
            print(f"  {printable(str(problem))}", file=sys.stderr)
        if len(error.problems) > PROBLEMS_SHOWN:
            print(f"  and {len(error.problems) - PROBLEMS_SHOWN} more", file=sys.stderr)


def _print(message: str) -> None:
    print(f"voxcpm2: {one_line(message)}", file=sys.stderr)
