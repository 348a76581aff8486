"""Where the voices of a line come from: files, and what is taken from each. No torch here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from voxcli.errors import AudioError, quoted
from voxcli.voices.store import Latents, read_info, read_latents


@dataclass(frozen=True)
class VoiceSource:
    """A file and what is taken from it: a recording to speak like or to go on from, or a named voice."""

    path: Path
    use: Literal["reference", "prompt", "named"]


@dataclass(frozen=True, eq=False)
class EncodedVoice:
    """A voice as the model takes it: float32[patches, patch_size, feat_dim], on the CPU.

    reference: of a recording to speak like.  prompt: of a recording that is continued.
    notes:     what was done to the recordings, one phrase each.
    """

    reference: Latents | None = None
    prompt: Latents | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of_parts(cls, parts: Sequence[EncodedVoice]) -> EncodedVoice:
        """The voice of a job, from what each of its sources gives."""
        return cls(
            reference=next((part.reference for part in parts if part.reference is not None), None),
            prompt=next((part.prompt for part in parts if part.prompt is not None), None),
            notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        )

    def copied(self) -> EncodedVoice:
        """One that shares no memory with this: what lies in a shared store can't be written to."""

        def copy(latents: Latents | None) -> Latents | None:
            return None if latents is None else latents.copy()

        return EncodedVoice(copy(self.reference), copy(self.prompt), self.notes)


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


def sources_of(job: Voiced) -> Iterator[VoiceSource]:
    if job.voice is not None:
        yield VoiceSource(job.voice, "named")
    if job.ref is not None:
        yield VoiceSource(job.ref, "reference")
    if job.prompt_audio is not None:
        yield VoiceSource(job.prompt_audio, "prompt")


def read_named(path: Path, encoder: str) -> EncodedVoice:
    """A named voice, from its file.

    encoder: identity of the model's voice encoder, which it must have been made with. Raises AudioError, InputError.
    """
    info = read_info(path)
    if info.encoder != encoder:
        raise AudioError(
            f"the voice {quoted(path.stem)} was made with another model; make it anew from {info.recording} "
            f"with `voxcpm2 voices add {path.stem} --force --ref FILE`, or name its model with --model"
        )
    latents = read_latents(path)
    return EncodedVoice(latents.get("reference"), latents.get("prompt"), info.notes)
