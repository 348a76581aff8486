"""A job under way: what it asks of the engine, piece by piece, and what has come of it so far."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, field, replace
from typing import Protocol

import torch

from voxcli.audio.tail import without_silent_run
from voxcli.engine.request import Clip, Request, Sampling
from voxcli.errors import VoxError
from voxcli.jobs.job import Job, request_id
from voxcli.jobs.plan import Utterance, expected_seconds
from voxcli.model.prompt import build_prompt
from voxcli.model.voxcpm2 import VoxCPM2
from voxcli.voices.source import EncodedVoice
from voxcli.voices.store import Latents

ROOM = 1.5  # times the shortest length asked for: longer, and a clip is too long for its text


class EncodedVoices(Protocol):
    """Knows the voices of jobs, inside a `with` block."""

    def __enter__(self) -> EncodedVoices: ...
    def __exit__(self, *exception: object) -> None: ...
    def of(self, job: Job) -> EncodedVoice:
        """To be asked for once by each. Raises AudioError, InputError."""


@dataclass(eq=False)
class RunningJob:
    """
    clips:        by piece.
    voice:        once it was asked for.
    began, ended: of the engine's work, by perf_counter.
    silence_s:    cut away from the ends of its clips.
    """

    utterance: Utterance
    seed: int
    clips: dict[int, Clip] = field(default_factory=dict)
    voice: EncodedVoice | None = None
    began: float = math.inf
    ended: float = 0.0
    silence_s: float = 0.0
    error: VoxError | None = None

    @classmethod
    def of(cls, utterance: Utterance) -> RunningJob:
        """With the seed that the job names, else the one of an earlier run, else one that is drawn."""
        seeds = (utterance.job.settings.seed, utterance.seed)
        return cls(utterance, next((seed for seed in seeds if seed is not None), secrets.randbits(31)))

    @property
    def job(self) -> Job:
        return self.utterance.job

    @property
    def complete(self) -> bool:
        return len(self.clips) == len(self.utterance.segments)

    @property
    def spoken_seed(self) -> int:
        """Gives the same sound again, once that is complete: one clip may have been made again with the next seed."""
        return self.clips[0].seed if len(self.clips) == 1 else self.seed

    def add(self, index: int, clip: Clip) -> None:
        """Take the clip of a piece, which has audio.

        One that a length limit ended long after its last sound had said all: the silence goes, the speech is whole.
        Where a shortest length was asked for, silence is part of it.
        """
        if clip.stop_reason == "length" and self.job.settings.min_seconds is None and clip.audio is not None:
            audio = without_silent_run(clip.audio, clip.sample_rate)
            if (share := len(audio) / len(clip.audio)) < 1:
                latents = None if clip.latents is None else clip.latents[: math.ceil(share * len(clip.latents))]
                self.silence_s += (len(clip.audio) - len(audio)) / clip.sample_rate
                clip = replace(clip, stop_reason="silence", audio=audio, latents=latents, bad_case=False)
        self.clips[index] = clip

    def request(self, index: int, model: VoxCPM2, voices: EncodedVoices) -> Request:
        """Of one piece. Without a voice of the job's own, the first piece must be there: the others speak like it."""
        voice = self.voice = self.voice or voices.of(self.job)
        prompt = build_prompt(
            model.tokenizer,
            self.utterance.segments[index].text,
            patch_shape=model.patch_shape,
            reference=self.clips[0].latents if index and not self.job.voices else _tensor(voice.reference),
            prompt_text=self.utterance.prompt_text,
            prompt_audio=_tensor(voice.prompt) if self.utterance.prompt_text else None,
        )
        return Request(request_id(self.job, index), prompt, self._sampling(index, model.patch_s, prompt.target_tokens))

    def _sampling(self, index: int, patch_s: float, tokens: int) -> Sampling:
        settings, segments = self.job.settings, self.utterance.segments
        shortest, longest, ratio = Sampling.min_len, Sampling.max_len, Sampling.ratio
        if settings.max_seconds is not None:
            longest = max(shortest + 1, math.floor(settings.max_seconds / patch_s + 1e-6))
        if settings.min_seconds is not None:
            share = expected_seconds(segments[index].text) / sum(expected_seconds(segment.text) for segment in segments)
            # the stop is obeyed at step i > min_len, counted from 0: the clip has at least min_len + 2 patches
            wanted = math.ceil(share * settings.min_seconds / patch_s - 1e-6)
            shortest = max(shortest, wanted - 2)
            if settings.max_seconds is None:
                longest = max(longest, math.ceil(ROOM * (shortest + 2)))
            longest = max(longest, wanted)  # the file is cut at max_seconds: whole patches may have to go beyond it
            shortest = min(shortest, longest - 1)
            # what is asked for is not too long for its text: the clip may go on beyond it to where it wants to end
            ratio = max(ratio, ROOM * (shortest + 2) / max(tokens, 1))
        return Sampling(
            seed=self.seed, cfg=settings.cfg, steps=settings.steps, min_len=shortest, max_len=longest, ratio=ratio
        )


def _tensor(latents: Latents | None) -> torch.Tensor | None:
    return None if latents is None else torch.from_numpy(latents)
