"""The engine: continuous batching over a paged cache, in one process.

    add -> (row and pages) -> prefill in chunks -> one patch per step -> finished -> audio -> Clip

It does not know text, files or manifests. `step()` advances all requests by one step; `generate()` takes requests from
an iterable and yields clips as they finish, in any order. Requests are independent: each has its own noise and its own
pages, and an error ends only the request that caused it.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from collections.abc import Sequence as Seq
from functools import partial
from itertools import groupby
from operator import attrgetter

import numpy as np
import torch

from voxcli.engine.audio import AudioStage, Finished
from voxcli.engine.config import DEFAULT, Counters, EngineConfig, default_batch, default_pages
from voxcli.engine.exactness import examine
from voxcli.engine.flags import StepFlags
from voxcli.engine.noise import BLOCK
from voxcli.engine.pages import PAGE_SIZE, PagePool
from voxcli.engine.request import NOT_YET, Clip, NotYet, Request, StopReason
from voxcli.engine.runner import Runner
from voxcli.engine.scheduler import Scheduler
from voxcli.engine.sequence import Sequence
from voxcli.engine.state import BROKEN, STOP
from voxcli.engine.streaming import StreamStage
from voxcli.engine.transfer import Download, check_device
from voxcli.engine.voices import Padding, VoiceEncoder
from voxcli.engine.warmup import WarmUp
from voxcli.errors import RequestError, in_one_line, quoted
from voxcli.memory import is_out_of_memory
from voxcli.model.solver import Solver
from voxcli.model.voxcpm2 import VoxCPM2
from voxcli.terminal import counted


class Engine:
    """Runs requests on one model and one device. Not safe for use by several threads, but for `encode_voice`."""

    def __init__(
        self,
        model: VoxCPM2,
        config: EngineConfig = DEFAULT,
        notify: Callable[[str], None] = lambda message: None,
    ):
        """notify: receives messages for people, one line each (a missing kernel, memory that ran out)."""
        self.model, self.config, self._notify = model, config, notify
        on_cuda = model.device.type == "cuda"
        self.audio = AudioStage(model, config.decode_clips or (1 if model.device.type == "cpu" else 16))
        self.streams = StreamStage(model, self.audio.decoder)
        self._warm_up = WarmUp(model, self.audio.decoder.fused) if on_cuda and config.graphs is not False else None
        self.runner = self._make_runner(config.max_batch or default_batch(model.device, config.requests))
        self.state, self.cache = self.runner.state, self.runner.cache
        self.exact = self._is_exact()
        self._prefill_tokens = config.prefill_tokens or (16384 if on_cuda else 2048)
        self.scheduler = Scheduler(PagePool(self.cache.pages), self.state)
        self.counters = Counters()
        self.on_patch: Callable[[dict[str, int]], None] | None = None
        self._voices = VoiceEncoder(model, config.voices)
        self._pending: deque[StepFlags] = deque()
        self._queued = 0  # number of entries of _pending that the last step added
        self._done: list[Clip] = []
        self._ids: set[str] = set()
        self._order = 0

    def _make_runner(self, rows: int) -> Runner:
        """Create a runner for `rows` concurrent requests; for fewer if memory runs out and config sets no number."""
        on_cuda = self.model.device.type == "cuda"
        try:
            return Runner(
                self.model,
                rows,
                self.config.pages or default_pages(self.model, self.config, rows),
                padded=on_cuda if self.config.pad_to_bucket is None else self.config.pad_to_bucket,
                graphs=on_cuda and self.config.graphs is not False,
                notify=self._notify,
                ready=self._warm_up.wait if self._warm_up is not None else lambda: None,
            )
        except Exception as error:
            if self.config.max_batch is not None or rows == 1 or not is_out_of_memory(error):
                raise
        return self._make_runner(rows // 2)

    def _is_exact(self) -> bool:
        """Return whether a clip has the same bytes alone and in any batch. Guaranteed on a CPU only."""
        if self.model.device.type != "cpu":
            return False
        exactness = examine(self.model)
        if not exactness.holds:
            self._notify(f"the same seed gives the same speech on this machine, but its {exactness}")
        return exactness.holds

    # -- requests in ------------------------------------------------------------------------------------------
    def encode_voice(self, samples: np.ndarray, *, key: str, padding: Padding = "right") -> torch.Tensor:
        """Encode a voice; see VoiceEncoder.encode. May be called from any thread. Raises DeviceError like `step`."""
        try:
            return self._voices.encode(samples, key, padding)
        except RuntimeError as error:
            check_device(self.model.device, error)
            raise

    def add(self, request: Request) -> None:
        """Queue a request. Raises RequestError if its id is in use or if it does not fit the model."""
        if request.request_id in self._ids:
            raise RequestError(f"request_id {quoted(request.request_id)} is already in use")
        prompt, sampling = request.prompt, request.sampling
        if tuple(prompt.patches.shape[1:]) != self.model.patch_shape:
            shape = tuple(prompt.patches.shape[1:])
            raise RequestError(f"prompt patches have shape {shape}, but the model needs {self.model.patch_shape}")
        room = min(self.model.config.context, self.scheduler.pool.total * PAGE_SIZE) - len(prompt)
        if room <= sampling.min_len:
            raise RequestError(
                f"the prompt takes {len(prompt)} of {room + len(prompt)} positions; use a shorter text or voice"
            )
        limit = min(int(prompt.target_tokens * sampling.ratio + 10), sampling.max_len, room)
        seed = random.getrandbits(31) if sampling.seed is None else sampling.seed
        self._order += 1
        self.scheduler.add(Sequence(request, self._order, limit, seed))
        self._ids.add(request.request_id)

    def cancel(self, request_id: str) -> bool:
        """Cancel a request; the next step returns its clip. Returns False if no request has this id."""
        sequence = self.scheduler.remove_waiting(request_id)
        if sequence is None:
            sequence = next((s for s in self.scheduler.running if s.request_id == request_id), None)
            if sequence is not None:
                self.scheduler.release(sequence)
        if sequence is None:
            sequence = self.audio.cancel(request_id) or self.streams.close(request_id)
        if sequence is None:
            return False
        self._end(sequence, "cancelled")
        return True

    @property
    def has_work(self) -> bool:
        return bool(len(self.scheduler) or self._pending or len(self.audio) or len(self.streams) or self._done)

    def drop(self, request_id: str) -> None:
        """End a request whose clip nobody waits for: none comes with the next step."""
        self.cancel(request_id)
        self._done = [clip for clip in self._done if clip.request_id != request_id]

    def generate(self, requests: Iterable[Request | NotYet], ahead: int | None = None) -> Generator[Clip, None, None]:
        """Run requests and yield their clips as they finish.

        requests: read as rows become free. NOT_YET means that no request is available now: the iterable is read again
                  after the next step. If nothing is running then, the iterator ends.
        ahead:    maximum number of requests read in excess of the rows; None: suits iterables whose requests are all
                  available from the start.

        A refused request gives a clip with an error. Closing the iterator early cancels the remaining requests.
        """
        source, end = iter(requests), object()
        mine: set[str] = set()
        exhausted = False
        try:
            while True:
                while not exhausted and self._pulls(ahead):
                    request = next(source, end)
                    if request is end or request is NOT_YET:
                        exhausted = request is end
                        break
                    assert isinstance(request, Request), f"expected a Request, not {type(request).__name__}"
                    try:
                        self.add(request)
                        mine.add(request.request_id)
                    except RequestError as error:
                        yield Clip(
                            request.request_id,
                            self.model.sample_rate,
                            "error",
                            request.sampling.seed or 0,
                            error=str(error),
                        )
                if not self.has_work:
                    return
                self._done = self.step()
                while self._done:  # clips not yielded yet stay there: they may belong to another caller
                    clip = self._done.pop(0)
                    mine.discard(clip.request_id)
                    yield clip
        finally:
            for request_id in mine:
                self.drop(request_id)

    def _pulls(self, ahead: int | None) -> bool:
        if ahead is None:
            return self.scheduler.waiting < 2 * self.scheduler.max_running
        return len(self.scheduler) < self.scheduler.max_running + ahead

    # -- one step ---------------------------------------------------------------------------------------------
    def step(self) -> list[Clip]:
        """Finish sequences, admit requests, prefill, and generate one patch for each ready row. Returns finished clips.

        Raises DeviceError if the device no longer works: no request caused this, and none can finish.
        """
        try:
            return self._step()
        except RuntimeError as error:
            check_device(self.model.device, error)
            raise

    @torch.inference_mode()
    def _step(self) -> list[Clip]:
        # Flags are read one step late, because the work queued by the last step may still be running.
        self._read_flags(keep=self._queued)
        before = len(self._pending)
        finished = [s for s in self.scheduler.running if s.finished]
        for sequence, latents in zip(finished, self._latents(finished), strict=True):
            self._finish(sequence, latents)
        for sequence in self.scheduler.admit():
            if sequence.admitted_at is None:
                sequence.admitted_at = time.perf_counter()
        self._prefill()
        ready = self._allocate_pages([s for s in self.scheduler.running if s.ready])
        for solver, group in groupby(sorted(ready, key=attrgetter("solver")), attrgetter("solver")):
            self._isolate(list(group), partial(self._decode, solver=solver))
        self._queued = len(self._pending) - before
        self.streams.step(self.scheduler.running, self._latents)
        self._collect_audio()
        if self.audio.memory_error is not None:
            self._free_memory_for_audio()
        if self.on_patch is not None:
            self.on_patch({s.request_id: s.patches for s in self.scheduler.running})
        done, self._done = self._done, []
        return done

    def _prefill(self) -> None:
        plan = list(self.scheduler.schedule_prefill(self._prefill_tokens))
        if plan:
            shares = {sequence.request_id: share for sequence, share in plan}
            self._isolate([sequence for sequence, _ in plan], lambda rows: self._run_prefill(rows, shares))

    def _run_prefill(self, sequences: list[Sequence], shares: dict[str, int]) -> None:
        chunks = [s.chunk(shares[s.request_id]) for s in sequences]
        hidden = self.runner.prefill(chunks)
        for sequence, chunk in zip(sequences, chunks, strict=True):
            sequence.prefilled += len(chunk.token_ids)
        if hidden is None:
            return
        begun = [s for s, chunk in zip(sequences, chunks, strict=True) if chunk.last]
        self.state.begin(
            [s.row for s in begun],
            hidden,
            [s.condition() for s in begun],
            [s.request.sampling.cfg for s in begun],
            [(s.length, s.patches) for s in begun],
        )
        # A row that resumes in the middle of a block of noise needs that block in its ring again.
        self._set_noise([s for s in begun if s.patches % BLOCK])
        flags = Download(hidden.stop.to(torch.uint8) * STOP)
        self._pending.append(StepFlags(flags, [(s, s.attempt, s.patches) for s in begun]))

    def _set_noise(self, sequences: list[Sequence]) -> None:
        if sequences:
            blocks = [s.noise.block(s.patches // BLOCK) for s in sequences]
            self.state.set_noise([s.row for s in sequences], blocks)

    def _allocate_pages(self, ready: list[Sequence]) -> list[Sequence]:
        """Allocate the page of each ready row's next patch; preempt the youngest rows if pages run out.

        Returns the rows that are still ready.
        """
        for sequence in list(ready):
            while sequence in ready and not self.scheduler.allocate_next(sequence):
                youngest = max(self.scheduler.running, key=lambda s: s.order)
                assert len(self.scheduler.running) > 1, "one request alone always fits, which add() checks"
                self._preempt(youngest)
                if youngest in ready:
                    ready.remove(youngest)
        return ready

    def _preempt(self, sequence: Sequence) -> None:
        [made] = self._latents([sequence])
        self.scheduler.release(sequence)
        sequence.preempt(made.cpu())
        self.scheduler.add(sequence, first=True)
        self.counters.preemptions += 1

    def _decode(self, sequences: list[Sequence], solver: Solver) -> None:
        self._set_noise([s for s in sequences if s.patches % BLOCK == 0])
        flags = self.runner.decode([s.row for s in sequences], solver, max(s.length for s in sequences) + 1)
        for sequence in sequences:
            sequence.patches += 1
            if sequence.patches == 1 and self.model.device.type == "cpu":
                sequence.record_first_patch()
        self._pending.append(StepFlags(Download(flags), [(s, s.attempt, s.patches) for s in sequences]))
        self.counters.steps += 1

    def _read_flags(self, keep: int) -> None:
        while len(self._pending) > keep:
            flags = self._pending.popleft()
            for value, (sequence, attempt, patch) in zip(flags.values.wait().tolist(), flags.about, strict=True):
                if attempt != sequence.attempt:
                    continue
                if patch == 1 and self.model.device.type != "cpu":
                    sequence.record_first_patch()
                if value & STOP:
                    sequence.flag_stop(patch)
                if value & BROKEN and sequence in self.scheduler.running:
                    self.scheduler.release(sequence)
                    self._end(
                        sequence, "error", error=f"the model produced a patch that is not finite at step {patch - 1}"
                    )

    # -- requests out -----------------------------------------------------------------------------------------
    def _latents(self, sequences: Seq[Sequence], first: Seq[int] | None = None) -> list[torch.Tensor]:
        """Patches of running sequences: those kept from before a preemption, the others from their pages.

        first: of each sequence, the first one wanted; None: all.
        """
        first = first or [0] * len(sequences)
        spans = []
        for sequence, skipped in zip(sequences, first, strict=True):
            start = len(sequence.request.prompt)
            spans.append((sequence.pages, start + max(skipped, len(sequence.kept)), start + sequence.patches))
        made = self.runner.latents(spans)
        return [
            torch.cat((sequence.kept[skipped:].to(self.model.device), latents))
            if skipped < len(sequence.kept)
            else latents
            for sequence, skipped, latents in zip(sequences, first, made, strict=True)
        ]

    def _finish(self, sequence: Sequence, latents: torch.Tensor) -> None:
        self.scheduler.release(sequence)
        streams = sequence.request.on_audio is not None
        if sequence.bad_case and sequence.attempt < sequence.request.sampling.attempts and not streams:
            sequence.retry()
            self.scheduler.add(sequence, first=True)
            return
        if sequence.admitted_at is not None:
            sequence.timings.generate_s = time.perf_counter() - sequence.admitted_at
        stopped = sequence.stop_at is not None and sequence.patches > sequence.stop_at
        reason: StopReason = "stop" if stopped else "length"
        if streams:
            self.streams.finish(sequence, reason, latents)
        elif sequence.request.decode:
            self.audio.add(Finished(sequence, latents, reason))
        else:
            self._end(sequence, reason, latents=latents.cpu())

    def _collect_audio(self) -> None:
        for ended in self.streams.ended():
            if ended.sequence in self.scheduler.running:
                self.scheduler.release(ended.sequence)
            self.scheduler.remove_waiting(ended.sequence.request_id)  # a failed one may have given way
            self._end(ended.sequence, ended.reason, latents=ended.latents, error=ended.error)
        for decoded in self.audio.collect(idle=not self.scheduler.running):
            sequence = decoded.finished.sequence
            sequence.timings.decode_s = decoded.seconds
            if decoded.error is not None:
                self._end(sequence, "error", error=decoded.error)
            else:
                self._end(sequence, decoded.finished.reason, audio=decoded.audio, latents=decoded.latents)

    def _end(
        self,
        sequence: Sequence,
        reason: StopReason,
        *,
        audio: np.ndarray | None = None,
        latents: torch.Tensor | None = None,
        error: str | None = None,
    ) -> None:
        self._ids.discard(sequence.request_id)
        self.streams.close(sequence.request_id)
        self._done.append(
            Clip(
                request_id=sequence.request_id,
                sample_rate=self.model.sample_rate,
                stop_reason=reason,
                seed=sequence.seed,
                attempts=sequence.attempt,
                patches=sequence.patches,
                bad_case=sequence.bad_case,
                too_short=sequence.too_short,
                exact=self.exact and not sequence.kept_patches,
                audio=audio,
                latents=latents,
                error=error,
                timings=sequence.timings,
            )
        )

    def _isolate(self, sequences: list[Sequence], run: Callable[[list[Sequence]], None]) -> None:
        """Run a batch. If it fails, run its rows one by one, so that an error ends only the row that caused it.

        Repeating is safe: a step that raised has not advanced any row, and writes the same values to the same slots.
        """
        sequences = [s for s in sequences if s.row]  # others were preempted when another group ran out of memory
        if not sequences:
            return
        try:
            run(sequences)
        except Exception as error:
            check_device(self.model.device, error)
            if is_out_of_memory(error) and len(self.scheduler.running) > 1:
                self._shrink()
            elif len(sequences) > 1:
                for sequence in sequences:
                    self._isolate([sequence], run)
            else:
                self.scheduler.release(sequences[0])
                self._end(sequences[0], "error", error=in_one_line(error))

    def _free_memory_for_audio(self) -> None:
        """Free memory for a clip that can't be decoded: reduce the number of rows and drop their graphs.

        A single running request is left to finish first. If none is running and rows can't be reduced, fail the clip.
        """
        if len(self.scheduler.running) > 1 or (not self.scheduler.running and self.scheduler.max_running > 1):
            self._shrink()
        elif not self.scheduler.running:
            self.audio.fail_waiting()

    def _shrink(self) -> None:
        """Halve the number of concurrent requests after memory ran out. Preempted requests keep their patches."""
        concurrent = len(self.scheduler.running) or self.scheduler.max_running
        max_running = max(1, concurrent // 2)
        self._notify(f"out of memory with {counted(concurrent, 'request')} at once; continuing with {max_running}")
        while len(self.scheduler.running) > max_running:
            self._preempt(self.scheduler.running[-1])
        self.scheduler.max_running = max_running
        self.runner.shrink(max_running)
        self.counters.shrinks += 1

    def check_integrity(self) -> None:
        """Check the bookkeeping of rows and pages. Raises AssertionError with the numbers that disagree."""
        self.scheduler.check_integrity()
