"""The whole life of a job: its voices read once, its pieces through the engine, its clips joined, its file written.

    utterance -> requests -> clips -> one take -> file -> result

Requests are made as the engine asks for them. Files are written by a thread of their own, so that the disk never
holds up the engine. Whatever happens to one job ends that job with a result and leaves the others alone.
"""

from __future__ import annotations

import math
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

import torch

from voxcli.audio.join import join
from voxcli.audio.levels import to_level
from voxcli.audio.read import read_voice
from voxcli.audio.resample import resample
from voxcli.audio.write import write_audio
from voxcli.engine.engine import Engine
from voxcli.engine.request import Clip, Request, Sampling
from voxcli.errors import SynthesisError, VoxError
from voxcli.model.prompt import build_prompt
from voxcli.run.job import Job, request_id
from voxcli.run.outputs import make_folder
from voxcli.run.plan import Utterance, expected_seconds
from voxcli.run.results import Outcome, Result, ResultLog, failure, shown_path

BACKLOG = 16  # takes that may wait for the disk before the engine does
VOICES_KEPT = 64


@dataclass(eq=False)
class Take:
    """A job under way: the clips of its pieces so far."""

    utterance: Utterance
    seed: int
    clips: dict[int, Clip] = field(default_factory=dict)
    began: float = math.inf
    ended: float = 0.0
    error: VoxError | None = None

    @property
    def job(self) -> Job:
        return self.utterance.job

    @property
    def complete(self) -> bool:
        return len(self.clips) == len(self.utterance.pieces)


