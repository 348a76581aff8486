"""Describe errors in a command line in one line, with the correct command."""

from __future__ import annotations

import re
import shlex
from typing import Any

from voxcli.errors import quoted, shortened
from voxcli.terminal import nearest

MAX_MESSAGE = 300


def usage_error(error: Any) -> str:
    """Describe an error of Typer's parser, with our own message if Typer's is not helpful."""
    context = getattr(error, "ctx", None)
    if hasattr(error, "option_name") and hasattr(error, "possibilities"):
        message = unknown_option(str(error.option_name), context)
    else:
        message = error.format_message().rstrip(".")
    return with_help(message, context)


def with_help(message: str, context: Any) -> str:
    message = shortened(message, MAX_MESSAGE)  # it contains what was typed
    path = context.command_path if context is not None else "voxcpm2"
    return f"{message[:1].lower()}{message[1:]}; see `{path} --help`"


def unknown_option(name: str, context: Any) -> str:
    """Suggest a near option, or `--` before a text that starts with a dash."""
    message = f"no such option: {name}"
    if context is None:
        return message
    if takes_text(context.command) and (not name.startswith("--") or " " in name):
        return f"{message}; text that starts with a dash goes last, after --: {context.command_path} -o FILE -- TEXT"
    known = [option for param in context.command.params for option in (*param.opts, *param.secondary_opts)]
    guess = nearest(name, [option for option in known if option.startswith("--")])
    return f"{message}; did you mean {guess}?" if guess else message


def extra_arguments(extra: list[str], context: Any) -> str:
    """Describe more arguments than the command takes; usually a text without quotes."""
    words = " ".join(extra)
    if takes_text(context.command):
        text = " ".join((context.params.get("text") or "", *extra)).strip()
        return f"put the text in quotes: {context.command_path} {_double_quoted(text)}"
    return f"unexpected argument {quoted(words)}"


def unknown_command(name: str, context: Any) -> str:
    message = f"no such command {quoted(name)}"
    guess = nearest(name, list(context.command.commands))
    if guess:
        return f"{message}; did you mean {guess!r}?"
    if re.search(r"\s", name):
        return f"{message}; to speak a text: {context.command_path} synth {_double_quoted(name)} -o FILE"
    return message


def takes_text(command: Any) -> bool:
    return any(param.param_type_name == "argument" and param.name == "text" for param in command.params)


def _double_quoted(text: str) -> str:
    """Quote the start of a text for a shell, with double quotes if possible."""
    text = shortened(text)
    return shlex.quote(text) if re.search(r'["$`\\!]', text) else f'"{text}"'
