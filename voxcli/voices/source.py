"""Where the voices of a line come from: files, and what is taken from each. No torch here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from voxcli.errors import AudioError
from voxcli.voices.store import Latents, read_info, read_latents


@dataclass(frozen=True)
class Source:
    """A file and what is taken from it: a recording to speak like or to go on from, or a named voice."""

    path: Path
    use: Literal["reference", "prompt", "named"]


class Voiced(Protocol):
    """What speaks in voices: a job. Each is the path of a file; None where it names none."""

    @property
    def id(self) -> str: ...
    @property
    def voice(self) -> Path | None: ...
    @property
    def ref(self) -> Path | None: ...
    @property
    def prompt_audio(self) -> Path | None: ...


def sources_of(job: Voiced) -> Iterator[Source]:
    if job.voice is not None:
        yield Source(job.voice, "named")
    if job.ref is not None:
        yield Source(job.ref, "reference")
    if job.prompt_audio is not None:
        yield Source(job.prompt_audio, "prompt")


def read_named(path: Path, encoder: str) -> tuple[dict[str, Latents], tuple[str, ...]]:
    """`reference` and perhaps `prompt`, [patches, patch_size, feat_dim] each, of a named voice, and its notes.

    encoder: identity of the model's voice encoder, which it must have been made with. Raises AudioError, InputError.
    """
    info = read_info(path)
    if info.encoder != encoder:
        raise AudioError(
            f"the voice {path.stem!r} was made with another model; make it anew from {info.recording} "
            f"with `voxcpm2 voices add {path.stem} --force --ref FILE`, or name its model with --model"
        )
    return read_latents(path), info.notes
