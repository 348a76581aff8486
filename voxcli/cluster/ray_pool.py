"""Workers on Ray, on this machine or on a cluster. This is the only module that imports Ray.

Ray starts processes with their own GPUs or cores, reports their deaths, and moves values between machines. `driver`
and `dispatch` decide which worker speaks which line.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import uuid
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from voxcli.check.options import CheckOptions
from voxcli.cluster.driver import Driver
from voxcli.cluster.messages import WorkerConfig, WorkerReady
from voxcli.cluster.options import ClusterOptions
from voxcli.cluster.placement import Placement, place_workers
from voxcli.cluster.pool import WorkerDied
from voxcli.cluster.worker import Worker
from voxcli.errors import InputError, SynthesisError, VoxError, in_one_line
from voxcli.files.write import TEMPORARY, write_atomic
from voxcli.interrupts import TERMINATED, cleanup, interruptible
from voxcli.jobs.plan import Utterance
from voxcli.jobs.result import Outcome
from voxcli.model.hub import fetch
from voxcli.run.batch import BatchRun
from voxcli.terminal import counted
from voxcli.voices.source import EncodedVoice

NAMESPACE = "voxcpm2"
CALLS = 8  # concurrent calls of one worker: a long poll, lines, a voice or two, a stop
STORE = 256 << 20  # bytes of Ray's object store when it is started for one run; it holds voices
# No usage statistics are sent. Ray's core logs only fatal errors to the terminal. Workers run at the priority of this
# command; Ray's default is nice 15. Set these variables in the environment to override them.
SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_BACKEND_LOG_LEVEL": "fatal", "RAY_worker_niceness": "0"}
END_S = 30.0  # timeout for killing the process of a worker that hangs: Ray starts another process there to do it
ANSWER_S = 10.0  # timeout for connecting to the address of a cluster
WATCHED_S, UNWATCHED_S = 0.5, 10.0  # how often a worker without results replies, with and without a progress display


class RayBackend:
    """Runs a batch on Ray workers, each with one engine."""

    def __init__(self, options: ClusterOptions, check: CheckOptions | None = None):
        self.options = options
        self.check = check
        self.unrecorded = False

    def outcomes(self, rounds: Iterable[list[Utterance]], run: BatchRun) -> Generator[Outcome, None, None]:
        """Yield outcomes as they arrive. Every machine must have the run's model. See `Backend`."""
        from voxcli.model.config import read_config

        model = run.model

        with cleanup(), ExitStack() as stack:
            with run.timer("starting Ray"):
                stack.enter_context(_connected(self.options.address))
            probe, nonce = stack.enter_context(_probe(run.out))
            placement = place_workers(
                self.options.count, run.options.device, _nodes(), alone=self.options.address is None
            )
            lora = run.options.lora and run.options.lora.resolve()
            config = WorkerConfig(
                model=model.portable_name,
                identity=run.identity,
                options=replace(run.options, model=None, device=placement.device, lora=lora),
                folder=str(run.out.resolve()),
                probe=probe,
                nonce=nonce,
                threads=placement.threads,
                watched=run.display.watched,
                check=self.check,
            )
            run.display.notify(str(placement))
            pool = RayPool(config, placement)
            stack.callback(pool.close)
            driver = Driver(
                pool,
                rounds,
                run,
                options=self.options,
                rate=read_config(model.folder).audio_vae_config.sample_rate,
                encoder=run.encoder,
                poll_s=WATCHED_S if run.display.watched else UNWATCHED_S,
            )
            try:
                with interruptible():
                    yield from driver.run()
            finally:
                self.unrecorded = driver.unrecorded


class RayPool:
    """Workers as Ray actors; Ray chooses their machines."""

    def __init__(self, config: object, placement: Placement, kind: type = Worker):
        """kind: the class of a worker, made with `config`."""
        self.size = placement.count
        self._config = config
        self._ending: list[Any] = []
        self._actor = ray.remote(
            num_cpus=placement.cpus, num_gpus=placement.gpus, max_concurrency=CALLS, max_restarts=0, max_task_retries=0
        )(kind)

    def start(self) -> RayWorker:
        return RayWorker(self._actor.remote(self._config), self._ending)

    def share(self, value: EncodedVoice) -> object:
        return ray.put(value)  # owned by this process, so it outlives the worker that made it

    def close(self) -> None:
        """Wait until processes of workers that hung are killed: without Ray they would stay behind, stopped."""
        with suppress(RayError):
            ray.wait(self._ending, num_returns=len(self._ending), timeout=END_S)


class RayWorker:
    """A worker as a Ray actor. ending: list that receives the Ray tasks that kill processes."""

    def __init__(self, actor: Any, ending: list[Any]):
        self._actor = actor
        self._ending = ending

    def ask(self, method: str, *values: object) -> Future[Any]:
        answer: Future[Any] = Future()

        def done(call: Future[Any]) -> None:
            error = call.exception()
            if error is None:
                answer.set_result(call.result())
            else:
                answer.set_exception(_plain(error))

        try:
            getattr(self._actor, method).remote(*values).future().add_done_callback(done)
        except RayError as error:
            answer.set_exception(_plain(error))
        return answer

    def kill(self, ready: WorkerReady | None = None) -> None:
        with suppress(RayError, ValueError):
            ray.kill(self._actor)
        if ready is not None:  # ray.kill asks the process to exit, which one that hangs does not do
            for node in ray.nodes():
                if node["Alive"] and node["NodeManagerHostname"] == ready.host:
                    there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
                    task = ray.remote(num_cpus=0)(_end_process).options(scheduling_strategy=there)
                    self._ending.append(task.remote(ready.process))


