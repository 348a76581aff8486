"""A worker: one engine in its own process, which speaks lines until it is stopped.

    put -> WorkQueue -> Session (a thread) -> files, or their bytes -> ResultQueue -> take

Its methods are called from outside, several at once. It does not depend on Ray. Torch is imported only in `load`,
after the number of threads is set in the environment.
"""

from __future__ import annotations

import os
import socket
import tempfile
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from voxcli import faults
from voxcli.check.checker import Checker, usual_threads
from voxcli.cluster.messages import FinishedResult, PollReply, WorkerConfig, WorkerReady, WorkItem
from voxcli.cluster.queues import ResultQueue, WorkQueue
from voxcli.engine.load import load_engine
from voxcli.errors import ModelError, in_one_line
from voxcli.jobs.job import Job
from voxcli.jobs.plan import Utterance
from voxcli.jobs.result import Result
from voxcli.model.hub import resolve_portable
from voxcli.voices.source import EncodedVoice, ReadVoice

HELD = 64 << 20  # bytes of files that a worker holds until the next poll
REPORT = 4 << 20  # bytes of files in one reply
LINGER_S = 0.05  # files finish in groups: wait a moment to send a group in one reply


class _Stop(BaseException):
    """Ends the session at its next step. A BaseException, so that it is not taken for the error of a line."""


class Worker:
    def __init__(self, config: WorkerConfig):
        self._config = config
        self._work = WorkQueue()
        self._known: dict[str, EncodedVoice] = {}  # voices of lines that have not begun, by line id
        self._remarks: deque[str] = deque()
        self._patches: dict[str, int] | None = None
        self._steps = 0
        self._ended: str | None = None
        self._stopping = False
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._checker: Checker | None = None
        self._open = ExitStack()  # closed with the session

    # -- called from outside ------------------------------------------------------------------------------------
    def load(self) -> WorkerReady:
        """Load the model and start the session; takes seconds. Raises ModelError with the name of this machine."""
        host, config = socket.gethostname(), self._config
        os.environ["OMP_NUM_THREADS"] = str(config.threads)  # torch reads it when it is imported, below
        os.environ.setdefault("GOMP_SPINCOUNT", "20000")  # see `voxcli.cli.main`
        try:
            choice = resolve_portable(config.model, config.identity, config.options.lora)
            import torch

            torch.set_num_threads(config.threads)
            self._loaded = load_engine(config.options, self._remarks.append, choice)
            if config.check is not None:
                checker = Checker(config.check, self._remarks.append, threads=usual_threads(config.threads))
                self._checker = self._open.enter_context(checker)
                checker.wait()
        except ModelError as error:
            self._open.close()
            raise type(error)(f"{host}: {error}") from None
        shares = self._shares()
        if not shares:
            self._scratch = tempfile.TemporaryDirectory(prefix="voxcpm2-")
        self._root = Path(config.folder) if self._scratch is None else Path(self._scratch.name)
        self._results = ResultQueue(HELD, None if shares else self._content)
        engine = self._loaded.engine
        engine.on_patch = self._after_a_step
        self._thread = threading.Thread(target=self._speak, name="session", daemon=True)
        self._thread.start()
        return WorkerReady(host, os.getpid(), engine.scheduler.max_running, engine.model.patch_s, self._loaded.name)

    def put(self, items: Sequence[WorkItem], *voices: EncodedVoice) -> None:
        """Queue lines in the given order. Their `out` paths are relative to the output folder."""
        for item in items:
            self._known[item.utterance.job.key] = EncodedVoice.of_parts(
                [voices[place].copied() for place in item.voices]
            )
        self._work.put([self._placed(item.utterance) for item in items])

    def take(self, wait_s: float) -> PollReply:
        """Return finished results; waits up to wait_s seconds for the first."""
        landed = self._results.take(wait_s, LINGER_S, REPORT)
        return self._report(landed)

    def give_back(self, count: int) -> list[str]:
        """Give up at most `count` lines that have not begun and return their ids."""
        identities = self._work.give_back(count)
        for identity in identities:
            del self._known[identity]
        return identities

    def encode(self, voice: ReadVoice) -> EncodedVoice:
        """Encode a recording. On CUDA this runs in the session's thread, the only one that may use the device."""
        if self._loaded.engine.model.device.type != "cuda":
            return self._encode(voice)
        answer: Future[EncodedVoice] = Future()

        def call() -> None:
            try:
                answer.set_result(self._encode(voice))
            except Exception as error:
                answer.set_exception(error)

        self._work.send(call)
        return answer.result()

    def stop(self) -> PollReply:
        """Stop. Finished lines are still written and returned, lines in progress are dropped."""
        self._stopping = True
        self._work.close()
        self._results.wake()
        self._thread.join()
        landed: list[FinishedResult] = []
        while more := self._results.take(0.0, 0.0, REPORT):
            landed += more
        if self._scratch is not None:
            self._scratch.cleanup()
        return self._report(landed)

    # -- the session's thread -----------------------------------------------------------------------------------
    def _speak(self) -> None:
        from voxcli.run.session import Session

        session = Session(
            self._loaded.engine,
            (),
            self._root,
            log=self._results,
            notify=self._remarks.append,
            feed=self._work,
            voices=_Known(self._known),
        )
        session.checker = self._checker
        session.keep_voice = self._results.keep_voice
        try:
            with self._open:
                for _ in session.run():
                    pass
            self._ended = "it has stopped"
        except _Stop:
            self._ended = "it was stopped"
        except BaseException as error:
            self._ended = in_one_line(error)
        self._results.wake()

    def _after_a_step(self, patches: dict[str, int]) -> None:
        if self._stopping:
            raise _Stop
        self._patches = patches
        self._steps += 1

    # -- helpers ------------------------------------------------------------------------------------------------
    def _encode(self, voice: ReadVoice) -> EncodedVoice:
        faults.point("voice")
        return voice.encoded(self._loaded.engine.encode_voice)

    def _placed(self, utterance: Utterance) -> Utterance:
        job = utterance.job
        return replace(utterance, job=replace(job, out=self._root / job.out))

    def _shares(self) -> bool:
        """True if the driver's output folder is visible and writable here."""
        probe = Path(self._config.folder, self._config.probe)
        try:
            faults.point("probe")
            return probe.read_text(encoding="utf-8") == self._config.nonce and os.access(probe.parent, os.W_OK)
        except OSError:
            return False

    def _content(self, result: Result) -> bytes:
        path = self._root / result.out
        content = path.read_bytes()
        path.unlink()
        return content

    def _report(self, landed: Sequence[FinishedResult]) -> PollReply:
        return PollReply(
            landed=tuple(landed),
            rows=self._loaded.engine.scheduler.max_running,
            steps=self._steps,
            patches=self._patches if self._config.watched else None,
            remarks=tuple(self._remarks.popleft() for _ in range(len(self._remarks))),
            ended=None if landed else self._ended,  # the driver stops polling at `ended`: results go first
        )


class _Known:
    """The voices that were sent with the lines, in the form a session expects."""

    def __init__(self, voices: dict[str, EncodedVoice]):
        self._voices = voices

    def __enter__(self) -> _Known:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def of(self, job: Job) -> EncodedVoice:
        return self._voices.pop(job.key)
