"""Fingerprints: short digests of what a file was made from. A later run compares them to decide what to speak again."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from voxcli.files.read import DIGEST_DIGITS
from voxcli.jobs.settings import Settings

if TYPE_CHECKING:
    pass

# These settings act through the spoken text, which has its own digest; the seed is a separate field.
NOT_OF_THE_SOUND = ("seed", "max_chars", "normalize", "language", "descriptions")
# Settings that came later, with the value that made all results from before: a fingerprint without one has that value.
SINCE = {"solver": "euler"}


@dataclass(frozen=True)
class Fingerprint:
    """Digests and values of one job. Device, dtype and batch neighbours are not part of it.

    text:     digest of the segments as spoken, their pauses, and the words of a prompt recording.
    voice:    digest of the voice files' content; None without one.
    settings: settings that affect the audio, without those that are None.
    model:    digest of the checkpoint's content; None if it is unknown.
    seed:     the requested seed; None if it was drawn.
    """

    text: str
    voice: str | None
    settings: dict[str, Any] = field(hash=False)
    model: str | None
    seed: int | None

    def difference(self, before: Fingerprint, spoken_seed: int | None) -> str | None:
        """Name the part that differs from an earlier fingerprint; None if none does.

        spoken_seed: the seed that produced the earlier audio. A line without a seed accepts any seed. A line with a
                     seed accepts audio made with it, even if it was drawn then.
        """
        for name in ("text", "voice", "settings"):
            if getattr(self, name) != getattr(before, name):
                return name
        if self.model not in (None, before.model):
            return "model"
        return "seed" if self.seed is not None and self.seed not in (before.seed, spoken_seed) else None


def read_fingerprint(value: object) -> Fingerprint | None:
    """Parse a fingerprint of results.jsonl. Returns None if it is not one or is of another version."""
    names = Fingerprint.__dataclass_fields__.keys()
    return Fingerprint(**value) if isinstance(value, dict) and value.keys() == names else None


def _named(settings: Settings) -> dict[str, Any]:
    values = asdict(settings).items()
    return {name: value for name, value in values if value is not None and not _is_unnamed(name, value)}


def _is_unnamed(name: str, value: Any) -> bool:
    return name in NOT_OF_THE_SOUND or (name in SINCE and value == SINCE[name])


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=False).encode()).hexdigest()[:DIGEST_DIGITS]
