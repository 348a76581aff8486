"""Option groups: a command takes a group as one value, and Typer sees each option in the command's signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import typer

from voxcli.files.located import located


def option(panel: str, *names: str, help: str, **more: Any) -> Any:
    """Make an option that help texts list in `panel`. `more` is passed to `typer.Option`."""
    return typer.Option(*names, rich_help_panel=panel, help=help, **more)


class OptionGroup:
    """Base class of option groups: the constructor takes each option as a parameter. Usually a dataclass.

    Parameters have Typer's annotations: `seed: Annotated[int | None, option(SPEECH, "--seed", ...)] = None`.
    """


def flatten(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command for Typer, with the options of each OptionGroup in place of the group's parameter.

    Paths arrive as `located` finds them.
    """
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, tuple[type[OptionGroup], list[str]]] = {}
    options: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        kind = parameter.annotation
        if isinstance(kind, type) and issubclass(kind, OptionGroup):
            members = inspect.signature(kind, eval_str=True).parameters
            groups[parameter.name] = (kind, list(members))
            options.extend(members.values())
        else:
            options.append(parameter)

    @wraps(command)
    def flat(**values: Any) -> None:
        for name, value in values.items():
            if isinstance(value, Path):
                values[name] = located(value)
        for name, (kind, members) in groups.items():
            values[name] = kind(**{member: values.pop(member) for member in members})
        command(**values)

    by_name = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in options]
    flat.__signature__ = signature.replace(parameters=by_name)  # type: ignore[attr-defined]
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in options}
    return flat
