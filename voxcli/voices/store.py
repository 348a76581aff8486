"""Named voices: a recording is encoded once and stored in a small file that can be used by name.

The file is safetensors: `reference` [patches, patch_size, feat_dim] and, with a transcript, `prompt` of the same shape
(the same recording, padded to be continued). One JSON value in the header contains the rest. The latents fit only
models with the same voice encoder, which the file names. For all others it also has `recording`, the bytes of a FLAC
file; files of earlier versions lack it.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from voxcli.errors import InputError, OutputError, quoted, shortened
from voxcli.files.located import located
from voxcli.files.names import safe_name
from voxcli.files.read import check_regular, files_with
from voxcli.files.user_dirs import data_folder
from voxcli.files.write import make_folder, write_atomic
from voxcli.terminal import nearest

SUFFIX = ".safetensors"
HEADER = "voxcpm2_voice"
NAME = re.compile(r"\w[\w.-]{0,63}")
MAX_BYTES = 1 << 28  # a minute of speech takes less than 1 MB, its recording less than 10
RECORDING = "recording"

Latents = NDArray[np.float32]


class VoiceOrigin(BaseModel):
    """The line of a batch that this voice was drawn with: see `voxcli.jobs.sharedvoices`.

    id:    of the line.
    seed:  of its clip.
    asked: the seed that was asked for; None if it was left to the line.
    group: of the lines that speak with the voice; empty for those without a character or a person.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    seed: int
    asked: int | None = None
    group: str = ""


class VoiceInfo(BaseModel):
    """The metadata of a voice file.

    encoder:    identity of the encoder that made it: `voxcli.model.weights.encoder_identity`.
    recording:  name of the recording.
    sha256:     SHA-256 of the recording.
    seconds:    length of the encoded audio.
    text:       the words of the recording; empty if they were not given.
    notes:      how the recording was converted, one phrase each.
    origin:     the line that it is the voice of; None for a recording.
    """

    model_config = ConfigDict(frozen=True)

    version: Literal[1] = 1
    encoder: str
    recording: str
    sha256: str
    seconds: float
    text: str = ""
    notes: tuple[str, ...] = ()
    origin: VoiceOrigin | None = None


def voices_folder() -> Path:
    return data_folder() / "voices"


def voice_names() -> list[str]:
    return [path.stem for path in files_with(SUFFIX, voices_folder())]


def voice_path(named: str, folder: Path = Path()) -> Path:
    """Return the file of a stored voice, or a path relative to `folder` if `named` ends in .safetensors."""
    if named.endswith(SUFFIX):
        return located(named, folder)
    return voices_folder() / f"{_checked(named)}{SUFFIX}"


def check_new(name: str, replace: bool, how: str = "--force") -> Path:
    """Return the path for a new voice. Raises InputError if the name is invalid or taken.

    replace: an existing voice may be replaced, but no other kind of file.
    how:     what sets `replace`, for the message.
    """
    path = voices_folder() / f"{_checked(name)}{SUFFIX}"
    if os.path.exists(path):
        if not replace:
            raise InputError(f"there is a voice {quoted(name)} already; {how} replaces it")
        read_info(path)
    return path


def _checked(name: str) -> str:
    name = unicodedata.normalize("NFC", name)
    if not NAME.fullmatch(name) or name.endswith(SUFFIX) or safe_name(name) != name:
        raise InputError(f"a voice name consists of letters, digits, -, _ and dots, not {quoted(name)}")
    return name


def read_info(path: Path) -> VoiceInfo:
    """Read the metadata of a voice file; cheap. Raises InputError that names the file and the reason."""
    from safetensors import SafetensorError, safe_open

    try:
        check_regular(path, MAX_BYTES)
        with safe_open(path, framework="np") as file:
            return VoiceInfo.model_validate_json((file.metadata() or {})[HEADER])
    except FileNotFoundError:
        raise InputError(_missing(path)) from None
    except (OSError, SafetensorError, KeyError, ValidationError) as error:
        reason = "another kind of file" if isinstance(error, KeyError | ValidationError) else _reason(error)
        raise InputError(f"{path} is not a voice made by `voxcpm2 voices add` ({reason})") from None


def check_voice_file(path: Path) -> VoiceInfo:
    """Check a voice file before it is used and return its metadata. Takes milliseconds, as latents are read too.

    Whether they fit the model is checked when that is loaded. Raises InputError when the file is damaged.
    """
    info = read_info(path)
    latents = read_latents(path)
    if info.text and "prompt" not in latents:
        raise InputError(f"the voice {path} is damaged: it has a transcript but no prompt")
    return info


def _reason(error: Exception) -> str:
    """Return the reason of an error without the file name, which an OSError contains."""
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
    """Read `reference` and, with a transcript, `prompt`. Raises InputError when the file is damaged."""
    from safetensors import SafetensorError, safe_open

    try:
        check_regular(path, MAX_BYTES)
        with safe_open(path, framework="np") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys() if name != RECORDING}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise InputError(f"can't read the voice {path}: {_reason(error)}") from error
    if "reference" not in tensors or any(latents.ndim != 3 or not latents.size for latents in tensors.values()):
        raise InputError(f"the voice {path} is damaged: it has no reference, or latents of another shape")
    for name, latents in tensors.items():
        if latents.dtype != np.float32 or not np.isfinite(latents).all():
            raise InputError(f"the voice {path} is damaged: its {name} has values that are not finite")
    return tensors


def read_recording(path: Path) -> bytes | None:
    """Read the FLAC file of the recording; None in a file of an earlier version. Raises InputError."""
    from safetensors import SafetensorError, safe_open

    try:
        check_regular(path, MAX_BYTES)
        with safe_open(path, framework="np") as file:
            found = file.get_tensor(RECORDING) if RECORDING in file.keys() else None  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise InputError(f"can't read the voice {path}: {_reason(error)}") from error
    if found is not None and (found.dtype != np.uint8 or found.ndim != 1):
        raise InputError(f"the voice {path} is damaged: its recording is no file")
    return None if found is None else found.tobytes()


def write_voice(path: Path, info: VoiceInfo, latents: Mapping[str, Latents], recording: bytes | None = None) -> None:
    """Write a voice file. recording: a FLAC file, see `voxcli.audio.flac`. Raises OutputError when that fails."""
    from safetensors.numpy import save

    tensors: dict[str, NDArray[Any]] = dict(latents)
    if recording is not None:
        tensors[RECORDING] = np.frombuffer(recording, np.uint8)
    make_folder(path.parent)
    write_atomic(path, save(tensors, metadata={HEADER: info.model_dump_json()}))


def remove_voice(name: str) -> None:
    """Remove a voice. Raises InputError when it does not exist, OutputError when it can't be removed."""
    path = voices_folder() / f"{_checked(name)}{SUFFIX}"
    try:
        path.unlink()
    except FileNotFoundError:
        raise InputError(_missing(path)) from None
    except OSError as error:
        raise OutputError(f"can't remove {path}: {error.strerror or error}") from error
