"""Options of the check: the recognizer, the limits, and how often a line is spoken again. Nothing slow is imported."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MAX_RETRIES", "RETRIES", "CheckOptions"]

RETRIES = 2  # with a share of p bad takes, p^3 of the lines stay doubtful
MAX_RETRIES = 20


@dataclass(frozen=True)
class CheckOptions:
    """How files are checked.

    model:          name or folder of a faster-whisper model; None: see `voxcli.check.models`.
    max_wer:        maximum word error rate of a line; None: by the length of its text.
    min_similarity: minimum similarity to the recording of its voice; None: the default.
    retries:        how often a line beyond the limits is spoken again.
    device:         `cpu` or `cuda`.
    """

    model: str | None = None
    max_wer: float | None = None
    min_similarity: float | None = None
    retries: int = RETRIES
    device: str = "cpu"
