"""What a person asked for: one command or one line of a manifest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from voxcli.audio.write import rates_of
from voxcli.errors import InputError
from voxcli.run.settings import DEFAULTS, Settings


@dataclass(frozen=True)
class Job:
    """One text to speak into one file.

    id:            unique in its run; what the results and messages call it.
    text:          as given; cleaning comes later and the results keep this.
    out:           the file to write, and its format by name (`voxcli.audio.write.FORMATS`).
    ref:           a recording whose voice is to speak.
    prompt_audio:  a recording to go on from, with `prompt_text`, the words spoken in it.
    control:       a description of the voice or the manner ("warm, slow").
    line:          where it stands in its manifest, from 1; 0 without one.
    """

    id: str
    text: str
    out: Path
    format: str = "wav"
    ref: Path | None = None
    prompt_audio: Path | None = None
    prompt_text: str | None = None
    control: str | None = None
    settings: Settings = DEFAULTS
    line: int = 0

    def __post_init__(self) -> None:
        if self.prompt_audio is not None and not self.prompt_text:
            raise InputError("prompt_audio needs prompt_text, the words spoken in it")
        if self.prompt_text and self.prompt_audio is None:
            raise InputError("prompt_text needs prompt_audio, the recording it is spoken in")
        if self.control and self.prompt_audio is not None:
            raise InputError("control and prompt_audio exclude each other: a voice is described or continued, not both")
        rate, rates = self.settings.sample_rate, rates_of(self.format)
        if rate is not None and rates and rate not in rates:
            raise InputError(f"format {self.format} knows the sample rates {', '.join(map(str, rates))}, not {rate}")

    @property
    def voices(self) -> tuple[Path, ...]:
        """The recordings it needs."""
        return tuple(path for path in (self.ref, self.prompt_audio) if path is not None)

    def __str__(self) -> str:
        return f"line {self.line} ({self.id})" if self.line else self.id


def request_id(job: Job, piece: int) -> str:
    """What the engine calls one piece of a job."""
    return f"{job.id}#{piece}"


def job_id(request_id: str) -> str:
    """The id of the job that a request is a piece of."""
    return request_id.rpartition("#")[0]
