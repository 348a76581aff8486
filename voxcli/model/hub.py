"""Which checkpoint speaks: the one named, else the full model if it is here, else the demo voice, with a notice.

Nothing is fetched that nobody asked for: only a hub id named by `--model`, VOXCPM2_MODEL or `voxcpm2 download` is.
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
WANTED_FILES = [  # data only: code in a hub repository is never fetched
    "README.md",  # its head names the languages
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
    "speaking with the small demo voice, which speaks English only; "
    f"`voxcpm2 download` fetches the full model {FULL_MODEL} (30 languages, about 5 GB)"
)


@dataclass(frozen=True)
class ResolvedModel:
    """A checkpoint folder and its name for people."""

    folder: Path
    name: str

    @property
    def anywhere(self) -> str:
        """How another machine finds the same: a hub id, a folder's whole path, or "" for the demo voice."""
        if self.name == DEMO:
            return ""
        return str(self.folder.resolve()) if os.path.isdir(os.path.expanduser(self.name)) else self.name


def resolve_model(named: str | None, notify: Callable[[str], None]) -> ResolvedModel:
    """The checkpoint to use. Raises ModelNotFound, or CheckpointError when the one that was named is unusable."""
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
            "no model here, and this installation lacks the demo voice; "
            f"`voxcpm2 download` fetches {FULL_MODEL}, or name a checkpoint folder with --model"
        )
    if once_a_day("demo-voice"):
        notify(DEMO_NOTICE)
    return ResolvedModel(folder, DEMO)


def resolve_here(anywhere: str, identity: str, lora: Path | None) -> ResolvedModel:
    """The checkpoint that another machine of the same run chose, as it is known `anywhere`. Nothing is fetched.

    identity: its digest there, the adapter included. Raises ModelNotFound, or CheckpointError when this machine has
    another one under that name.
    """
    if not anywhere:
        folder, name = demo_folder(), DEMO
        if folder is None:
            raise ModelNotFound("this installation lacks the demo voice, with which the run speaks")
    elif os.path.isabs(anywhere):
        folder, name = Path(anywhere), anywhere
        if not os.path.isdir(folder):
            raise ModelNotFound(f"there is no model folder {anywhere} here; every machine needs it at the same place")
    else:
        folder, name = cached_folder(anywhere), anywhere
        if folder is None or defect(folder):
            raise ModelNotFound(
                f"{anywhere} is not in the cache here; `voxcpm2 download {anywhere} --ray-address ADDRESS` brings it "
                "to every machine"
            )
    require(folder)
    if lora is not None and not os.path.isdir(lora):
        raise ModelNotFound(f"there is no adapter {lora} here; every machine needs it at the same place")
    if model_identity(filter(None, (folder, lora))) != identity:
        raise CheckpointError(f"{name} is not the same model here as where the run was started")
    return ResolvedModel(folder, name)


def demo_folder() -> Path | None:
    """The demo voice inside the installed package, if it is there."""
    folder = Path(str(resources.files("voxcli") / "demo_voice" / "model"))
    return folder if os.path.isfile(folder / "config.json") else None


def cached_folder(hub_id: str) -> Path | None:
    """Where a hub repository lies in the local cache, complete or not; None when it is not there. No network."""
    from huggingface_hub import constants

    if not os.path.isdir(os.path.join(constants.HF_HUB_CACHE, f"models--{hub_id.replace('/', '--')}")):
        return None  # without the rest of the library, which takes longer to import than the demo voice to load
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(hub_id, local_files_only=True, allow_patterns=WANTED_FILES))
    except (LocalEntryNotFoundError, OSError, ValueError, RuntimeError):  # the last one without a home folder
        return None


def require(folder: Path) -> None:
    """Raises CheckpointError, naming what is missing or wrong, unless the folder holds a VoxCPM2 checkpoint."""
    from voxcli.model.folder import check_folder

    check_folder(folder)


def defect(folder: Path) -> str | None:
    """What keeps a folder from being a usable checkpoint; None when nothing does."""
    try:
        require(folder)
    except ModelError as error:
        return str(error)
    return None


