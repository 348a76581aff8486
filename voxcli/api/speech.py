"""What a text became: its audio, when its words are heard, and everything known about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from voxcli.api.player import player
from voxcli.audio.write import write_audio
from voxcli.errors import VoxError
from voxcli.files.located import located
from voxcli.files.write import make_folder
from voxcli.jobs.job import Job
from voxcli.jobs.output_paths import format_of
from voxcli.jobs.protected import ProtectedInputs
from voxcli.jobs.result import Cue, Result
from voxcli.terminal import format_duration


@dataclass(frozen=True, eq=False, repr=False)
class Speech:
    """One spoken text. In a notebook it is shown as a player.

    sample_rate: of `audio`, in Hz.
    result:      the fields of results.jsonl: `status`, `duration_s`, `stop_reason`, `voice_notes`, `extra`, ...
    error:       why a row of a batch failed, else None.
    """

    sample_rate: int
    result: Result
    error: VoxError | None = None
    _job: Job = field(kw_only=True)
    _samples: NDArray[np.float32] | None = field(default=None, kw_only=True)
    _inputs: ProtectedInputs = field(default_factory=ProtectedInputs, kw_only=True)

    @property
    def id(self) -> str:
        """The id of a batch's row; its number if it has none."""
        return self.result.id

    @property
    def text(self) -> str:
        """The text as given."""
        return self.result.text

    @property
    def out(self) -> str:
        """The name of the file that `voxcpm2 batch` would write, such as welcome.wav: safe, whatever the id is."""
        return self.result.out

    @property
    def audio(self) -> NDArray[np.float32]:
        """float32[samples], mono, full scale 1; silence for a row without words. Raises its error if it failed."""
        if self.error is not None:
            raise self.error
        assert self._samples is not None, "speech without an error has samples"
        return self._samples

    @property
    def duration_s(self) -> float:
        """Seconds of audio; 0 if it failed."""
        return 0.0 if self._samples is None else len(self._samples) / self.sample_rate

    @property
    def cues(self) -> tuple[Cue, ...]:
        """`(start, end, text)` of each segment, in seconds."""
        return self.result.cues or ()

    @property
    def seed(self) -> int | None:
        """The seed that reproduces the audio; None if there is none."""
        return self.result.seed

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons to listen before using it: cut off, silence, far too long or short, letters not spoken."""
        return self.result.warnings

    def save(self, path: str | PathLike[str], *, format: str | None = None) -> Path:
        """Write the audio to a file, with the bytes that `voxcpm2 synth -o` writes. Returns its path.

        path:   its extension sets the format. Missing folders are created; an existing file is replaced.
        format: for an extension with several formats, such as "wav24"; default: the `format` it was spoken with.

        Raises its own error if it failed, InputError for an unknown format and for the path of an input such as the
        recording of its voice, OutputError when the file can't be written.
        """
        target = located(Path(path))
        kind = format_of(target, format or self._job.settings.format)
        self._inputs.refuse(target)
        samples = self.audio
        make_folder(target.parent)
        write_audio(target, samples, self.sample_rate, format=kind, bitrate=self._job.settings.bitrate)
        return target

    def __repr__(self) -> str:
        if self.error is not None:
            return f"<Speech {self.id!r}, failed: {self.error}>"
        seed = f", seed {self.seed}" if self.seed is not None else ""
        return f"<Speech {self.id!r}, {format_duration(self.duration_s)} at {self.sample_rate} Hz{seed}>"

    def _repr_html_(self) -> str:
        """Return a player for notebooks."""
        if self.error is not None or self._samples is None:
            return player(None, self.sample_rate, self.text, str(self.error))
        seed = f", seed {self.seed}" if self.seed is not None else ""
        note = "; ".join((f"{format_duration(self.duration_s)}{seed}", *self.warnings))
        return player(self._samples, self.sample_rate, self.text, note)
