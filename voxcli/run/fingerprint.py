"""What a file was made from, in a few short digests: by them a later run tells whether it would make the same again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voxcli.files import open_regular
from voxcli.run.settings import Settings

if TYPE_CHECKING:
    from voxcli.run.plan import Utterance

DIGITS = 16  # of a digest as kept: 64 bits
WHOLE = 1 << 30  # bytes of a model's file that is read from end to end; of a larger one a block in each stride is
BLOCK = 1 << 20
STRIDE = 1 << 24
# They act on the text as it is spoken, which has a digest of its own; the seed stands apart.
NOT_OF_THE_SOUND = ("seed", "max_chars", "normalize")


@dataclass(frozen=True)
class Fingerprint:
    """Digests and values of one job. Where it runs (device, dtype, neighbours) is not part of it.

    text:     the pieces as they are spoken, their pauses, and the words of a recording that is continued.
    voice:    the content of the recordings; None without one.
    settings: those that were named and shape the sound.
    model:    the checkpoint's content; None while it is not known.
    seed:     the one asked for; None when it was drawn.
    """

    text: str
    voice: str | None
    settings: dict[str, Any] = field(hash=False)
    model: str | None
    seed: int | None

    def difference(self, before: Fingerprint, spoken_seed: int | None) -> str | None:
        """What changed since `before`, whose sound came from `spoken_seed`; None when nothing did.

        A line that asks for no seed is content with any; so is one that asks for the seed once drawn for it.
        """
        for name in ("text", "voice", "settings"):
            if getattr(self, name) != getattr(before, name):
                return name
        if self.model not in (None, before.model):
            return "model"
        return "seed" if self.seed is not None and self.seed not in (before.seed, spoken_seed) else None


class Fingerprints:
    """Makes the fingerprints of one run; reads each recording once."""

    def __init__(self, model: str | None):
        self.model = model
        self._contents: dict[Path, str] = {}

    def of(self, utterance: Utterance) -> Fingerprint:
        job = utterance.job
        parts = (job.ref, job.prompt_audio, job.voice)
        return Fingerprint(
            text=_digest([utterance.prompt_text, *([piece.text, piece.pause_s] for piece in utterance.pieces)]),
            voice=_digest([path and self._content(path) for path in parts]) if any(parts) else None,
            settings=_named(job.settings) | {"format": job.format},
            model=self.model,
            seed=job.settings.seed,
        )

    def _content(self, path: Path) -> str:
        if path not in self._contents:
            try:
                self._contents[path] = content_digest(path)
            except OSError:
                self._contents[path] = ""  # gone since it was looked at: its lines will fail and say so
        return self._contents[path]


def read_fingerprint(value: object) -> Fingerprint | None:
    """A fingerprint as results.jsonl has it; None for what is not one, or is from another version."""
    names = Fingerprint.__dataclass_fields__.keys()
    return Fingerprint(**value) if isinstance(value, dict) and value.keys() == names else None


def model_identity(folders: Iterable[Path]) -> str:
    """A digest of a checkpoint (and of what is merged into it): names, sizes and content.

    A copy of a folder is the same model, so times do not count; what is not a regular file does not either. Of a file
    above WHOLE only the blocks at every STRIDE and its end are read: a change that lies between them altogether is not
    noticed.
    """
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.iterdir()):
            if path.suffix not in (".json", ".safetensors", ".bin", ".pth", ".ckpt") or not path.is_file():
                continue
            size = path.stat().st_size
            digest.update(f"{path.name} {size}\n".encode())
            with open_regular(path) as file:
                for place in [*range(0, size, BLOCK if size <= WHOLE else STRIDE), max(0, size - BLOCK)]:
                    file.seek(place)
                    digest.update(file.read(BLOCK))
    return digest.hexdigest()[:DIGITS]


def content_digest(path: Path) -> str:
    """SHA-256 of a file, in hex. Raises OSError, also for what is not a regular file."""
    digest = hashlib.sha256()
    with open_regular(path) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _named(settings: Settings) -> dict[str, Any]:
    values = asdict(settings).items()
    return {name: value for name, value in values if value is not None and name not in NOT_OF_THE_SOUND}


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=False).encode()).hexdigest()[:DIGITS]