def download(hub_id: str, notify: Callable[[str], None]) -> Path:
    """Fetch a checkpoint from the hub, going on where an earlier try stopped. Raises ModelNotFound with the reason."""
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.errors import (
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
    )

    if constants.HF_HUB_OFFLINE:
        raise ModelNotFound(f"{hub_id} is not in the local cache, and HF_HUB_OFFLINE forbids fetching it")
    notify(f"fetching {hub_id} from the hub; interrupted, the same command goes on where it stopped")
    try:
        return Path(snapshot_download(hub_id, allow_patterns=WANTED_FILES))
    except RepositoryNotFoundError as error:
        raise ModelNotFound(f"the hub has no model {hub_id}, or it wants a login (`hf auth login`)") from error
    except HFValidationError as error:
        raise ModelNotFound(f"{quoted(hub_id)} is neither a folder nor a model id like {FULL_MODEL}") from error
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise ModelNotFound(f"can't fetch {hub_id}: {reason_of(error, first_line=True)}") from error
    except RuntimeError as error:
        raise ModelNotFound(f"can't fetch {hub_id}: {error} Name a folder for it in HF_HOME") from error


def fetch(hub_id: str, notify: Callable[[str], None]) -> Path:
    """The folder of a whole checkpoint from the hub, fetched only where it is not here. Raises ModelError."""
    folder = cached_folder(hub_id)
    if folder is None or defect(folder):
        folder = download(hub_id, notify)
    require(folder)
    return folder


def _named(name: str, origin: str, notify: Callable[[str], None]) -> ResolvedModel:
    try:
        path = located(Path(name).expanduser())
    except RuntimeError:  # ~ without a home, ~name of nobody
        raise ModelNotFound(f"{origin}: {name}: there is no such home folder") from None
    if os.path.isdir(path):
        folder = path
    elif HUB_ID.fullmatch(name) and not os.path.exists(path):
        cached = cached_folder(name)
        if cached is None or defect(cached):
            cached = download(name, notify)
        folder = cached
    else:
        what = "is a file; a model is a folder" if os.path.exists(path) else "is not there"
        raise ModelNotFound(f"{origin}: {name} {what} (or name a model id like {FULL_MODEL})")
    require(folder)
    return ResolvedModel(folder, name)


WHOLE = 1 << 30  # bytes of a model's file that is read from end to end; of a larger one a block in each stride is


BLOCK = 1 << 20


STRIDE = 1 << 24


def local_folder(name: str, origin: str) -> Path:
    """The folder of a named checkpoint that is here and whole. Nothing is fetched. Raises ModelError."""
    if HUB_ID.fullmatch(name) and not os.path.exists(name):
        folder = cached_folder(name)
        if folder is None:
            raise ModelNotFound(f"{name} is not in the local cache; `voxcpm2 download {name}` fetches it")
        require(folder)
        return folder
    return _named(name, origin, lambda remark: None).folder


def model_identity(folders: Iterable[Path], *, former: bool = False) -> str:
    """A digest of a checkpoint (and of what is merged into it): names, sizes and content.

    A copy of a folder is the same model, so times do not count; what is not a regular file does not either. Of a file
    above WHOLE only the blocks at every STRIDE and its end are read: a change that lies between them altogether is not
    noticed. former: by the rule of before, which took in files that are not read.

    Raises ModelNotFound for a folder that is not there, CheckpointError for a file that can't be read.
    """
    digest = hashlib.sha256()
    for folder in folders:
        if not os.path.isdir(folder):
            raise ModelNotFound(f"{folder}: there is no such folder")
        try:
            _add_content(digest, folder, former)
        except OSError as error:
            raise CheckpointError(f"{error.filename or folder}: can't be read ({error.strerror or error})") from error
    return digest.hexdigest()[:DIGEST_DIGITS]


def _add_content(digest: hashlib._Hash, folder: Path, former: bool) -> None:
    from voxcli.model.folder import (
        ADAPTER_FILES,
        MODEL_FILES,
        VAE_FILES,
    )  # brings pydantic, which `--help` does without

    alternatives = (MODEL_FILES, VAE_FILES, ADAPTER_FILES)  # of each pair the first that is there is read
    spoken = {"config.json", "tokenizer.json", "lora_config.json", *(name for pair in alternatives for name in pair)}
    kinds = (".json", ".safetensors", ".bin", ".pth", ".ckpt")
    present = [
        path
        for path in sorted(folder.iterdir())
        if (path.suffix in kinds if former else path.name in spoken) and os.path.isfile(path)
    ]
    names = {path.name for path in present}
    for path in present:
        if not former and any(path.name == second and first in names for first, second in alternatives):
            continue  # never read beside the other
        size = path.stat().st_size
        digest.update(f"{path.name} {size}\n".encode())
        with open_regular(path) as file:
            for place in [*range(0, size, BLOCK if size <= WHOLE else STRIDE), max(0, size - BLOCK)]:
                file.seek(place)
                digest.update(file.read(BLOCK))
