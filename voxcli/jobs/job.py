"""What a person asked for: one command or one line of a manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from voxcli.audio.formats import rates_of
from voxcli.errors import InputError
from voxcli.jobs.settings import DEFAULTS, MAX_PAUSE, PAUSE_AFTER, Settings
from voxcli.terminal import printable
from voxcli.text.lexicon import Lexicon


@dataclass(frozen=True)
class Job:
    """One text to speak into one file.

    id:            unique in its run; what the results and messages call it.
    text:          as given; cleaning comes later and the results keep this.
    out:           the file to write, and its format by name (`voxcli.audio.formats.FORMATS`).
    ref:           a recording whose voice is to speak.
    prompt_audio:  a recording to go on from, with `prompt_text`, the words spoken in it.
    control:       a description of the voice or the manner ("warm, slow").
    voice:         the file of a named voice (`voxcli.voices.store`).
    lexicon:       how words of the text are said.
    pause_after:   seconds of silence after it where a batch is joined to one file.
    line:          where it stands in its manifest, from 1; 0 without one.
    numbered:      its line has no id: it is the number of a place, see `voxcli.run.numbers`.
    extra:         what its line holds besides, as it is there; results give it back.
    """

    id: str
    text: str
    out: Path
    format: str = "wav"
    ref: Path | None = None
    prompt_audio: Path | None = None
    prompt_text: str | None = None
    control: str | None = None
    voice: Path | None = None
    settings: Settings = DEFAULTS
    lexicon: Lexicon | None = None
    pause_after: float = PAUSE_AFTER
    line: int = 0
    numbered: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.prompt_audio is not None and not self.prompt_text:
            raise InputError("prompt_audio needs prompt_text, the words spoken in it")
        if self.prompt_text and self.prompt_audio is None:
            raise InputError("prompt_text needs prompt_audio, the recording it is spoken in")
        if self.control and self.prompt_audio is not None:
            raise InputError("control and prompt_audio exclude each other: a voice is described or continued, not both")
        if self.voice is not None and len(self.voices) > 1:
            raise InputError("voice excludes ref and prompt_audio: a named voice is made of a recording already")
        if not 0 <= self.pause_after <= MAX_PAUSE:
            raise InputError(f"pause_after must be from 0 to {MAX_PAUSE:g} seconds, not {self.pause_after}")
        rate = self.settings.sample_rate
        if rate is not None and (rates := rates_of(self.format)) and rate not in rates:
            raise InputError(f"format {self.format} knows the sample rates {', '.join(map(str, rates))}, not {rate}")

    @property
    def voices(self) -> tuple[Path, ...]:
        """The files that its voice comes from."""
        return tuple(filter(None, (self.voice, self.ref, self.prompt_audio)))

    def __str__(self) -> str:
        return f"line {self.line} ({printable(self.id)})" if self.line else printable(self.id)


def request_id(job: Job, segment: int) -> str:
    """What the engine calls one piece of a job."""
    return f"{job.id}#{segment}"


def job_id(request_id: str) -> str:
    """The id of the job that a request is a piece of."""
    return request_id.rpartition("#")[0]
