"""Drive a run with many workers: hand out lines, collect results, replace workers that died.

One thread waits for events: a worker or a voice reader has finished something. `dispatch` decides which worker gets
which line, a `WorkerPool` knows where workers live, and only the driver records results.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from voxcli.cluster.collector import ResultCollector
from voxcli.cluster.dispatch import Dispatcher, Task
from voxcli.cluster.messages import PollReply, WorkerReady, WorkItem
from voxcli.cluster.options import ClusterOptions
from voxcli.cluster.pool import WorkerDied, WorkerPool, WorkerRecord
from voxcli.cluster.voices import PendingVoice, WorkerVoices
from voxcli.cluster.watch import Watch
from voxcli.errors import DeviceError, SynthesisError, VoxError, as_vox_error, in_one_line
from voxcli.interrupts import cleanup, interruptible
from voxcli.jobs.job import Job
from voxcli.jobs.plan import Utterance
from voxcli.jobs.result import Outcome, failure
from voxcli.run.batch import BatchRun
from voxcli.run.profile import MODEL
from voxcli.terminal import counted
from voxcli.voices.source import EncodedVoice

# Deaths in a row (or four per worker, if that is more) without a finished line: then the lines are not the cause.
MAX_FRUITLESS_DEATHS = 12
ENCODES = 2  # voices that one worker encodes at once
PATIENCE_S = 10.0  # how long workers may take to finish their current files when a run ends early


class Driver:
    """Runs utterances on a pool of workers, longest first.

    rounds:  utterances; those of a round are asked for once the round before has ended.
    run:     the output folder that contains all files, the results log, the display and the timer.
    options: how often a line is retried, and when a worker counts as hung.
    rate:    sample rate of the model's voice encoder in Hz.
    encoder: returns the identity of that encoder; called only if there are named voices.
    poll_s:  how long a worker waits for a result before it replies that there is none.
    """

    def __init__(
        self,
        pool: WorkerPool,
        rounds: Iterable[Sequence[Utterance]],
        run: BatchRun,
        *,
        options: ClusterOptions,
        rate: int,
        encoder: Callable[[], str],
        poll_s: float = 10.0,
    ):
        self.pool, self.batch, self.out, self.notify = pool, run, run.out, run.display.notify
        self.dispatch = Dispatcher(options.max_retries)
        self._hang_s = options.hang_s
        self._poll_s = min(poll_s, options.hang_s / 3)  # a working worker replies several times in that time
        self._rounds = rounds
        self._left = 0
        self._records: dict[str, WorkerRecord] = {}
        self._fruitless = 0
        self._ending = False
        self._unheard: set[str] = set()  # lines whose worker ended without reporting them
        self._watch = Watch(self._records, options.hang_s, time.monotonic())
        self._events: SimpleQueue[tuple[Callable[[Future[Any]], None], Future[Any]]] = SimpleQueue()
        self._outcomes: list[Outcome] = []
        self._collector = ResultCollector(run.out, run.log, run.timer)
        self._voices = WorkerVoices(
            rate=rate,
            identity=encoder,
            share=pool.share,
            events=self,
            notify=self.notify,
        )

    def run(self) -> Iterator[Outcome]:
        """Yield outcomes as they arrive. Raises VoxError when a worker can't load or workers keep dying."""
        with cleanup(), self._collector, self._voices, self._workers(), interruptible():
            for utterances in self._rounds:
                self._begin([_seeded(utterance) for utterance in utterances])
                while self._left:
                    self._give_work()
                    with self.batch.timer(MODEL):
                        self._hear(1.0)
                    while self._outcomes:
                        yield self._outcomes.pop(0)

    def _begin(self, utterances: Sequence[Utterance]) -> None:
        self._left = len(utterances)
        self._voices.add(utterances)
        self.dispatch.add(each for each in utterances if not each.job.voices)

    @contextmanager
    def _workers(self) -> Iterator[None]:
        try:
            for number in range(self.pool.size):
                self._start(f"{number + 1}")
            yield
        finally:
            self._end()

    @property
    def unrecorded(self) -> bool:
        """True if there may be files without a result: a worker made them and could not report it."""
        return bool(self._unheard)

    def ready(self, utterances: list[Utterance]) -> None:
        """Queue utterances whose voices are now available."""
        self.dispatch.add(utterances)

    # -- events -------------------------------------------------------------------------------------------------
    def when(self, future: Future[Any], then: Callable[[Future[Any]], None]) -> None:
        """Call `then` with the future once it is done, in the driver's thread."""
        future.add_done_callback(lambda done: self._events.put((then, done)))

    def _hear(self, wait_s: float) -> None:
        """Handle the next event and all others that are queued by then."""
        with suppress(Empty):
            then, future = self._events.get(timeout=wait_s)
            then(future)
            for _ in range(self._events.qsize()):
                then, future = self._events.get()
                then(future)

    def _give_work(self) -> None:
        self._voices.begin(idle=not self.dispatch.unfinished)
        for worker in self._records.values() if self._voices.pending else ():
            while worker.ready is not None and worker.encoding < ENCODES and (todo := self._voices.to_encode()):
                worker.encoding += 1
                asked = worker.handle.ask("encode", todo.voice)
                self.when(asked, partial(self._encoded, worker, todo))
        for name, lines in self.dispatch.hand_out().items():
            self._hand(self._records[name], lines)
        while (asked_back := self.dispatch.rebalance()) is not None:
            name, count = asked_back
            worker = self._records[name]
            self.when(worker.handle.ask("give_back", count), partial(self._given_back, worker))
        late, hung = self._watch.look(time.monotonic())
        if late:
            self._release_shares(late)
        for worker in hung:
            self._died(worker, WorkerDied(f"it made no progress for {self._hang_s:.0f} s"), hung=True)

    def _release_shares(self, late: list[WorkerRecord]) -> None:
        """Reserve no lines any longer for workers that are late to load."""
        for worker in late:
            self.dispatch.lost(worker.name)
        loaded = sum(worker.ready is not None for worker in self._records.values())
        self.notify(f"{loaded} of {counted(len(self._records), 'worker')} loaded; waiting for the others")

    def _hand(self, worker: WorkerRecord, lines: Sequence[Task]) -> None:
        places: dict[object, int] = {}
        voices: list[object] = []
        items = []
        for line in lines:
            mine = []
            for source, shared in self._voices.of(line.utterance):
                if source not in places:
                    places[source] = len(voices)
                    voices.append(shared)
                mine.append(places[source])
            job = line.utterance.job
            there = replace(line.utterance, job=_portable(job, self.out))
            items.append(WorkItem(there, tuple(mine)))
        self.when(worker.handle.ask("put", items, *voices), partial(self._handed, worker))

    # -- workers ------------------------------------------------------------------------------------------------
    def _start(self, name: str, again: bool = False) -> None:
        worker = self._records[name] = WorkerRecord(name, self.pool.start(), time.monotonic(), again)
        self.dispatch.expect(name)
        self.when(worker.handle.ask("load"), partial(self._loaded, worker))

    def _here(self, worker: WorkerRecord) -> bool:
        """True if the worker has not been replaced or given up: late events of old workers are ignored."""
        return self._records.get(worker.name) is worker

    def _loaded(self, worker: WorkerRecord, future: Future[WorkerReady]) -> None:
        if not self._here(worker):
            return
        error = future.exception()
        if isinstance(error, WorkerDied):
            self._died(worker, error)
            return
        if isinstance(error, Exception) and worker.again and len(self._records) > 1:
            self._given_up(worker, error)
            return
        if isinstance(error, VoxError):
            raise error
        if error is not None:
            raise SynthesisError(f"a worker could not start: {in_one_line(error)}") from error
        worker.ready = ready = future.result()
        worker.moved = time.monotonic()
        if all(other is worker or other.ready is None for other in self._records.values()):
            workers = counted(self.pool.size, "worker")
            self.batch.display.speaking(f"{ready.name}, {workers}", ready.patch_s)
        if worker.late:  # its share was released when it became late
            self.dispatch.expect(worker.name)
        self.dispatch.join(worker.name, ready.rows)
        self._ask(worker)

    def _given_up(self, worker: WorkerRecord, error: Exception) -> None:
        """Continue without a worker whose replacement fails to load, for example because its GPU is broken."""
        del self._records[worker.name]
        worker.handle.kill()
        if worker.name in self.dispatch.loads:
            self.dispatch.lost(worker.name)
        self.notify(f"{worker} can't be restarted: {in_one_line(error)}; {counted(len(self._records), 'worker')} left")

    def _ask(self, worker: WorkerRecord) -> None:
        worker.polling = True
        self.when(worker.handle.ask("take", self._poll_s), partial(self._reported, worker))

    def _reported(self, worker: WorkerRecord, future: Future[PollReply]) -> None:
        worker.polling = False
        if not self._here(worker):
            return
        if (error := future.exception()) is not None:
            self._died(worker, error)
            return
        reply = future.result()
        if reply.steps != worker.steps or reply.landed or not self.dispatch.has_lines(worker.name):
            worker.steps, worker.moved = reply.steps, time.monotonic()
        self._landed(worker, reply)
        if self._ending:
            return
        if reply.ended is not None:
            self._died(worker, WorkerDied(reply.ended))
            return
        if reply.rows != self.dispatch.loads[worker.name].rows:
            self.dispatch.join(worker.name, reply.rows)
        if reply.patches:
            self.batch.display.running(reply.patches)
        self._ask(worker)

    def _handed(self, worker: WorkerRecord, future: Future[None]) -> None:
        if (error := future.exception()) is not None and self._here(worker):
            self._died(worker, error)

    def _given_back(self, worker: WorkerRecord, future: Future[list[str]]) -> None:
        if not self._here(worker):
            return
        if (error := future.exception()) is not None:
            self._died(worker, error)
        else:
            self.dispatch.given_back(worker.name, future.result())

    def _encoded(self, worker: WorkerRecord, todo: PendingVoice, future: Future[EncodedVoice]) -> None:
        worker.encoding -= 1
        error = future.exception()
        if isinstance(error, WorkerDied | DeviceError):
            self._voices.again(todo, self.dispatch.max_retries)
            if self._here(worker):
                self._died(worker, error)
        else:
            self._voices.encoded(todo.source, future)

    def _died(self, worker: WorkerRecord, error: BaseException, hung: bool = False) -> None:
        """Requeue the lines of a worker that died and start a replacement."""
        self.batch.last_death = time.time()
        worker.stopped = True
        self._unheard |= self.dispatch.lines_of(worker.name)
        if self._ending:
            return
        worker.handle.kill(worker.ready if hung else None)  # its process may still be alive
        load = self.dispatch.loads.get(worker.name)  # None if it is late
        unfinished = len(load.lines) if load is not None else 0
        failed = self.dispatch.lost(worker.name) if load is not None else []
        reason = str(error) if isinstance(error, WorkerDied) else in_one_line(error)
        left = unfinished - len(failed)
        again = (
            f"; its {left} unfinished lines are retried"
            if left > 1
            else "; its unfinished line is retried"
            if left
            else ""
        )
        self.notify(f"{worker} died: {reason}{again}")
        for line in failed:
            deaths = counted(line.deaths, "time")
            self.fail(line.utterance, SynthesisError(f"its worker died {deaths} while it was spoken"))
        self._fruitless += 1
        if self._fruitless >= max(MAX_FRUITLESS_DEATHS, 4 * self.pool.size):
            raise SynthesisError(
                f"workers died {self._fruitless} times in a row without finishing a line (last: {reason}); "
                "rerun the command to resume"
            )
        self._start(worker.name, again=True)

    # -- results ------------------------------------------------------------------------------------------------
    def _landed(self, worker: WorkerRecord, reply: PollReply) -> None:
        """Record the results of a reply. A line that was moved to another worker is recorded there, not here."""
        for remark in reply.remarks:
            self.notify(f"{worker}: {remark}")
        mine = [
            (line.utterance, landed)
            for landed in reply.landed
            if (line := self.dispatch.finish(worker.name, landed.result.key)) is not None
        ]
        for _, landed in mine:
            if landed.voice is not None:
                self.batch.keep_voice(landed.result.id, landed.voice)
        if mine:
            self._note(self._collector.placed(mine))

    def fail(self, utterance: Utterance, error: Exception) -> None:
        """Record that an utterance failed without reaching a worker."""
        self._note([(utterance, failure(utterance.job, as_vox_error(error), self.out))])

    def _note(self, pairs: Sequence[tuple[Utterance, Outcome]]) -> None:
        self._collector.note([outcome for utterance, outcome in pairs if not utterance.gives_voice])
        for utterance, outcome in pairs:
            self._left -= 1
            self._unheard.discard(utterance.job.key)
            self._voices.ended(utterance)
            self._outcomes.append(outcome)
            if outcome.result.ok:
                self._fruitless = 0

    def _end(self) -> None:
        """Stop all workers. Lines they have finished are recorded, lines in progress are dropped."""
        self._ending = True
        waited = time.monotonic()
        loaded = [worker for worker in self._records.values() if worker.ready is not None]
        for worker in loaded:
            self.when(worker.handle.ask("stop"), partial(self._stopped, worker))
        with suppress(VoxError):  # the disk is full, which was reported: nothing more can be recorded
            while time.monotonic() - waited < PATIENCE_S and not all(m.stopped and not m.polling for m in loaded):
                self._hear(0.1)
        for worker in self._records.values():
            if not worker.stopped or worker.polling:
                self._unheard |= self.dispatch.lines_of(worker.name)
            worker.handle.kill()

    def _stopped(self, worker: WorkerRecord, future: Future[PollReply]) -> None:
        worker.stopped = True
        if future.exception() is None:
            self._landed(worker, future.result())
        else:
            self._unheard |= self.dispatch.lines_of(worker.name)


def _portable(job: Job, out: Path) -> Job:
    """Return a job whose file is relative to the output folder, and whose recordings a worker finds for its check."""
    here = {name: path.absolute() for name in ("ref", "prompt_audio") if (path := getattr(job, name)) is not None}
    return replace(job, out=job.out.relative_to(out), **here)


def _seeded(utterance: Utterance) -> Utterance:
    """Draw a seed for an utterance without one, so that a retry on another worker gives the same audio."""
    if utterance.job.settings.seed is not None or utterance.seed is not None:
        return utterance
    return replace(utterance, seed=secrets.randbits(31))
