"""Commands take groups of options as values; Typer sees every option of a group in the command's signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import typer


def option(panel: str, *names: str, help: str, **more: Any) -> Any:
    """An option that help texts list in `panel`; `more` goes to `typer.Option`."""
    return typer.Option(*names, rich_help_panel=panel, help=help, **more)


class OptionGroup:
    """Options that belong together: a class whose constructor takes each as a parameter, usually a dataclass.

    Each parameter is annotated as Typer wants it: `seed: Annotated[int | None, option(SPEECH, "--seed", ...)] = None`.
    """


def flatten(command: Callable[..., None]) -> Callable[..., None]:
    """The same command for Typer: each parameter that is an OptionGroup is replaced by the options of the group."""
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
        for name, (kind, members) in groups.items():
            values[name] = kind(**{member: values.pop(member) for member in members})
        command(**values)

    by_name = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in options]
    flat.__signature__ = signature.replace(parameters=by_name)  # type: ignore[attr-defined]
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in options}
    return flat
