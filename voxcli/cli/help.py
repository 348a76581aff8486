"""Help texts: options in panels, two kinds of metavar, 80 columns, or up to 100 if the terminal is wider.

Metavars: a word in capitals stands for a value. Words in lower case are typed literally. `|` separates choices.
"""

from __future__ import annotations

import gc
from typing import Any

from typer.core import TyperCommand, TyperGroup

from voxcli.cli.usage import extra_arguments, unknown_command, with_help
from voxcli.errors import InputError

INPUT = "Input"
OUTPUT = "Output"
VOICE = "Voice"
SPEECH = "Speech"
CHECK = "Check"
RESUME = "Resume"
MEASURE = "Measure"
MODEL = "Model"
SERVE = "Server"
WORKERS = "Workers"
OTHER = "Other options"
# the most used panels first
PANELS = (OUTPUT, INPUT, VOICE, SPEECH, RESUME, CHECK, MEASURE, SERVE, MODEL, WORKERS, OTHER)
COLUMNS = 100
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": COLUMNS}


class _Examples:
    epilog: str | None

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        formatter.write_paragraph()
        formatter.write_text(self.epilog or "")


class Command(_Examples, TyperCommand):
    """A command whose help shows its options in panels."""

    allow_extra_args = True  # refused in parse_args, with our own message

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        super().parse_args(ctx, args)
        if ctx.args and not ctx.resilient_parsing:
            raise InputError(with_help(extra_arguments(ctx.args, ctx), ctx))
        return []

    def invoke(self, ctx: Any) -> Any:
        gc.enable()  # which the program disabled for its imports
        return super().invoke(ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["[OPTIONS]", *(_usage_of(param) for param in _arguments(self))]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _write_rows(formatter, "Arguments", [(_metavar(param), _help_of(param)) for param in _arguments(self)])
        for panel, rows in _in_panels(self, ctx).items():
            _write_rows(formatter, panel, rows)


class Group(_Examples, TyperGroup):
    """A command with subcommands, which help lists before its options."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            raise InputError(with_help(unknown_command(args[0], ctx), ctx))
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        self.format_commands(ctx, formatter)
        for _, rows in _in_panels(self, ctx).items():
            _write_rows(formatter, "Options", rows)


def examples(*lines: str) -> str:
    """Return the end of a help text: example commands that run as typed."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def _in_panels(command: Any, ctx: Any) -> dict[str, list[tuple[str, str]]]:
    """Return names and help texts of a command's options by panel, in the order of PANELS."""
    panels: dict[str, list[tuple[str, str]]] = {panel: [] for panel in PANELS}
    for param in command.get_params(ctx):
        if param.param_type_name == "option" and not param.hidden:
            panels[getattr(param, "rich_help_panel", None) or OTHER].append((_names_of(param), _help_of(param)))
    return panels


def _arguments(command: Any) -> list[Any]:
    return [param for param in command.params if param.param_type_name == "argument"]


def _metavar(param: Any) -> str:
    return str(param.metavar or param.name.upper())


def _usage_of(param: Any) -> str:
    name = _metavar(param) + ("..." if param.nargs == -1 else "")
    return name if param.required else f"[{name}]"


def _names_of(param: Any) -> str:
    """Return for example `-o, --out FILE` or `--normalize / --no-normalize`."""
    names = " / ".join(", ".join(sorted(some, key=len)) for some in (param.opts, param.secondary_opts) if some)
    return names if param.is_flag else f"{names} {_metavar(param)}"


def _help_of(param: Any) -> str:
    """Return the help text, with [required] or the default in brackets."""
    default = param.show_default if isinstance(param.show_default, str) else param.default
    if param.required:
        note = "  [required]"
    elif isinstance(default, bool) or default is None or not param.show_default:
        note = ""
    else:
        note = f"  [default: {default}]"
    return f"{param.help}{note}"


def _write_rows(formatter: Any, title: str, rows: list[tuple[str, str]]) -> None:
    if rows:
        with formatter.section(title):
            formatter.write_dl(rows)
