"""Choose the checkpoint: the named one, else the full model if it is in the local cache, else the demo voice.

Only a hub id given with `--model`, VOXCPM2_MODEL or `voxcpm2 download` is downloaded; nothing is downloaded by default.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from voxcli.errors import CheckpointError, ModelError, ModelNotFound, quoted, reason_of
from voxcli.files.located import located
from voxcli.files.once import once_a_day
from voxcli.files.read import DIGEST_DIGITS, open_regular

FULL_MODEL = "openbmb/VoxCPM2"
VARIABLE = "VOXCPM2_MODEL"
HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")
MAX_FULL_BYTES = 1 << 30  # bytes; larger files of a model are sampled for its identity: one block per stride
BLOCK = 1 << 20  # bytes
STRIDE = 1 << 24  # bytes
WANTED_FILES = [  # data only: code in a hub repository is never downloaded
    "README.md",  # its metadata lists the languages
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "model.safetensors",
    "pytorch_model.bin",
    "audiovae.safetensors",
    "audiovae.pth",
]
DEMO = "demo voice"
DEMO_NOTICE = (
    "using the small demo voice, which speaks English only; "
    f"`voxcpm2 download` fetches the full model {FULL_MODEL} (30 languages, about 5 GB)"
)


@dataclass(frozen=True)
class ResolvedModel:
    """A checkpoint folder and its name for people."""

    folder: Path
    name: str

    @property
    def portable_name(self) -> str:
        """The name for other machines: a hub id, a folder's absolute path, or "" for the demo voice."""
        if self.name == DEMO:
            return ""
        return str(self.folder.resolve()) if os.path.isdir(os.path.expanduser(self.name)) else self.name


def resolve_model(named: str | None, notify: Callable[[str], None]) -> ResolvedModel:
    """Choose the checkpoint. Raises ModelNotFound if there is none, CheckpointError if the named one is unusable.

    named:  the value of `--model`; None if it is not given.
    notify: receives messages for people, one line each.
    """
    if named:
        return _named(named, "--model", notify)
    if os.environ.get(VARIABLE):
        return _named(os.environ[VARIABLE], VARIABLE, notify)
    cached = cached_folder(FULL_MODEL)
    if cached is not None and not defect(cached):
        return ResolvedModel(cached, FULL_MODEL)
    folder = demo_folder()
    if folder is None:
        raise ModelNotFound(
            "there is no model on this machine, and this installation lacks the demo voice; "
            f"`voxcpm2 download` fetches {FULL_MODEL}, or name a checkpoint folder with --model"
        )
    if once_a_day("demo-voice"):
        notify(DEMO_NOTICE)
    return ResolvedModel(folder, DEMO)


def resolve_portable(portable: str, identity: str, lora: Path | None) -> ResolvedModel:
    """Find the checkpoint that another machine of the run chose. Nothing is downloaded.

    portable: the model's `ResolvedModel.portable_name` on the other machine.
    identity: its `model_identity` there, including the adapter.

    Raises ModelNotFound if it is missing on this machine, CheckpointError if it is a different model.
    """
    if not portable:
        folder, name = demo_folder(), DEMO
        if folder is None:
            raise ModelNotFound("this installation lacks the demo voice, which the run uses")
    elif os.path.isabs(portable):
        folder, name = Path(portable), portable
        if not os.path.isdir(folder):
            raise ModelNotFound(f"the model folder {portable} is missing here; every machine needs it at the same path")
    else:
        folder, name = cached_folder(portable), portable
        if folder is None or defect(folder):
            raise ModelNotFound(
                f"{portable} is not in the cache here; `voxcpm2 download {portable} --ray-address ADDRESS` fetches it "
                "on every machine"
            )
    require(folder)
    if lora is not None and not os.path.isdir(lora):
        raise ModelNotFound(f"the LoRA folder {lora} is missing here; every machine needs it at the same path")
    if model_identity(filter(None, (folder, lora))) != identity:
        raise CheckpointError(f"{name} is not the same model here as on the machine where the run was started")
    return ResolvedModel(folder, name)


def demo_folder() -> Path | None:
    """Return the folder of the demo voice inside the installed package; None if it is not installed."""
    folder = Path(str(resources.files("voxcli") / "demo_voice" / "model"))
    return folder if os.path.isfile(folder / "config.json") else None


def cached_folder(hub_id: str) -> Path | None:
    """Return the folder of a hub repository in the local cache, complete or not; None if there is none. No network."""
    from huggingface_hub import constants

    if not os.path.isdir(os.path.join(constants.HF_HUB_CACHE, f"models--{hub_id.replace('/', '--')}")):
        return None  # early, because importing the rest of the library takes longer than loading the demo voice
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(hub_id, local_files_only=True, allow_patterns=WANTED_FILES))
    except (LocalEntryNotFoundError, OSError, ValueError, RuntimeError):  # RuntimeError: no home folder
        return None


def require(folder: Path) -> None:
    """Raise CheckpointError, naming what is missing or wrong, unless the folder is a VoxCPM2 checkpoint."""
    from voxcli.model.folder import check_folder

    check_folder(folder)


