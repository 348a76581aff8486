"""A loaded model that speaks: what the commands do, for programs."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing, nullcontext
from dataclasses import replace
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType

import numpy as np
from typing_extensions import Unpack

from voxcli.api.options import SpeechOptions, many_jobs, one_job, voices_in
from voxcli.api.session import MemorySession
from voxcli.api.shared import SharedEngine
from voxcli.api.speech import Speech
from voxcli.api.stream import SpeechStream
from voxcli.api.voice import Voice
from voxcli.audio.read import check_voice
from voxcli.check.checker import Checker
from voxcli.check.options import CheckOptions
from voxcli.engine.load import LoadedEngine, ModelOptions
from voxcli.errors import InputError
from voxcli.files.located import located
from voxcli.jobs.history import Earlier
from voxcli.jobs.plan import NOTHING_TO_SPEAK, Plan, Utterance, make_plan
from voxcli.jobs.protected import ProtectedInputs
from voxcli.jobs.rerun import CHANGED
from voxcli.jobs.result import Outcome, failure, skipped
from voxcli.jobs.samevoice import SameVoice
from voxcli.jobs.settings import WHOLE, Settings
from voxcli.jobs.sharedvoices import SharedVoices
from voxcli.jobs.speaker import speaker_of
from voxcli.jobs.takes import takes_of
from voxcli.text.clean import clean, is_speakable
from voxcli.voices.add import encode_voice
from voxcli.voices.prefetch import VoicePrefetcher
from voxcli.voices.spoken import SpokenVoice

Notify = Callable[[str], None]


class TTS:
    """A loaded model, from `voxcli.load`. Use it as a context manager, or `close` it, to free its memory.

    May be used by several threads: a call waits until those of other threads are done. A batch or stream counts as a
    call from its first item until it ends or is closed; another call of the same thread meanwhile raises InputError.

    name:        of the model, with device and dtype.
    sample_rate: of its audio, in Hz.
    """

    name: str
    sample_rate: int

    def __init__(self, loaded: LoadedEngine, options: ModelOptions, settings: Settings, notify: Notify):
        """settings: hold for calls that do not override them. notify: receives messages for people."""
        self.name = loaded.name
        self.sample_rate = loaded.engine.model.sample_rate
        self._shared = SharedEngine(loaded, notify)
        self._settings = settings
        self._notify = notify
        self._speaker = speaker_of(options.model)
        self._folders = {"the model": loaded.folder, "the LoRA": options.lora}

    def speak(self, text: str, *, check: bool | CheckOptions = False, **options: Unpack[SpeechOptions]) -> Speech:
        """Speak a text of any length. The audio is that of `voxcpm2 synth` with the same options.

        check:   listen to it, and speak it again if it is doubtful, as `voxcpm2 batch --check` does. If no take passes,
                 `result.status` is "doubtful" and `result.reason` says why.
        options: see `SpeechOptions`: voice="anna", ref="voice.wav", seed=7, steps=16, ...

        Raises InputError for a text, a voice or an option that can't be used, MissingExtra for a check without its
        packages, and other VoxErrors when synthesis fails.
        """
        checker = self._checker(check)
        plan, inputs = self._planned(text, options)
        with closing(self._spoken(plan, inputs, checker)) as spoken:
            (speech,) = spoken
        if speech.error is not None:
            raise speech.error
        if speech.result.doubtful:
            self._notify(f"doubtful: {speech.result.reason}")
        for warning in speech.warnings:
            self._notify(warning)
        return speech

    def stream(self, text: str, **options: Unpack[SpeechOptions]) -> SpeechStream:
        """Speak a text and return its audio block by block while it is generated.

        options: those of `speak`, without `format`, `level` and `loudness`, which need the whole audio.

        Raises InputError for a text, a voice or an option that can't be used.
        """
        plan, _ = self._planned(text, options)
        (utterance,) = plan.utterances
        for name in ("format", *WHOLE):
            if getattr(utterance.job.settings, name) is not None:
                raise InputError(f"{name} needs the whole audio: use speak()")
        for warning in utterance.warnings:
            self._notify(warning)
        rate = utterance.job.settings.sample_rate or self.sample_rate
        return SpeechStream(self._shared, utterance, rate, self._notify, keep=options)

    def batch(
        self,
        rows: Iterable[str | Mapping[str, object]],
        *,
        check: bool | CheckOptions = False,
        same_voice: bool = False,
        voice_seed: int | None = None,
        **options: Unpack[SpeechOptions],
    ) -> Generator[Speech, None, None]:
        """Speak many texts at once and yield each as it finishes, in any order.

        rows:       lines as in a manifest, {"id": "a", "text": "One."}, or plain texts. All are read and checked first.
                    Paths are relative to the current folder.
        check:      listen to each text, and speak it again if it is doubtful, see `speak`.
        same_voice: rows without a voice share one, as with `voxcpm2 batch --same-voice`.
        voice_seed: the seed of that voice; implies `same_voice`.
        options:    for rows that say nothing themselves, see `SpeechOptions`.

        A row that can't be spoken comes with its `error`, and the others go on. A row without words comes as the
        silence that it stands for. Closing the generator, or dropping it, ends the synthesis.

        Raises ManifestError, with a problem for each malformed row, before anything is spoken.
        """
        checker = self._checker(check)
        inputs = self._inputs()
        rows = list(rows)
        manifest = many_jobs(rows, options, self._settings, inputs)
        plan = make_plan(manifest.jobs, self._speaker)
        plan.same_voice = SameVoice(same_voice or voice_seed is not None, seed=voice_seed)
        for note in (*manifest.notes, *plan.notes, *plan.warnings):
            self._notify(note)
        return self._shared.opened(self._batch(plan, inputs, checker, list(voices_in([*rows, options]))))

    def voice(self, recording: str | PathLike[str], *, text: str | None = None) -> Voice:
        """Encode a recording of a voice, 1 to 60 seconds of speech, to speak with it many times.

        text: the words of the recording. With them, speech continues the recording, unless it has a description.

        Raises InputError when the recording or the text can't be used.
        """
        path = located(Path(recording))
        words = clean(text) if text is not None else ""
        if text is not None and not is_speakable(words):
            raise InputError("text has no letter and no digit: give the words of the recording")
        check_voice(path)
        voice = Voice(path)
        with self._shared.use() as loaded:
            voice.info = encode_voice(loaded.engine, self._shared.encoder(), path, words, voice.path).info
        if voice.info.notes:
            self._notify(f"{path}: {', '.join(voice.info.notes)}")
        return voice

    def close(self) -> None:
        """Free the memory of the model. Ends this thread's open batch or stream; waits for calls of other threads."""
        self._shared.close()

    def __enter__(self) -> TTS:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<TTS {self.name}>"

    def _inputs(self) -> ProtectedInputs:
        """Return what `save` must not overwrite; the files of the voices are added later."""
        inputs = ProtectedInputs()
        for what, folder in self._folders.items():
            if folder is not None:
                inputs.add_folder(folder, what)
        return inputs

    def _planned(self, text: str, options: SpeechOptions) -> tuple[Plan, ProtectedInputs]:
        """Plan one text. Raises InputError when it can't be spoken."""
        inputs = self._inputs()
        plan = make_plan([one_job(text, options, self._settings, inputs)], self._speaker)
        for _, error in plan.refused:
            raise error
        if plan.skipped:
            raise InputError(NOTHING_TO_SPEAK)
        for note in plan.notes:
            self._notify(note)
        return plan, inputs

    def _checker(self, check: bool | CheckOptions) -> Checker | None:
        options = CheckOptions() if check is True else check or None
        return None if options is None else Checker(options, self._notify)

    def _batch(
        self, plan: Plan, inputs: ProtectedInputs, checker: Checker | None, keep: list[Voice]
    ) -> Generator[Speech, None, None]:
        """keep: voices whose files are needed until the end."""
        for job, error in plan.refused:
            yield self._failed(failure(job, error, Path()))
        for job, pause_s in plan.skipped:
            rate = job.sample_rate or self.sample_rate
            silence = np.zeros(round(pause_s * rate), np.float32)
            result = skipped(job, pause_s, Path()).result
            yield Speech(rate, result, _job=job, _samples=silence, _inputs=inputs)
        if plan.utterances:
            yield from self._spoken(plan, inputs, checker)

    def _spoken(self, plan: Plan, inputs: ProtectedInputs, checker: Checker | None) -> Generator[Speech, None, None]:
        with self._shared.use() as loaded, checker or nullcontext(), TemporaryDirectory(prefix="voxcpm2-") as folder:
            if checker is not None:
                checker.wait()
            utterances = self._in_one_voice(plan, loaded, Path(folder)) if plan.same_voice.wanted else plan.utterances
            session = self._session(loaded, list(takes_of(utterances)), checker)
            with closing(session.run()) as outcomes:
                for outcome in outcomes:
                    found = session.audio.pop(outcome.job.key, None)
                    if found is None:
                        yield self._failed(outcome)
                    else:
                        yield Speech(
                            found.rate, outcome.result, _job=outcome.job, _samples=found.samples, _inputs=inputs
                        )
                    self._shared.resumed()

    def _in_one_voice(self, plan: Plan, loaded: LoadedEngine, folder: Path) -> list[Utterance]:
        """Draw the voices of rows without one. Returns the utterances with them; their files are in `folder`."""
        voices = SharedVoices(plan, Earlier(folder, {}), CHANGED)
        while leaders := voices.leaders():
            spoken: dict[str, SpokenVoice] = {}
            session = self._session(loaded, leaders)
            session.keep_voice = spoken.__setitem__
            for outcome in session.run():
                voices.take(outcome, spoken.get(outcome.job.id), self._shared.encoder)
        return [replace(utterance, shared_voice=None) for utterance in voices.voiced()]

    def _session(
        self, loaded: LoadedEngine, utterances: list[Utterance], checker: Checker | None = None
    ) -> MemorySession:
        jobs = [utterance.job for utterance in utterances]
        voices = VoicePrefetcher(loaded.engine, jobs, encoder=self._shared.encoder, notify=self._notify)
        return MemorySession(loaded.engine, utterances, voices, self._notify, checker)

    def _failed(self, outcome: Outcome) -> Speech:
        rate = outcome.job.sample_rate or self.sample_rate
        return Speech(rate, outcome.result, outcome.error, _job=outcome.job)
