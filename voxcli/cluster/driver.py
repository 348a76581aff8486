"""A run with many workers, from the side that drives it: lines out, results in, dead workers made anew.

It waits for one thing at a time: whatever a worker or a reader of voices has finished comes as an event. What becomes
of lines is decided in `dispatch`, where workers live is known to a `WorkerPool`; results are noted here alone.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from voxcli.cluster.collector import ResultCollector
from voxcli.cluster.dispatch import Dispatcher, Task
from voxcli.cluster.messages import PollReply, WorkerReady, WorkItem
from voxcli.cluster.options import ClusterOptions
from voxcli.cluster.pool import WorkerDied, WorkerPool, WorkerRecord
from voxcli.cluster.voices import PendingVoice, SharedVoices
from voxcli.errors import DeviceError, SynthesisError, VoxError, in_one_line
from voxcli.interrupts import cleanup, interruptible
from voxcli.jobs.plan import Utterance
from voxcli.jobs.result import Outcome, failure
from voxcli.run.batch import BatchRun
from voxcli.run.profile import MODEL
from voxcli.terminal import counted
from voxcli.voices.source import EncodedVoice

MAX_FRUITLESS_DEATHS = 12  # deaths in a row, or four of each worker, without one line spoken: then it is not the lines
LATE_S = 30.0  # after that no share of the lines is kept for a worker that has not loaded
ENCODES = 2  # voices that one worker encodes at once
PATIENCE_S = 10.0  # for workers to finish the files they are at, when a run ends before its time


class Driver:
    """Runs utterances, longest first, on a pool of workers.

    run:         its folder, in which all files lie, its log, display and timer.
    options:     how often a line is retried, and when a worker counts as hung.
    rate:        of the model's voice encoder in Hz, and `encoder` gives its identity.
    poll_s:      how long a worker waits for a result before it answers that there is none.
    """

    def __init__(
        self,
        pool: WorkerPool,
        utterances: Iterable[Utterance],
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
        self._poll_s = min(poll_s, options.hang_s / 3)  # one that works must have answered several times by then
        self._utterances = [_seeded(utterance) for utterance in utterances]
        self._left = len(self._utterances)
        self._records: dict[str, WorkerRecord] = {}
        self._fruitless = 0
        self._ending = False
        self._unheard: set[str] = set()  # lines whose worker went without a word about them
        self._looked = time.monotonic()  # for those that are late
        self._events: SimpleQueue[tuple[Callable[[Future[Any]], None], Future[Any]]] = SimpleQueue()
        self._outcomes: list[Outcome] = []
        self._collector = ResultCollector(run.out, run.log, run.timer)
        self._voices = SharedVoices(
            self._utterances,
            rate=rate,
            identity=encoder,
            share=pool.share,
            events=self,
            notify=self.notify,
        )

    def run(self) -> Iterator[Outcome]:
        """Outcomes as they land. Raises VoxError when a worker can't load, or when they die and nothing is spoken."""
        with cleanup(), self._collector, self._voices, self._workers(), interruptible():
            self.dispatch.add(each for each in self._utterances if not each.job.voices)
            while self._left:
                self._give_work()
                with self.batch.timer(MODEL):
                    self._hear(1.0)
                while self._outcomes:
                    yield self._outcomes.pop(0)

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
        """Whether files may be there that no result names: a worker made them and could not report it."""
        return bool(self._unheard)

    def ready(self, utterances: list[Utterance]) -> None:
        """Their voices are there."""
        self.dispatch.add(utterances)

    # -- events -------------------------------------------------------------------------------------------------
    def when(self, future: Future[Any], then: Callable[[Future[Any]], None]) -> None:
        """Have `then` called with the future when that is done, by the thread that runs."""
        future.add_done_callback(lambda done: self._events.put((then, done)))

    def _hear(self, wait_s: float) -> None:
        """The next event, and all that are there with it."""
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
                asked = worker.handle.ask("encode", todo.voice, todo.source.use)
                self.when(asked, partial(self._encoded, worker, todo))
        for name, lines in self.dispatch.hand_out().items():
            self._hand(self._records[name], lines)
        while (asked_back := self.dispatch.rebalance()) is not None:
            name, count = asked_back
            worker = self._records[name]
            self.when(worker.handle.ask("give_back", count), partial(self._given_back, worker))
        if (since := time.monotonic() - self._looked) > 1.0:
            self._looked += since
            for worker in self._records.values():  # while nobody listened here (Ctrl-Z, a slow disk) nobody hung
                worker.moved += max(0.0, since - 2.0)
            self._look_for_late_ones()
            self._look_for_hung_ones()

    def _look_for_late_ones(self) -> None:
        unloaded = [worker for worker in self._records.values() if worker.ready is None]
        late = [worker for worker in unloaded if not worker.late and self._looked - worker.since > LATE_S]
        for worker in late:
            worker.late = True
            self.dispatch.lost(worker.name)
        if late:
            loaded = len(self._records) - len(unloaded)
            self.notify(
                f"{loaded} of {counted(len(self._records), 'worker')} loaded; the others load or wait for the cluster"
            )

    def _look_for_hung_ones(self) -> None:
        """Those that answer nothing, or make no step though they have lines."""
        for worker in list(self._records.values()):
            if worker.ready is not None and self._looked - worker.moved > self._hang_s:
                self._died(worker, WorkerDied(f"nothing has moved there for {self._hang_s:.0f} s"), hung=True)

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
            there = replace(line.utterance, job=replace(job, out=job.out.relative_to(self.out)))
            items.append(WorkItem(there, tuple(mine)))
        self.when(worker.handle.ask("put", items, *voices), partial(self._handed, worker))

    # -- workers ------------------------------------------------------------------------------------------------
    def _start(self, name: str, again: bool = False) -> None:
        worker = self._records[name] = WorkerRecord(name, self.pool.start(), time.monotonic(), again)
        self.dispatch.expect(name)
        self.when(worker.handle.ask("load"), partial(self._loaded, worker))

    def _here(self, worker: WorkerRecord) -> bool:
        """Whether an event is of a worker that is still in the pool."""
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
            raise SynthesisError(f"a worker could not start: {in_one_line(error)}") from error  # type: ignore[arg-type]
        worker.ready = ready = future.result()
        worker.moved = time.monotonic()
        if all(other is worker or other.ready is None for other in self._records.values()):
            workers = counted(self.pool.size, "worker")
            self.batch.display.speaking(f"{ready.name}, {workers}", ready.patch_s)
        if worker.late:  # until now no share was kept for it
            self.dispatch.expect(worker.name)
        self.dispatch.join(worker.name, ready.rows)
        self._ask(worker)

    def _given_up(self, worker: WorkerRecord, error: Exception) -> None:
        """Where it ran, none can be started any more, as on a GPU that is broken: the others go on."""
        del self._records[worker.name]
        worker.handle.kill()
        if worker.name in self.dispatch.loads:
            self.dispatch.lost(worker.name)
        self.notify(
            f"{worker} can't be started again: {in_one_line(error)}; {counted(len(self._records), 'worker')} left"
        )

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
        """Its unfinished lines run elsewhere, and another worker takes its place."""
        self.batch.last_death = time.time()
        worker.stopped = True
        self._unheard |= self.dispatch.lines_of(worker.name)
        if self._ending:
            return
        worker.handle.kill(worker.ready if hung else None)  # whatever is left of it
        load = self.dispatch.loads.get(worker.name)  # none of one that is late
        unfinished = len(load.lines) if load is not None else 0
        failed = self.dispatch.lost(worker.name) if load is not None else []
        reason = str(error) if isinstance(error, WorkerDied) else in_one_line(error)  # type: ignore[arg-type]
        left = unfinished - len(failed)
        again = (
            f"; its {left} unfinished lines run again"
            if left > 1
            else "; its unfinished line runs again"
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
                f"workers died {self._fruitless} times in a row and no line was spoken, the last one: {reason}; "
                "the same command goes on with what is left"
            )
        self._start(worker.name, again=True)

    # -- results ------------------------------------------------------------------------------------------------
    def _landed(self, worker: WorkerRecord, reply: PollReply) -> None:
        """Note what came, once for each line: what another worker has by now is not this one's to end."""
        for remark in reply.remarks:
            self.notify(f"{worker}: {remark}")
        mine = [
            (line.utterance, landed)
            for landed in reply.landed
            if (line := self.dispatch.finish(worker.name, landed.result.id)) is not None
        ]
        if mine:
            self._note(self._collector.placed(mine))

    def fail(self, utterance: Utterance, error: Exception) -> None:
        told = error if isinstance(error, VoxError) else SynthesisError(f"unexpected {in_one_line(error)}")
        self._note([(utterance, failure(utterance.job, told, self.out))])

    def _note(self, pairs: Sequence[tuple[Utterance, Outcome]]) -> None:
        self._collector.note([outcome for _, outcome in pairs])
        for utterance, outcome in pairs:
            self._left -= 1
            self._unheard.discard(utterance.job.id)
            self._voices.ended(utterance)
            self._outcomes.append(outcome)
            if outcome.result.ok:
                self._fruitless = 0

    def _end(self) -> None:
        """All workers go. What they have finished by then is noted, what they are at is dropped."""
        self._ending = True
        waited = time.monotonic()
        loaded = [worker for worker in self._records.values() if worker.ready is not None]
        for worker in loaded:
            self.when(worker.handle.ask("stop"), partial(self._stopped, worker))
        with suppress(VoxError):  # a disk that is full, and was told: nothing more can be noted
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


def _seeded(utterance: Utterance) -> Utterance:
    """With a seed, drawn here where it needs one: a line that is run again speaks the same."""
    if utterance.job.settings.seed is not None or utterance.seed is not None:
        return utterance
    return replace(utterance, seed=secrets.randbits(31))
