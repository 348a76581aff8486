"""The options of the check."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from voxcli.check.options import MAX_RETRIES, RETRIES, CheckOptions
from voxcli.cli.flatten import OptionGroup, option
from voxcli.cli.help import CHECK
from voxcli.cli.values import complete, number, word
from voxcli.errors import InputError, quoted

DEVICES = ("cpu", "cuda")
AllowDoubtful = Annotated[bool, option(CHECK, "--allow-doubtful", help="Exit with 0 even if the check finds faults.")]


@dataclass(frozen=True)
class SwitchOptions(OptionGroup):
    """Whether and how often to listen."""

    check: Annotated[
        bool,
        option(
            CHECK,
            "--check",
            help="Listen to each file, and speak it again if words are missing, repeated or added or the sound is bad.",
        ),
    ] = False
    check_retries: Annotated[
        int | None,
        option(
            CHECK,
            "--check-retries",
            metavar="N",
            parser=number("--check-retries", int, 0, MAX_RETRIES),
            show_default=str(RETRIES),
            help="How often a doubtful line is spoken again, with the next seeds; the best take is kept.",
        ),
    ] = None
    allow_doubtful: AllowDoubtful = False


@dataclass(frozen=True)
class LimitOptions(OptionGroup):
    """The recognizer and the limits."""

    check_model: Annotated[
        str | None,
        option(
            CHECK,
            "--check-model",
            metavar="NAME|FOLDER",
            show_default="tiny.en",
            help="Model of faster-whisper, such as small, which is downloaded; tiny.en comes with the extra `check`.",
        ),
    ] = None
    max_wer: Annotated[
        float | None,
        option(
            CHECK,
            "--max-wer",
            metavar="SHARE",
            parser=number("--max-wer", float, 0, 1),
            show_default="by the length of the text",
            help="Maximum word error rate, such as 0.1.",
        ),
    ] = None
    min_similarity: Annotated[
        float | None,
        option(
            CHECK,
            "--min-similarity",
            metavar="N",
            parser=number("--min-similarity", float, 0, 1),
            show_default="0.75 if the weights of resemblyzer are installed",
            help="Minimum similarity to the recording of the voice.",
        ),
    ] = None
    check_device: Annotated[
        str,
        option(
            CHECK,
            "--check-device",
            metavar="DEVICE",
            parser=word("--check-device", ", ".join(DEVICES)),
            autocompletion=complete(lambda: DEVICES),
            help="Device of the recognizer: cpu or cuda.",
        ),
    ] = "cpu"

    def options(self, retries: int = 0) -> CheckOptions:
        return CheckOptions(self.check_model, self.max_wer, self.min_similarity, retries, self.check_device)


@dataclass(frozen=True)
class CheckOptionGroup(LimitOptions, SwitchOptions):
    """The check of what is spoken. The fields of the last base come first, as in the help."""

    def check_options(self) -> CheckOptions | None:
        """The options of the check; None without one. Raises InputError for an option that needs --check."""
        named = {
            "--check-model": self.check_model,
            "--max-wer": self.max_wer,
            "--min-similarity": self.min_similarity,
            "--check-retries": self.check_retries,
            "--check-device": None if self.check_device == "cpu" else self.check_device,
        }
        if self.check:
            return self.options(RETRIES if self.check_retries is None else self.check_retries)
        given = [name for name, value in named.items() if value is not None]
        if given:
            raise InputError(f"{given[0]} needs --check")
        return None


def check_folder(folder: Path) -> Path:
    """Return a folder of files to check. Raises InputError."""
    if not os.path.isdir(folder):
        raise InputError(f"{quoted(folder)} is not a folder: name one with audio files")
    return folder
