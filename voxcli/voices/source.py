"""Sources of a line's voices, and encoded voices. Torch is not imported here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from voxcli.audio.read import Recording, read_voice
from voxcli.errors import AudioError, quoted
from voxcli.voices.store import SUFFIX, Latents, read_info, read_latents, read_recording

Use = Literal["reference", "prompt"]
Padding = Literal["right", "left"]
AGAIN = "its recording was encoded again for this model"
PADDING: dict[Use, Padding] = {"reference": "right", "prompt": "left"}  # of a recording before it is encoded


@dataclass(frozen=True)
class VoiceSource:
    """A voice file and its use: a recording as a reference or as a prompt to continue, or a named voice."""

    path: Path
    use: Literal["reference", "prompt", "named"]


class Encode(Protocol):
    """`Engine.encode_voice`."""

    def __call__(self, samples: np.ndarray, *, key: str, padding: Padding) -> Any: ...


@dataclass(frozen=True, eq=False)
class ReadVoice:
    """A voice that is to be encoded. uses: of the recording."""

    recording: Recording
    uses: tuple[Use, ...]

    def encoded(self, encode: Encode) -> EncodedVoice:
        """Encode it. Raises what the engine raises."""
        samples, key = self.recording.samples, self.recording.sha256
        latents = {use: encode(samples, key=key, padding=PADDING[use]).numpy() for use in self.uses}
        return EncodedVoice(latents.get("reference"), latents.get("prompt"), self.recording.notes)


@dataclass(frozen=True, eq=False)
class EncodedVoice:
    """A voice encoded for the model: float32[patches, patch_size, feat_dim] on the CPU.

    reference: latents of a recording of the voice.
    prompt:    latents of a recording that is continued.
    notes:     how the recordings were converted, one phrase each.
    """

    reference: Latents | None = None
    prompt: Latents | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of_parts(cls, parts: Sequence[EncodedVoice]) -> EncodedVoice:
        """Combine the encoded sources of a job into its voice."""
        return cls(
            reference=next((part.reference for part in parts if part.reference is not None), None),
            prompt=next((part.prompt for part in parts if part.prompt is not None), None),
            notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        )

    def copied(self) -> EncodedVoice:
        """Return a copy in its own memory: latents in a shared object store are read-only."""

        def copy(latents: Latents | None) -> Latents | None:
            return None if latents is None else latents.copy()

        return EncodedVoice(copy(self.reference), copy(self.prompt), self.notes)


class Voiced(Protocol):
    """Interface of a job with voices. Each voice is a path, or None."""

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


def read_source(source: VoiceSource, rate: int, encoder: Callable[[], str]) -> EncodedVoice | ReadVoice:
    """Read a voice.

    rate:    sample rate of the model's voice encoder in Hz.
    encoder: returns the identity of that encoder.

    Raises AudioError when the recording can't be used, InputError when the file of a named voice is damaged.
    """
    if source.use == "named":
        return _read_named(source.path, rate, encoder())
    return ReadVoice(read_voice(source.path, rate), (source.use,))


def read_recording_of(voice: Path, rate: int) -> Recording | None:
    """Read the recording of a voice at `rate` Hz: an audio file, or what the file of a named voice keeps of it.

    Returns None for a named voice of an earlier version. Raises AudioError or InputError if the file can't be read.
    """
    if voice.suffix != SUFFIX:
        return read_voice(voice, rate)
    content = read_recording(voice)
    return None if content is None else read_voice(voice, rate, content=content)


def _read_named(path: Path, rate: int, encoder: str) -> EncodedVoice | ReadVoice:
    """Read a named voice: its latents, or for another encoder its recording."""
    info = read_info(path)
    if info.encoder == encoder:
        latents = read_latents(path)
        return EncodedVoice(latents.get("reference"), latents.get("prompt"), info.notes)
    content = read_recording(path)
    if content is None:
        raise AudioError(
            f"the voice {quoted(path.stem)} was made with another model; create it again from {info.recording} "
            f"with `voxcpm2 voices add {path.stem} --force --ref FILE`, or name its model with --model"
        )
    recording = replace(read_voice(path, rate, content=content), notes=(*info.notes, AGAIN))
    return ReadVoice(recording, ("reference", "prompt") if info.text else ("reference",))
