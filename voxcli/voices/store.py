"""Named voices: a recording encoded once and kept as one small file, usable by its name from then on.

The file is safetensors: `reference` [patches, patch_size, feat_dim] and, with a transcript, `prompt` of the same kind
(the same recording, padded for being continued); all the rest is one JSON value in its header. Latents fit every
model whose voice encoder is the same, and no other: the file names the encoder that made it.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from voxcli.errors import InputError, OutputError, quoted, shortened
from voxcli.files.names import safe_name
from voxcli.files.read import check_regular, files_with
from voxcli.files.user_dirs import data_folder
from voxcli.files.write import make_folder, write_atomic
from voxcli.terminal import nearest

SUFFIX = ".safetensors"
HEADER = "voxcpm2_voice"
NAME = re.compile(r"\w[\w.-]{0,63}")
MAX_BYTES = 1 << 28  # a minute of speech takes less than one

Latents = NDArray[np.float32]


class VoiceInfo(BaseModel):
    """What a voice file says of itself.

    encoder:    identity of the encoder that made it: `voxcli.model.weights.encoder_identity`.
    recording:  name of the file it was made from, and that file's SHA-256.
    seconds:    length of what was encoded.
    text:       the words of the recording; empty when they were not given.
    notes:      what was done to the recording, one phrase each.
    """

    model_config = ConfigDict(frozen=True)

    version: Literal[1] = 1
    encoder: str
    recording: str
    sha256: str
    seconds: float
    text: str = ""
    notes: tuple[str, ...] = ()


def voices_folder() -> Path:
    return data_folder() / "voices"


def voice_names() -> list[str]:
    return [path.stem for path in files_with(SUFFIX, voices_folder())]


def voice_path(named: str, folder: Path = Path()) -> Path:
    """The file of a voice: kept under that name, or lying at that path (from `folder`) when it ends in .safetensors."""
    if named.endswith(SUFFIX):
        return folder / named
    return voices_folder() / f"{_checked(named)}{SUFFIX}"


def check_new(name: str, replace: bool) -> Path:
    """Where a voice of this name will lie. Raises InputError for a name that can't be, or is taken.

    replace: it may be that of another voice, but of no other kind of file.
    """
    path = voices_folder() / f"{_checked(name)}{SUFFIX}"
    if os.path.exists(path):
        if not replace:
            raise InputError(f"there is a voice {quoted(name)} already; --force replaces it")
        read_info(path)
    return path


def _checked(name: str) -> str:
    name = unicodedata.normalize("NFC", name)
    if not NAME.fullmatch(name) or name.endswith(SUFFIX) or safe_name(name) != name:
        raise InputError(f"a voice's name is letters, digits, - _ and dots, and not {quoted(name)}")
    return name


def read_info(path: Path) -> VoiceInfo:
    """What a voice file says of itself; cheap. Raises InputError, naming the file and the reason."""
    from safetensors import SafetensorError, safe_open

    try:
        check_regular(path, MAX_BYTES)
        with safe_open(path, framework="np") as file:
            return VoiceInfo.model_validate_json((file.metadata() or {})[HEADER])
    except FileNotFoundError:
        raise InputError(_missing(path)) from None
    except (OSError, SafetensorError, KeyError, ValidationError) as error:
        reason = "another kind of file" if isinstance(error, KeyError | ValidationError) else _reason(error)
        raise InputError(f"{path} is no voice that `voxcpm2 voices add` has made ({reason})") from None


def check_voice_file(path: Path) -> VoiceInfo:
    """The same for a file that is going to be used: its latents are read as well, which takes milliseconds.

    Whether a model can use them shows when it is loaded.
    """
    info = read_info(path)
    latents = read_latents(path)
    if info.text and "prompt" not in latents:
        raise InputError(f"the voice {path} is damaged: it has words and no prompt")
    return info


def _reason(error: Exception) -> str:
    """Without the name of the file, which an OSError has too."""
    return getattr(error, "strerror", None) or str(error)


def _missing(path: Path) -> str:
    if path.parent != voices_folder():
        return f"there is no voice file {path}"
    names = voice_names()
    if guess := nearest(path.stem, names):
        return f"no voice {quoted(path.stem)}; did you mean {quoted(guess)}?"
    there = f"there are {', '.join(names)}" if names else "there are none yet"
    return f"no voice {quoted(path.stem)}, {there}; `voxcpm2 voices add {shortened(path.stem)} --ref FILE` adds it"


def read_latents(path: Path) -> dict[str, Latents]:
    """`reference` and, with a transcript, `prompt`. Raises InputError."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        check_regular(path, MAX_BYTES)
        tensors = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"can't read the voice {path}: {_reason(error)}") from error
    if "reference" not in tensors or any(latents.ndim != 3 or not latents.size for latents in tensors.values()):
        raise InputError(f"the voice {path} is damaged: it has no reference, or latents of another shape")
    for name, latents in tensors.items():
        if latents.dtype != np.float32 or not np.isfinite(latents).all():
            raise InputError(f"the voice {path} is damaged: its {name} is not made of numbers")
    return tensors


def write_voice(path: Path, info: VoiceInfo, latents: Mapping[str, Latents]) -> None:
    """Raises OutputError."""
    from safetensors.numpy import save

    make_folder(path.parent)
    write_atomic(path, save(dict(latents), metadata={HEADER: info.model_dump_json()}))


def remove_voice(name: str) -> None:
    """Raises InputError when there is none of this name, OutputError when it can't be removed."""
    path = voices_folder() / f"{_checked(name)}{SUFFIX}"
    try:
        path.unlink()
    except FileNotFoundError:
        raise InputError(_missing(path)) from None
    except OSError as error:
        raise OutputError(f"can't remove {path}: {error.strerror or error}") from error
