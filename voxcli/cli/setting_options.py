"""Options for the settings of a job, generated from the declarations in `voxcli.jobs.settings.Settings`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Annotated, Any

from voxcli.cli.flatten import OptionGroup, option
from voxcli.cli.help import OUTPUT, SPEECH
from voxcli.cli.values import complete, number, preset_words
from voxcli.errors import InputError
from voxcli.jobs.settings import DECLARED, DEFAULTS, SettingError, Settings

PANELS = {"speech": SPEECH, "output": OUTPUT}  # by the group of a declaration


def option_name(setting: str) -> str:
    """Convert min_seconds to --min-seconds."""
    return f"--{setting.replace('_', '-')}"


def setting_option(name: str) -> Any:
    """Make the option of a setting from its declaration."""
    declared = DECLARED[name]
    named = option_name(name)
    more: dict[str, Any] = {"metavar": declared.metavar, "show_default": declared.unset or str(declared.default)}
    if declared.kind is bool:
        return option(PANELS[declared.group], f"{named}/--no-{named[2:]}", help=_sentence(declared.help))
    if declared.kind in (int, float):
        more["parser"] = number(named, declared.kind)
    if declared.choices:
        more["autocompletion"] = complete(lambda: declared.choices)
    return option(PANELS[declared.group], named, help=_sentence(declared.help), **more)


def _sentence(phrase: str) -> str:
    """Make a sentence for a terminal from a phrase of the READMEs."""
    return f"{phrase[0].upper()}{phrase[1:].replace('`', '')}."


Preset = Annotated[
    str | None,
    option(
        SPEECH,
        "--preset",
        metavar="NAME|FILE",
        autocompletion=complete(preset_words),
        help="Settings by name, see `voxcpm2 presets`, or from a .yaml file.",
    ),
]


def _setting_parameters() -> Iterator[inspect.Parameter]:
    keyword = inspect.Parameter.KEYWORD_ONLY
    yield inspect.Parameter("preset", keyword, default=None, annotation=Preset)
    for name, declared in DECLARED.items():
        annotation: Any = Annotated[declared.kind | None, setting_option(name)]
        yield inspect.Parameter(name, keyword, default=None, annotation=annotation)


class SettingOptions(OptionGroup):
    """A preset, and an option for each setting of a job."""

    __signature__ = inspect.Signature(list(_setting_parameters()))

    def __init__(self, preset: str | None = None, **named: Any):
        self.preset = preset
        self.named = named

    def settings(self, base: Settings = DEFAULTS) -> Settings:
        """Return the settings: options override the preset, which overrides `base`. Raises InputError."""
        if self.preset is not None:
            from voxcli.inputs.presets import load_preset

            base = base.updated(load_preset(self.preset))
        try:
            return base.updated(self.named)
        except SettingError as error:
            raise InputError(f"{option_name(error.name)} {error.reason}") from error
