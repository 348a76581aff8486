"""A job in progress: the requests it makes to the engine, one per segment, and the clips it has received."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, field, replace
from typing import Protocol

import torch

from voxcli.audio.tail import without_silent_run
from voxcli.check.checker import Checker
from voxcli.check.takes import Takes
from voxcli.engine.request import Clip, Request, Sampling
from voxcli.errors import VoxError
from voxcli.jobs.job import Job, request_id
from voxcli.jobs.plan import Utterance, expected_seconds
from voxcli.jobs.unknown import Tokenizer, unknown_letters
from voxcli.model.prompt import build_prompt
from voxcli.model.voxcpm2 import VoxCPM2
from voxcli.text.duration import shortest_seconds
from voxcli.voices.source import EncodedVoice
from voxcli.voices.spoken import SpokenVoice
from voxcli.voices.store import Latents

ROOM = 1.5  # a clip longer than min_seconds by this factor may count as too long for its text


class EncodedVoices(Protocol):
    """Provides the encoded voices of jobs; a context manager."""

    def __enter__(self) -> EncodedVoices: ...
    def __exit__(self, *exception: object) -> None: ...
    def of(self, job: Job) -> EncodedVoice:
        """Return a job's voices; call it once per job. Raises AudioError or InputError if one can't be read."""


@dataclass(eq=False)
class RunningJob:
    """An utterance and the state of its synthesis.

    clips:        received clips, by index of the segment.
    voice:        its voice, once that is encoded.
    began, ended: start and end of the engine's work, by perf_counter.
    silence_s:    seconds of silence removed from the ends of its clips.
    unknown:      warnings about text that is not spoken.
    seeds:        seeds of segments that the check has spoken again.
    takes:        what the check has heard; None without a check.
    """

    utterance: Utterance
    seed: int
    clips: dict[int, Clip] = field(default_factory=dict)
    voice: EncodedVoice | None = None
    began: float = math.inf
    ended: float = 0.0
    silence_s: float = 0.0
    unknown: tuple[str, ...] = ()
    seeds: dict[int, int] = field(default_factory=dict)
    takes: Takes | None = None
    error: VoxError | None = None

    @classmethod
    def of(cls, utterance: Utterance) -> RunningJob:
        """Start an utterance. The seed is that of the utterance, else that of the job, else it is drawn."""
        seeds = (utterance.seed, utterance.job.settings.seed)
        return cls(utterance, next((seed for seed in seeds if seed is not None), secrets.randbits(31)))

    @property
    def job(self) -> Job:
        return self.utterance.job

    @property
    def complete(self) -> bool:
        return len(self.clips) == len(self.utterance.segments)

    @property
    def spoken_seed(self) -> int:
        """The seed that reproduces the audio. The engine may have retried a single clip with the next seed.

        Segments that the check has chosen one by one are reproduced by the first seed, and the same check.
        """
        seeds = {clip.seed for clip in self.clips.values()}
        return seeds.pop() if len(seeds) == 1 else self.seed

    @property
    def attempts(self) -> int:
        """The number of attempts at its most difficult segment."""
        return self.takes.attempts if self.takes is not None else max(clip.attempts for clip in self.clips.values())

    def checked(self, checker: Checker) -> list[int]:
        """Check the clips of a complete job, and choose the best when it is decided. Blocks until they are heard.

        Returns the segments to speak again first; empty if it is decided. Raises ModelError if the recognizer can't be
        loaded.
        """
        self.takes = self.takes or Takes(self.utterance, checker)
        again = self.takes.add(self.clips)
        if not again:
            self.clips = self.takes.best
            return []
        self.seeds |= again
        for index in again:
            del self.clips[index]
        return sorted(again) if self.independent else [0]

    @property
    def independent(self) -> bool:
        """Whether its segments can be spoken in any order: without a voice, the first is the voice of the others."""
        return bool(self.job.voices) or len(self.utterance.segments) == 1

    def add(self, index: int, clip: Clip) -> None:
        """Store the clip of a segment; it must have audio.

        If the clip hit its length limit during trailing silence, the speech is complete and the silence is removed.
        It is kept if the job sets min_seconds, because then silence may count as wanted.
        """
        if clip.stop_reason == "length" and self.job.settings.min_seconds is None and clip.audio is not None:
            audio = without_silent_run(clip.audio, clip.sample_rate)
            if (share := len(audio) / len(clip.audio)) < 1:
                latents = None if clip.latents is None else clip.latents[: math.ceil(share * len(clip.latents))]
                self.silence_s += (len(clip.audio) - len(audio)) / clip.sample_rate
                clip = replace(clip, stop_reason="silence", audio=audio, latents=latents, bad_case=False)
        self.clips[index] = clip

    def request(self, index: int, model: VoxCPM2, voices: EncodedVoices) -> Request:
        """Build the request of one segment.

        Without a voice, the first segment must be complete: the others use it as their reference.
        Raises InputError when the model does not know the letters of the text.
        """
        if index == 0:
            self.look_at_letters(model.tokenizer)
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

    def spoken_voice(self) -> SpokenVoice:
        """Return the clip of its first segment as a voice. It must be complete."""
        first = self.clips[0]
        assert first.audio is not None and first.latents is not None, "the clips of a complete job have audio"
        return SpokenVoice(first.audio, first.sample_rate, first.latents.float().numpy(), first.bad_case)

    def look_at_letters(self, tokenizer: Tokenizer) -> None:
        """Raises InputError when the model does not know enough of the letters of the text."""
        texts = [segment.text for segment in self.utterance.segments]
        self.unknown = tuple(unknown_letters(tokenizer, texts, self.utterance.prompt_text))

    def _sampling(self, index: int, patch_s: float, tokens: int) -> Sampling:
        settings, segments = self.job.settings, self.utterance.segments
        shortest, longest, ratio = Sampling.min_len, Sampling.max_len, Sampling.ratio
        if settings.max_seconds is not None:
            longest = max(shortest + 1, math.floor(settings.max_seconds / patch_s + 1e-6))
        if settings.min_seconds is not None:
            share = expected_seconds(segments[index].text) / sum(expected_seconds(segment.text) for segment in segments)
            # the model may stop at step i > min_len, counted from 0: a clip has at least min_len + 2 patches
            wanted = math.ceil(share * settings.min_seconds / patch_s - 1e-6)
            shortest = max(shortest, wanted - 2)
            if settings.max_seconds is None:
                longest = max(longest, math.ceil(ROOM * (shortest + 2)))
            longest = max(longest, wanted)  # the file is cut at max_seconds; whole patches may exceed it
            shortest = min(shortest, longest - 1)
            # a length that was requested is never too long for the text: allow the clip to end by itself beyond it
            ratio = max(ratio, ROOM * (shortest + 2) / max(tokens, 1))
        return Sampling(
            seed=self.seeds.get(index, self.seed),
            cfg=settings.cfg,
            solver=settings.solver,
            steps=settings.steps,
            min_len=shortest,
            max_len=longest,
            ratio=ratio,
            short_len=min(longest, math.ceil(shortest_seconds(segments[index].text) / patch_s)),
        )


def _tensor(latents: Latents | None) -> torch.Tensor | None:
    return None if latents is None else torch.from_numpy(latents)
