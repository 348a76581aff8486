"""One engine in a thread of its own, which no connection ever waits for.

    submit -> voice (reader threads) -> segments, one task after another -> engine.step -> events

Its methods may be called from any thread; they are carried out between two steps. Events of a step are handed out
together, to `emit`, which is called in this thread and must not block.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock, Thread

from voxcli import faults
from voxcli.audio.read import Recording
from voxcli.engine.load import LoadedEngine
from voxcli.engine.request import Clip
from voxcli.errors import DeviceError, SynthesisError, VoxError, as_vox_error
from voxcli.server.messages import Done, EngineStatus, Event, Failed, Stopped, Task
from voxcli.server.voice_reader import Parts, VoiceReader
from voxcli.server.work import FileWork, StreamWork, Work
from voxcli.voices.source import EncodedVoice
from voxcli.voices.store import Latents

WRITERS = 4  # threads that encode finished files, on a GPU
AHEAD = 8  # one request for this many rows waits in the engine for a free row


class EngineThread:
    """emit: receives the events of a step."""

    def __init__(self, loaded: LoadedEngine, emit: Callable[[list[Event]], None]):
        self.engine = loaded.engine
        self.name = loaded.name
        self._emit = emit
        self._voices = VoiceReader(loaded.engine, loaded.encoder)
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._works: dict[str, Work] = {}  # by id, from submission to the last event
        self._owners: dict[str, Work] = {}  # by id of a request in the engine
        self._turns: deque[Work] = deque()  # works with ready segments, the next one first
        self._events: list[Event] = []
        self._stopped = False
        self._ended: VoxError | None = None  # why no call is carried out any more
        self._ending = Lock()
        on_cpu = self.engine.model.device.type == "cpu"
        self._writers = ThreadPoolExecutor(1 if on_cpu else WRITERS, thread_name_prefix="writer")
        self._readers = ThreadPoolExecutor(1, thread_name_prefix="voices")
        self._thread = Thread(target=self._run, name="engine", daemon=True)

    # -- from any thread ------------------------------------------------------------------------------------------
    def start(self) -> None:
        self._thread.start()

    async def loaded(self) -> str:
        """The name of the model."""
        return self.name

    def submit(self, task: Task) -> None:
        """Speak a task. It fails where the thread has ended, or ends before the task begins."""
        if (ended := self._call(partial(self._submit, task))) is not None:
            self._emit([Failed(task.id, ended)])

    def cancel(self, task_id: str) -> None:
        """Drop a task. Its row and pages are free before the next step; it gives no more events."""
        self._call(partial(self._drop, task_id))

    def hold(self, task_id: str, held: bool) -> None:
        """Begin no further segment of a stream until it is released again."""
        self._call(partial(self._hold, task_id, held))

    @property
    def encoder_rate(self) -> int:
        return self.engine.model.encoder_rate

    def encode(self, recording: Recording, words: bool) -> Future[dict[str, Latents]]:
        """Encode a recording for a stored voice. words: they are known, so that it can be continued as well."""
        answer: Future[dict[str, Latents]] = Future()
        if self.engine.model.device.type != "cuda":
            with self._ending:  # the readers end with the thread
                if self._ended is None:
                    return self._readers.submit(self._voices.latents, recording, words)
            answer.set_exception(self._ended)
            return answer

        def call() -> None:
            try:
                if self._ended is not None:
                    raise self._ended
                answer.set_result(self._voices.latents(recording, words))
            except Exception as error:
                answer.set_exception(error)

        if (ended := self._call(call)) is not None:
            answer.set_exception(ended)
        return answer

    def stop(self) -> None:
        """End the thread after the current step; tasks in progress are dropped."""
        self._call(self._stop)
        self._thread.join()

    def status(self) -> EngineStatus:
        scheduler = self.engine.scheduler
        pool = scheduler.pool
        waiting = sum(len(work.ready) for work in list(self._works.values()))
        return EngineStatus(
            rows=len(scheduler.running),
            rows_total=scheduler.max_running,
            pages=pool.total - pool.free,
            pages_total=pool.total,
            waiting=waiting + scheduler.waiting,
            steps=self.engine.counters.steps,
        )

    def _call(self, call: Callable[[], None]) -> VoxError | None:
        """Have a function called in the thread; return why it never will be where the thread has ended."""
        with self._ending:
            if self._ended is None:
                self._calls.put(call)
            return self._ended

    # -- the engine's thread --------------------------------------------------------------------------------------
    def _run(self) -> None:
        error: VoxError | None = None
        try:
            while not self._stopped:
                self._carry_out(wait=not self._turns and not self.engine.has_work)
                self._admit()
                for clip in self.engine.step() if self.engine.has_work and not self._stopped else ():
                    self._collect(clip)
                for work in [work for work in self._works.values() if work.over and work.in_engine]:
                    self._leave_engine(work)
                    work.cut_short()
                    self._settle(work)
                self._flush()
        except Exception as failure:
            error = as_vox_error(failure)
        with self._ending:
            self._ended = error or SynthesisError("the server is stopping")
        self._carry_out(wait=False)  # what was called for meanwhile: every task gets its end
        for task_id in list(self._works):
            self._fail(self._works[task_id], self._ended)
        self._add_event(Stopped(error))
        self._flush()
        self._readers.shutdown(wait=False, cancel_futures=True)
        self._writers.shutdown(wait=False, cancel_futures=True)

    def _carry_out(self, *, wait: bool) -> None:
        try:
            call = self._calls.get() if wait else self._calls.get_nowait()
            while True:
                call()
                call = self._calls.get_nowait()
        except Empty:
            return

    def _stop(self) -> None:
        self._stopped = True

    def _submit(self, task: Task) -> None:
        if self._ended is not None:
            self._add_event(Failed(task.id, self._ended))
            return
        model = self.engine.model
        work = StreamWork(task, model, self._add_event) if task.stream else FileWork(task, model)
        self._works[task.id] = work
        if not work.running.job.voices:
            self._begin(work, EncodedVoice())
            return
        reading = self._readers.submit(self._voices.read, work.running.job)
        reading.add_done_callback(lambda parts: self._calls.put(partial(self._voiced, work, parts)))

    def _voiced(self, work: Work, parts: Future[Parts]) -> None:
        if work.id not in self._works or self._ended is not None:
            return
        try:
            voice = self._voices.encoded(parts.result())
        except DeviceError:
            raise
        except Exception as error:
            self._fail(work, as_vox_error(error))
            return
        self._begin(work, voice)

    def _begin(self, work: Work, voice: EncodedVoice) -> None:
        work.begin(voice)
        self._turns.append(work)

    def _admit(self) -> None:
        """Give segments to the engine as it has room, of one task after another."""
        scheduler = self.engine.scheduler
        while self._turns and len(scheduler) < scheduler.max_running + scheduler.max_running // AHEAD + 1:
            work = self._turns.popleft()
            try:
                faults.point("line", work.running.job.text)
                request = work.next_request()
                self.engine.add(request)
            except Exception as error:
                self._fail(work, as_vox_error(error))
                continue
            self._owners[request.request_id] = work
            if work.ready:
                self._turns.append(work)

    def _collect(self, clip: Clip) -> None:
        work = self._owners.pop(clip.request_id, None)
        if work is None:  # of a task that was dropped
            return
        try:
            work.collect(clip)
        except Exception as error:  # this task's alone
            self._fail(work, as_vox_error(error))
            return
        self._settle(work)

    def _settle(self, work: Work) -> None:
        """Go on with a work one of whose segments has ended."""
        if work.complete:
            self._writers.submit(work.finish).add_done_callback(
                lambda done: self._calls.put(partial(self._finished, work, done))
            )
        elif work.ready and work not in self._turns and not getattr(work, "held", False):
            self._turns.appendleft(work)  # it is being listened to, or nearly done

    def _finished(self, work: Work, done: Future[Done]) -> None:
        if self._works.pop(work.id, None) is None:
            return
        error = done.exception()
        if isinstance(error, Exception):
            self._add_event(Failed(work.id, as_vox_error(error)))
        else:
            self._add_event(done.result())

    def _hold(self, task_id: str, held: bool) -> None:
        work = self._works.get(task_id)
        if isinstance(work, StreamWork):
            work.held = held
            if not held and work.ready and work not in self._turns:
                self._turns.appendleft(work)

    def _fail(self, work: Work, error: VoxError) -> None:
        self._drop(work.id)
        self._add_event(Failed(work.id, error))

    def _drop(self, task_id: str) -> None:
        work = self._works.pop(task_id, None)
        if work is not None:
            if work in self._turns:
                self._turns.remove(work)
            self._leave_engine(work)

    def _leave_engine(self, work: Work) -> None:
        for request_id in list(work.in_engine):
            self.engine.cancel(request_id)
            self._owners.pop(request_id, None)
            del work.in_engine[request_id]

    def _add_event(self, event: Event) -> None:
        self._events.append(event)

    def _flush(self) -> None:
        if self._events:
            events, self._events = self._events, []
            self._emit(events)