class Session:
    """Runs utterances on an engine, in the order given.

    out:  the folder that results name files from.
    say:  takes remarks for people, one line each.
    """

    def __init__(
        self,
        engine: Engine,
        utterances: Iterable[Utterance],
        out: Path,
        *,
        log: ResultLog | None,
        say: Callable[[str], None],
    ):
        self.engine = engine
        self.out = out
        self.log = log
        self.say = say
        self._ready: deque[tuple[Take, int]] = deque()
        for utterance in utterances:
            seed = utterance.job.settings.seed
            self._open(Take(utterance, secrets.randbits(31) if seed is None else seed))
        self._running: dict[str, tuple[Take, int]] = {}
        self._pending: deque[Future[Outcome]] = deque()
        self._voice = lru_cache(maxsize=VOICES_KEPT)(self._read_voice)
        self._voices_told: set[Path] = set()

    def run(self) -> Iterator[Outcome]:
        """Outcomes as they land."""
        with ThreadPoolExecutor(1, thread_name_prefix="writer") as self._writer:
            while self._ready:  # pieces that wait for their first one may become ready after a round has ended
                for clip in self.engine.generate(self._requests()):
                    self._collect(clip)
                    yield from self._landed(BACKLOG)
            yield from self._landed(0)

    # -- jobs to requests -------------------------------------------------------------------------------------
    def _open(self, take: Take) -> None:
        """A long text without a voice takes the voice of its first piece: the others wait for that."""
        alone = bool(take.job.voices) or len(take.utterance.pieces) == 1
        self._ready.extend((take, index) for index in range(len(take.utterance.pieces) if alone else 1))

    def _requests(self) -> Iterator[Request]:
        while self._ready:
            take, index = self._ready.popleft()
            if take.error is not None:
                continue
            try:
                request = self._request(take, index)
            except Exception as error:
                self._give_up(take, _as_told(error))
                continue
            self._running[request.request_id] = take, index
            yield request

    def _request(self, take: Take, index: int) -> Request:
        job, model = take.job, self.engine.model
        reference = self._voice(job.ref, "right") if job.ref else None
        if index and not job.voices:
            reference = take.clips[0].latents
        prompt = build_prompt(
            model.tokenizer,
            take.utterance.pieces[index].text,
            patch_shape=model.patch_shape,
            reference=reference,
            prompt_text=take.utterance.prompt_text,
            prompt_audio=self._voice(job.prompt_audio, "left") if job.prompt_audio else None,
        )
        return Request(request_id(job, index), prompt, self._sampling(take, index))

    def _sampling(self, take: Take, index: int) -> Sampling:
        settings, pieces, patch_s = take.job.settings, take.utterance.pieces, self.engine.model.patch_s
        shortest, longest = Sampling.min_len, Sampling.max_len
        if settings.max_seconds is not None:
            longest = max(shortest + 1, math.floor(settings.max_seconds / patch_s + 1e-6))
        if settings.min_seconds is not None:
            share = expected_seconds(pieces[index].text) / sum(expected_seconds(piece.text) for piece in pieces)
            # the stop is obeyed at step i > min_len, counted from 0: the clip has at least min_len + 2 patches
            shortest = max(shortest, math.ceil(share * settings.min_seconds / patch_s - 1e-6) - 2)
            shortest = min(shortest, longest - 1)
        return Sampling(seed=take.seed, cfg=settings.cfg, steps=settings.steps, min_len=shortest, max_len=longest)

    def _read_voice(self, path: Path, padding: Literal["left", "right"]) -> torch.Tensor:
        voice = read_voice(path, self.engine.model.encoder_rate)
        if voice.notes and path not in self._voices_told:
            self._voices_told.add(path)
            self.say(f"{path}: {', '.join(voice.notes)}")
        return self.engine.encode_voice(voice.samples, key=voice.sha256, padding=padding)

    # -- clips to files ---------------------------------------------------------------------------------------
    def _collect(self, clip: Clip) -> None:
        take, index = self._running.pop(clip.request_id)
        if take.error is not None:
            return
        if clip.audio is None:
            self._give_up(take, SynthesisError(clip.error or f"the engine gave no audio ({clip.stop_reason})"))
            return
        now = time.perf_counter()
        take.began = min(take.began, now - clip.timings.generate_s - clip.timings.decode_s)
        take.ended = now
        take.clips[index] = clip
        if take.complete:
            self._pending.append(self._writer.submit(self._finish, take))
        elif index == 0 and not take.job.voices:
            self._ready.extendleft((take, later) for later in reversed(range(1, len(take.utterance.pieces))))

    def _give_up(self, take: Take, error: VoxError) -> None:
        take.error = error
        take.clips.clear()
        for identity, (other, _) in self._running.items():
            if other is take:
                self.engine.cancel(identity)
        self._pending.append(self._writer.submit(self._fail, take.job, error))

    def _landed(self, waiting: int) -> Iterator[Outcome]:
        """Outcomes that are on the disk; waits for it only while more than `waiting` takes are not."""
        while self._pending and (len(self._pending) > waiting or self._pending[0].done()):
            yield self._pending.popleft().result()

    def _finish(self, take: Take) -> Outcome:
        """Runs in the writer's thread."""
        try:
            result = self._write(take)
        except Exception as error:
            return self._fail(take.job, _as_told(error))
        return self._note(Outcome(take.job, result))

    def _write(self, take: Take) -> Result:
        """Join the clips into the file."""
        job, pieces = take.job, take.utterance.pieces
        clips = [take.clips[index] for index in range(len(pieces))]
        rate = clips[0].sample_rate
        parts = [clip.audio for clip in clips if clip.audio is not None]
        # a text of one piece stays as the model made it, sample by sample
        audio = join(parts, [piece.pause_s for piece in pieces], rate) if len(parts) > 1 else parts[0]
        limit = len(audio) if job.settings.max_seconds is None else round(job.settings.max_seconds * rate)
        cut_off = len(audio) > limit or any(clip.stop_reason == "length" for clip in clips)
        audio = audio[:limit]
        if job.settings.sample_rate is not None:
            audio, rate = resample(audio, rate, job.settings.sample_rate), job.settings.sample_rate
        if job.settings.level is not None:
            audio = to_level(audio, rate, job.settings.level)
        make_folder(job.out.parent)
        write_audio(job.out, audio, rate, format=job.format)
        duration, wall = len(audio) / rate, take.ended - take.began
        return Result(
            id=job.id,
            out=shown_path(job.out, self.out),
            text=job.text,
            status="ok",
            duration_s=round(duration, 4),
            wall_s=round(wall, 4),
            rtf=round(wall / duration, 4),
            patches=sum(clip.patches for clip in clips),
            stop_reason="length" if cut_off else "stop",
            seed=clips[0].seed if len(clips) == 1 else take.seed,
            attempts=max(clip.attempts for clip in clips),
            sample_rate=rate,
        )

    def _fail(self, job: Job, error: VoxError) -> Outcome:
        return self._note(failure(job, error, self.out))

    def _note(self, outcome: Outcome) -> Outcome:
        if self.log is not None:
            self.log.append(outcome.result)
        return outcome


def _as_told(error: Exception) -> VoxError:
    """What ends one job must not end the others, foreseen or not."""
    if isinstance(error, VoxError):
        return error
    return SynthesisError(f"unexpected {type(error).__name__}: {error}")
