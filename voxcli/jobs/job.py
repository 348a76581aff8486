"""A job: what one command or one line of a manifest asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voxcli.audio.formats import only_rate, rates_of
from voxcli.errors import InputError
from voxcli.jobs.settings import DEFAULTS, MAX_PAUSE, PAUSE_AFTER, Settings
from voxcli.terminal import printable

if TYPE_CHECKING:
    from voxcli.text.lexicon import Lexicon  # imports the expressions that clean texts

MAX_TAKES = 99


@dataclass(frozen=True)
class Job:
    """One text to speak into one file.

    id:            unique within the run; used in results and messages.
    text:          the text as given, before cleaning; recorded in the results.
    out:           the file to write.
    format:        name of its format (`voxcli.audio.formats.FORMATS`).
    ref:           a recording of the voice to speak with.
    prompt_audio:  a recording to continue.
    prompt_text:   the words spoken in prompt_audio.
    control:       a description of the voice or the manner ("warm, slow").
    voice:         the file of a named voice (`voxcli.voices.store`).
    settings:      how it is spoken and written.
    lexicon:       pronunciations of words in the text.
    pause_after:   seconds of silence after it in a joined file.
    tags:          of its file, by name: see `voxcli.jobs.tags`.
    around_id:     what stands before and after the id in the path of its file, if that is of a template.
    line:          line number in the manifest, from 1; 0 without a manifest.
    character:     of a cast, who speaks the line; empty without one.
    numbered:      the line has no id, and `id` is a number: see `voxcli.run.numbers`.
    take:          which take of the text this is, from 1: see `voxcli.jobs.takes`.
    takes:         how many takes were asked for.
    extra:         further fields of the line, copied to the results.
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
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)
    around_id: tuple[str, str] | None = None
    line: int = 0
    character: str = ""
    numbered: bool = False
    take: int = 1
    takes: int = 1
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.prompt_audio is not None and not self.prompt_text:
            raise InputError("prompt_audio needs prompt_text, the words spoken in it")
        if self.prompt_text and self.prompt_audio is None:
            raise InputError("prompt_text needs prompt_audio, the recording it is spoken in")
        if self.control and self.prompt_audio is not None:
            raise InputError("control and prompt_audio exclude each other: a voice is described or continued, not both")
        if self.voice is not None and len(self.voices) > 1:
            raise InputError("voice excludes ref and prompt_audio: a named voice already contains a recording")
        if not 0 <= self.pause_after <= MAX_PAUSE:
            raise InputError(f"pause_after must be from 0 to {MAX_PAUSE:g} seconds, not {self.pause_after}")
        if not 1 <= self.takes <= MAX_TAKES:
            raise InputError(f"takes must be from 1 to {MAX_TAKES}, not {self.takes}")
        rate = self.settings.sample_rate
        if rate is not None and (rates := rates_of(self.format)) and rate not in rates:
            raise InputError(f"format {self.format} supports the sample rates {', '.join(map(str, rates))}, not {rate}")

    @property
    def voices(self) -> tuple[Path, ...]:
        """The files of its voice."""
        return tuple(filter(None, (self.voice, self.ref, self.prompt_audio)))

    @property
    def sample_rate(self) -> int | None:
        """The sample rate of its file in Hz; None: the model's own."""
        return self.settings.sample_rate or only_rate(self.format)

    @property
    def key(self) -> str:
        """Identifies the take within a run and in the results of earlier runs."""
        return take_key(self.id, self.take)

    @property
    def recorded_take(self) -> int | None:
        """The number of the take as results have it; None for the only take of a line."""
        return self.take if max(self.take, self.takes) > 1 else None

    def __str__(self) -> str:
        name = printable(self.id) + (f", take {self.take}" if self.recorded_take else "")
        return f"line {self.line} ({name})" if self.line else name


def take_key(identity: str, take: int | None) -> str:
    """Return the key of a take: the id itself for the first one. No id contains NUL: manifests refuse that."""
    return identity if take in (None, 1) else f"{identity}\0{take}"


def request_id(job: Job, segment: int) -> str:
    """Return the engine's id for one segment of a job."""
    return f"{job.key}#{segment}"


def job_key(request_id: str) -> str:
    """Return the key of the job that a request belongs to."""
    return request_id.rpartition("#")[0]