def _end_process(process: int) -> None:
    """Kill a worker that hangs; runs on its machine."""
    command = Path(f"/proc/{process}/cmdline")
    if not os.path.exists(command.parent.parent) or (os.path.exists(command) and b"ray::" in command.read_bytes()):
        with suppress(OSError):
            os.kill(process, signal.SIGKILL)


def _plain(error: BaseException) -> BaseException:
    """Unwrap the exception a worker raised, or return a short WorkerDied for Ray's long message about a dead actor."""
    if isinstance(error, RayTaskError):
        cause: BaseException = error.cause
        return cause
    if "creation task" in str(error):  # the actor could not be created: this package is missing there
        return RuntimeError(str(error).strip().splitlines()[-1])
    kind = type(error).__name__
    return WorkerDied({"ActorDiedError": "its process ended", "ActorUnavailableError": "unreachable"}.get(kind, kind))


@contextmanager
def local_pool(
    count: int | None, device: str, kind: type, config: Callable[[Placement], object]
) -> Iterator[tuple[RayPool, Placement]]:
    """Start Ray on this machine for workers of another kind. count: see `place_workers`.  config: of a worker.

    Raises InputError when the workers do not fit, SynthesisError when Ray can't be started.
    """
    with _connected(None):
        placement = place_workers(count, device, _nodes(), alone=True)
        pool = RayPool(config(placement), placement, kind)
        try:
            yield pool, placement
        finally:
            pool.close()


def fetch_everywhere(address: str, hub_id: str, notify: Callable[[str], None]) -> dict[str, Path | VoxError]:
    """Download a model on every machine of a cluster. Returns each machine's folder, or the error, by its name."""
    with cleanup(), _connected(address), interruptible():
        task = ray.remote(num_cpus=0, max_retries=0)(_fetch_there)
        asked = {}
        for node in ray.nodes():
            if node["Alive"]:
                here = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
                asked[f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})"] = task.options(
                    scheduling_strategy=here
                ).remote(hub_id)
        machines = counted(len(asked), "machine")
        notify(f"downloading {hub_id} on {machines}; machines that have it are skipped")
        return {name: _answer(reference) for name, reference in asked.items()}


def _fetch_there(hub_id: str) -> Path:
    """Download a model; runs on each machine."""
    return fetch(hub_id, lambda remark: None)


def _answer(reference: Any) -> Path | VoxError:
    try:
        folder: Path = ray.get(reference)
    except RayError as error:
        plain = _plain(error)
        return plain if isinstance(plain, VoxError) else VoxError(str(plain))
    return folder


@contextmanager
def _connected(address: str | None) -> Iterator[None]:
    """Connect to Ray for the duration of the block.

    Without an address, Ray is started on this machine and stopped afterwards. A running cluster is left running.
    Raises InputError when no cluster answers at the address, SynthesisError when Ray can't be started.
    """
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    terminate = signal.getsignal(signal.SIGTERM)
    quiet: dict[str, Any] = {"namespace": NAMESPACE, "log_to_driver": False, "logging_level": logging.CRITICAL}
    try:
        with warnings.catch_warnings(), _without_stderr():  # Ray prints its log level there
            warnings.simplefilter("ignore")  # hints about later versions of Ray
            if address is None:
                ray.init("local", num_cpus=_cores(), include_dashboard=False, object_store_memory=STORE, **quiet)
            else:
                if address != "auto":  # Ray itself would retry for minutes
                    host, _, port = address.rpartition(":")
                    socket.create_connection((host.strip("[]"), int(port)), ANSWER_S).close()
                ray.init(address, **quiet)
    except SystemExit:  # raised by Ray's own SIGTERM handler, which is installed during init
        raise SystemExit(TERMINATED) from None
    except (OSError, ValueError, RuntimeError, OverflowError, RayError) as error:
        if address is None:
            raise SynthesisError(f"Ray can't be started here: {in_one_line(error)}") from error
        raise InputError(
            f"no Ray cluster answers at {address}: {in_one_line(error)}; `ray start --head` makes this machine one"
        ) from error
    finally:
        signal.signal(signal.SIGTERM, terminate)  # Ray's own handler exits with another code
    try:
        # Ray reports dead workers on stdout, which is for data. The driver reports them on stderr.
        with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
            yield
    finally:
        ray.shutdown()


def _cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _nodes() -> list[tuple[int, int]]:
    """(cores, GPUs) of each machine."""
    alive = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return [(int(resources.get("CPU", 0)), int(resources.get("GPU", 0))) for resources in alive]


@contextmanager
def _without_stderr() -> Iterator[None]:
    """Discard everything written to file descriptor 2, including by C code; the progress display pauses meanwhile."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@contextmanager
def _probe(folder: Path) -> Iterator[tuple[str, str]]:
    """Create a file by which workers recognize the folder; yields its name and content.

    Its name is that of a temporary file, so the next run removes it if this run is killed.
    """
    name, nonce = TEMPORARY.replace("*", f"probe-{uuid.uuid4().hex}"), uuid.uuid4().hex
    write_atomic(folder / name, nonce.encode())
    try:
        yield name, nonce
    finally:
        with suppress(OSError):
            (folder / name).unlink()