def defect(folder: Path) -> str | None:
    """Return why a folder is not a usable checkpoint; None if it is one."""
    try:
        require(folder)
    except ModelError as error:
        return str(error)
    return None


def download(hub_id: str, notify: Callable[[str], None]) -> Path:
    """Download a checkpoint from the hub, resuming an interrupted download. Raises ModelNotFound with the reason."""
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.errors import (
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
    )

    if constants.HF_HUB_OFFLINE:
        raise ModelNotFound(f"{hub_id} is not in the local cache, and HF_HUB_OFFLINE prevents the download")
    notify(f"downloading {hub_id} from the hub; if interrupted, the same command continues where it stopped")
    try:
        return Path(snapshot_download(hub_id, allow_patterns=WANTED_FILES))
    except RepositoryNotFoundError as error:
        raise ModelNotFound(f"the hub has no model {hub_id}, or it requires a login (`hf auth login`)") from error
    except HFValidationError as error:
        raise ModelNotFound(f"{quoted(hub_id)} is neither a folder nor a model id like {FULL_MODEL}") from error
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise ModelNotFound(f"can't fetch {hub_id}: {reason_of(error, first_line=True)}") from error
    except RuntimeError as error:
        raise ModelNotFound(f"can't fetch {hub_id}: {error} Name a folder for it in HF_HOME") from error


def fetch(hub_id: str, notify: Callable[[str], None]) -> Path:
    """Return the folder of a hub checkpoint, downloaded unless it is complete in the cache. Raises ModelError."""
    folder = cached_folder(hub_id)
    if folder is None or defect(folder):
        folder = download(hub_id, notify)
    require(folder)
    return folder


def _named(name: str, origin: str, notify: Callable[[str], None]) -> ResolvedModel:
    try:
        path = located(Path(name).expanduser())
    except RuntimeError:  # ~ without a home folder, or ~name of an unknown user
        raise ModelNotFound(f"{origin}: {name}: the home folder does not exist") from None
    if os.path.isdir(path):
        folder = path
    elif HUB_ID.fullmatch(name) and not os.path.exists(path):
        cached = cached_folder(name)
        if cached is None or defect(cached):
            cached = download(name, notify)
        folder = cached
    else:
        problem = "is a file; a model is a folder" if os.path.exists(path) else "does not exist"
        raise ModelNotFound(f"{origin}: {name} {problem} (or name a model id like {FULL_MODEL})")
    require(folder)
    return ResolvedModel(folder, name)


def local_folder(name: str, origin: str) -> Path:
    """Return the folder of a named checkpoint on this machine. Nothing is downloaded.

    name: a folder or a hub id; origin: where the name comes from, for errors. Raises ModelError if it is missing or
    incomplete.
    """
    if HUB_ID.fullmatch(name) and not os.path.exists(name):
        folder = cached_folder(name)
        if folder is None:
            raise ModelNotFound(f"{name} is not in the local cache; `voxcpm2 download {name}` fetches it")
        require(folder)
        return folder
    return _named(name, origin, lambda message: None).folder


def model_identity(folders: Iterable[Path], *, former: bool = False) -> str:
    """Return a digest of checkpoint and adapter folders: the names, sizes and content of the files that are read.

    A copy of a folder is the same model, so times do not matter. Only regular files are included. Of files larger than
    MAX_FULL_BYTES one BLOCK per STRIDE and the end are read, so changes between these blocks are not detected.

    former: use the rule of earlier versions, which included files that are not read.

    Raises ModelNotFound for a folder that does not exist, CheckpointError for a file that can't be read.
    """
    digest = hashlib.sha256()
    for folder in folders:
        if not os.path.isdir(folder):
            raise ModelNotFound(f"{folder}: the folder does not exist")
        try:
            _add_content(digest, folder, former)
        except OSError as error:
            raise CheckpointError(f"{error.filename or folder}: can't be read ({error.strerror or error})") from error
    return digest.hexdigest()[:DIGEST_DIGITS]


def _add_content(digest: hashlib._Hash, folder: Path, former: bool) -> None:
    # Imported here because it imports pydantic, which `--help` does not need.
    from voxcli.model.folder import ADAPTER_FILES, MODEL_FILES, VAE_FILES

    alternatives = (MODEL_FILES, VAE_FILES, ADAPTER_FILES)  # of each pair the first that exists is read
    read = {"config.json", "tokenizer.json", "lora_config.json", *(name for pair in alternatives for name in pair)}
    kinds = (".json", ".safetensors", ".bin", ".pth", ".ckpt")
    present = [
        path
        for path in sorted(folder.iterdir())
        if (path.suffix in kinds if former else path.name in read) and os.path.isfile(path)
    ]
    names = {path.name for path in present}
    for path in present:
        if not former and any(path.name == second and first in names for first, second in alternatives):
            continue  # not read if the first of the pair exists
        size = path.stat().st_size
        digest.update(f"{path.name} {size}\n".encode())
        with open_regular(path) as file:
            for place in [*range(0, size, BLOCK if size <= MAX_FULL_BYTES else STRIDE), max(0, size - BLOCK)]:
                file.seek(place)
                digest.update(file.read(BLOCK))
