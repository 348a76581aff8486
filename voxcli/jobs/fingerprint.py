"""What a file was made from, in a few short digests: by them a later run tells whether it would make the same again."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from voxcli.files.read import DIGEST_DIGITS
from voxcli.jobs.settings import Settings

if TYPE_CHECKING:
    pass

# They act on the text as it is spoken, which has a digest of its own; the seed stands apart.
NOT_OF_THE_SOUND = ("seed", "max_chars", "normalize", "language", "descriptions")


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


def read_fingerprint(value: object) -> Fingerprint | None:
    """A fingerprint as results.jsonl has it; None for what is not one, or is from another version."""
    names = Fingerprint.__dataclass_fields__.keys()
    return Fingerprint(**value) if isinstance(value, dict) and value.keys() == names else None


def _named(settings: Settings) -> dict[str, Any]:
    values = asdict(settings).items()
    return {name: value for name, value in values if value is not None and name not in NOT_OF_THE_SOUND}


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=False).encode()).hexdigest()[:DIGEST_DIGITS]
