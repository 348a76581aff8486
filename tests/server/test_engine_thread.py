"""The engine's thread with a tiny model: events, cancels, pauses, and nothing left behind."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from voxcli import faults
from voxcli.audio.encode import RAW
from voxcli.audio.pcm import pcm16
from voxcli.audio.read import read_voice
from voxcli.engine.engine import Engine
from voxcli.engine.load import LoadedEngine
from voxcli.engine.request import Clip
from voxcli.errors import DeviceError
from voxcli.jobs.job import Job
from voxcli.jobs.plan import prepare
from voxcli.jobs.settings import Settings
from voxcli.model.voxcpm2 import VoxCPM2
from voxcli.model.weights import load_model
from voxcli.run.stream import Stream
from voxcli.server.engine_thread import EngineThread
from voxcli.server.messages import Done, Event, Failed, Sound, Stopped, Task
from voxcli.server.work import FileWork

LONG = "Hello there. So it is. On it goes."  # two segments of at most 20 characters
JOE = Path(__file__).parents[2] / "samples" / "demo" / "joe.wav"


@pytest.fixture(scope="module")
def model(tiny_checkpoint: Path) -> VoxCPM2:
    return load_model(tiny_checkpoint, device="cpu")


class Running:
    """A thread, and its events in their order."""

    def __init__(self, model: VoxCPM2):
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        loaded = LoadedEngine(Engine(model), "tiny", Path())
        self.thread = EngineThread(loaded, lambda events: [self.events.put(event) for event in events] and None)

    def next(self) -> Event:
        return self.events.get(timeout=60)

    def until_end(self, *names: str) -> dict[str, list[Event]]:
        """Events of tasks up to the last of each."""
        found: dict[str, list[Event]] = {name: [] for name in names}
        open_tasks = set(names)
        while open_tasks:
            event = self.next()
            assert not isinstance(event, Stopped), event
            found[event.id].append(event)
            if not isinstance(event, Sound):
                open_tasks.discard(event.id)
        return found

    def check(self) -> None:
        """Nothing is left of any task."""
        engine = self.thread.engine
        self.thread.stop()
        while not isinstance(self.next(), Stopped):
            pass
        while engine.has_work:
            engine.step()
        engine.check_integrity()
        assert engine.scheduler.pool.free == engine.scheduler.pool.total and not engine.state.owned
        assert engine.streams.open == 0
        assert not self.thread._works and not self.thread._owners and not self.thread._turns


@pytest.fixture
def running(model: VoxCPM2) -> Iterator[Running]:
    started = Running(model)
    started.thread.start()
    yield started
    if started.thread._thread.is_alive():
        started.check()


def task(name: str, text: str = "Hello there.", *, stream: bool = False, format: str = RAW, **values: Any) -> Task:
    settings = {"seed": 3, "steps": 2, "min_seconds": 0.5, "max_seconds": 2.0} | values.pop("settings", {})
    job = Job(name, text, Path("a"), settings=Settings(**settings), **values)
    return Task(name, prepare(job), stream, format)


def samples(events: list[Event]) -> np.ndarray:
    return np.concatenate([event.samples for event in events if isinstance(event, Sound)])


def alone(model: VoxCPM2, made: Task) -> np.ndarray:
    return np.concatenate(list(Stream(Engine(model), made.utterance, notify=lambda note: None)))


@pytest.mark.parametrize(
    "settings", [{}, {"max_chars": 20, "max_seconds": None}, {"max_chars": 20, "sample_rate": 16_000}]
)
def test_streams_and_files_side_by_side_are_those_of_the_commands(
    model: VoxCPM2, running: Running, settings: dict[str, Any]
) -> None:
    streams = [task(f"s{seed}", LONG, stream=True, settings={"seed": seed, **settings}) for seed in range(2)]
    for each in [*streams, task("file")]:
        running.thread.submit(each)
    found = running.until_end("s0", "s1", "file")
    for each in streams:
        heard = samples(found[each.id])
        assert np.array_equal(heard, alone(model, each))
        last = found[each.id][-1]
        assert isinstance(last, Done) and last.content is None
        rate = settings.get("sample_rate") or model.sample_rate
        assert last.result.duration_s == pytest.approx(len(heard) / rate, abs=1e-4)
        assert (last.result.seed, last.result.sample_rate) == (int(each.id[1:]), rate)
    (done,) = found["file"]
    assert isinstance(done, Done)
    assert done.content == pcm16(alone(model, task("file"))).tobytes()
    running.check()


def test_a_stream_that_is_cut_off_ends_at_once(model: VoxCPM2, running: Running) -> None:
    made = task("a", LONG, stream=True, settings={"max_chars": 20, "max_seconds": 0.7})
    running.thread.submit(made)
    events = running.until_end("a")["a"]
    assert len(samples(events)) == round(0.7 * model.sample_rate)
    last = events[-1]
    assert isinstance(last, Done) and last.result.stop_reason == "length"
    assert "cut off at a length limit" in last.result.warnings
    running.check()


def test_a_cancelled_task_gives_no_more_events_and_leaves_nothing(running: Running) -> None:
    running.thread.submit(task("gone", LONG, stream=True, settings={"max_chars": 20, "max_seconds": None}))
    running.thread.submit(task("stays", LONG, stream=True))
    assert running.next()
    running.thread.cancel("gone")
    running.thread.cancel("never was")
    after = running.thread.status  # the call is carried out before the next step
    while not (isinstance(event := running.next(), Done) and event.id == "stays"):
        pass
    running.thread.submit(task("next"))
    events = running.until_end("next")
    assert len(events["next"]) == 1 and after().rows == 0
    running.check()


def test_a_held_stream_stops_between_segments_and_goes_on(model: VoxCPM2, running: Running) -> None:
    made = task("a", LONG, stream=True, settings={"max_chars": 20, "max_seconds": None})
    running.thread.hold("a", True)  # not there yet: nothing happens
    running.thread.submit(made)
    running.thread.hold("a", True)
    running.thread.submit(task("b"))
    first = []
    while not (isinstance(event := running.next(), Done) and event.id == "b"):
        first.append(event)
    running.thread.submit(task("c"))
    while not (isinstance(event := running.next(), Done) and event.id == "c"):
        first.append(event)
    heard = samples(first)
    whole = alone(model, made)
    assert 0 < len(heard) < len(whole) / 2, "one of three segments"
    running.thread.hold("a", False)
    rest = running.until_end("a")["a"]
    assert np.array_equal(np.concatenate((heard, samples(rest))), whole)
    running.check()


def test_an_error_of_one_task_is_its_own(running: Running) -> None:
    faults.arm("line:error:@broken")
    try:
        running.thread.submit(task("bad", "This one is broken."))
        running.thread.submit(task("good"))
        found = running.until_end("bad", "good")
    finally:
        faults.arm("")
    (failed,) = found["bad"]
    assert isinstance(failed, Failed) and str(failed.error) == "unexpected RuntimeError: a fault at line"
    assert isinstance(found["good"][0], Done)
    running.check()


def test_an_unexpected_error_with_a_clip_is_its_tasks_own(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    collect = FileWork._collect

    def broken(work: FileWork, index: int, clip: Clip) -> None:
        if work.id == "bad":
            raise ValueError("no room")
        collect(work, index, clip)

    monkeypatch.setattr(FileWork, "_collect", broken)
    running.thread.submit(task("bad"))
    running.thread.submit(task("good"))
    found = running.until_end("bad", "good")
    (failed,) = found["bad"]
    assert isinstance(failed, Failed) and str(failed.error) == "unexpected ValueError: no room"
    assert isinstance(found["good"][0], Done)
    running.check()


def test_a_recording_is_read_beside_the_steps(running: Running, tmp_path: Path) -> None:
    running.thread.submit(task("ref", ref=JOE))
    running.thread.submit(task("missing", ref=tmp_path / "none.wav"))
    running.thread.submit(task("named", voice=tmp_path / "none.safetensors"))
    found = running.until_end("ref", "missing", "named")
    assert isinstance(found["ref"][0], Done) and found["ref"][0].result.voice_notes
    for name in ("missing", "named"):
        assert isinstance(found[name][0], Failed)
    running.check()


def test_when_the_device_fails_every_task_is_told_and_the_thread_ends(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> None:
        raise DeviceError("cuda no longer works")

    monkeypatch.setattr(running.thread.engine, "step", fails)
    running.thread.submit(task("a"))
    running.thread.submit(task("b", stream=True))
    events = [running.next() for _ in range(3)]
    assert {event.id for event in events if isinstance(event, Failed)} == {"a", "b"}
    assert isinstance(events[2], Stopped) and str(events[2].error) == "cuda no longer works"
    running.thread._thread.join(10)
    assert not running.thread._thread.is_alive()


def test_stopping_ends_what_runs(running: Running) -> None:
    running.thread.submit(task("a", LONG, stream=True))
    assert running.next()
    running.thread.stop()
    events: list[Event] = []
    while not events or not isinstance(events[-1], Stopped):
        events.append(running.next())
    failed = [event for event in events if isinstance(event, Failed)]
    assert [str(event.error) for event in failed] == ["the server is stopping"]


def test_what_comes_while_or_after_the_thread_ends_fails_too(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    ending = threading.Event()

    def fails() -> None:
        ending.wait(10)
        raise DeviceError("cuda no longer works")

    monkeypatch.setattr(running.thread.engine, "step", fails)
    running.thread.submit(task("a"))
    while running.thread._calls.qsize():
        time.sleep(0.001)
    running.thread.submit(task("during the last step"))
    ending.set()
    running.thread._thread.join(10)
    running.thread.submit(task("after", stream=True))
    events = [running.next() for _ in range(4)]
    assert {event.id: str(event.error) for event in events if isinstance(event, Failed)} == dict.fromkeys(
        ("a", "during the last step", "after"), "cuda no longer works"
    )
    assert sum(isinstance(event, Stopped) for event in events) == 1
    with pytest.raises(DeviceError, match="cuda no longer works"):
        running.thread.encode(read_voice(JOE, 16_000), words=False).result(10)
    running.thread.cancel("after")
    running.thread.stop()  # returns at once
