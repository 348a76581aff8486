"""Where an interrupt is raised, where it waits, and that it never leaves files behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from tests import children
from voxcli import interrupts
from voxcli.audio.write import write_audio
from voxcli.files.names import RESULTS_NAME
from voxcli.interrupts import cleanup, interruptible
from voxcli.jobs.result import Result
from voxcli.run.lock import FolderLock
from voxcli.run.results import ResultLog


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Install the program's handlers in this process. Calling the fixture's value resets their state."""
    terminate = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)

    def install() -> None:
        monkeypatch.setattr(interrupts, "_state", interrupts._State())
        interrupts.install()

    with children.sigint():
        install()
        yield install
        signal.signal(signal.SIGTERM, terminate)


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


pytestmark = pytest.mark.usefixtures("installed")


@pytest.mark.parametrize(("number", "raised"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
def test_an_interrupt_waits_for_an_interruptible_part(number: int, raised: type[BaseException]) -> None:
    done = []
    with pytest.raises(raised) as caught, cleanup():
        signal.raise_signal(number)
        done.append("waited")
        with interruptible():
            done.append("not reached")
    assert done == ["waited"]
    assert raised is KeyboardInterrupt or caught.value.code == 143  # type: ignore[attr-defined]


def test_in_an_interruptible_part_it_comes_at_once_and_the_blocks_around_it_clean_up() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), cleanup():
        try:
            with interruptible():
                interrupt()
                done.append("not reached")
        finally:
            interrupt()  # a duplicate: it does not interrupt the cleanup
            done.append("cleaned up")
    assert done == ["cleaned up"]


def test_an_inner_block_is_finished_first() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), cleanup(), interruptible():
        with cleanup():
            interrupt()
            done.append("finished")
        done.append("not reached")
    assert done == ["finished"]


def test_a_function_with_its_own_interruptible_part_waits_where_its_caller_does() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), cleanup(), interruptible():
        with cleanup():
            with cleanup(), interruptible():
                interrupt()
                done.append("the caller has something half done")
            done.append("and finishes it")
        done.append("not reached")
    assert done == ["the caller has something half done", "and finishes it"]


def test_long_work_in_a_block_asks() -> None:
    with cleanup():
        interrupts.check()
        interrupt()
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
        interrupts.check()  # it is raised only once


def test_blocks_in_other_threads_hold_nothing_up() -> None:
    entered, leave = threading.Event(), threading.Event()

    def work() -> None:
        with cleanup():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=work)
    thread.start()
    entered.wait()
    with pytest.raises(KeyboardInterrupt), cleanup(), interruptible():
        interrupt()
    leave.set()
    thread.join()


def test_one_that_python_drops_in_a_finalizer_comes_again() -> None:
    class Interrupted:
        def __del__(self) -> None:
            interrupt()

    with pytest.raises(KeyboardInterrupt), cleanup(), interruptible():
        Interrupted()
        while True:
            time.sleep(0.001)


def test_other_errors_in_a_finalizer_are_shown_as_ever(capsys: pytest.CaptureFixture[str]) -> None:
    class Broken:
        def __del__(self) -> None:
            raise ValueError("broken")

    Broken()
    assert "ValueError: broken" in capsys.readouterr().err


def test_it_is_not_raised_while_a_module_of_c_is_initialized(monkeypatch: pytest.MonkeyPatch) -> None:
    """C++ code that imports Python modules aborts if that raises. A function simulates such a module here."""
    done = []

    def load(inner: Callable[[], None]) -> None:
        inner()

    def imported() -> None:
        interrupt()
        done.append("loaded")

    monkeypatch.setattr(interrupts, "_EXTENSION", (load.__code__,))
    with pytest.raises(KeyboardInterrupt), cleanup(), interruptible():
        load(imported)
        while True:
            time.sleep(0.001)
    assert done == ["loaded"]


def test_where_signals_are_ignored_they_stay_ignored(installed: Callable[[], None]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    installed()
    interrupt()
    signal.raise_signal(signal.SIGTERM)
    assert interrupts._state.number == 0


def test_in_a_library_nothing_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "_state", interrupts._State())
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt), cleanup():
        interrupt()
    assert interrupts._state.blocks == 0


CHILD = """
import signal, time
from voxcli import interrupts
interrupts.install()
def arrive(number=signal.SIGINT): signal.raise_signal(number)
"""


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        ("arrive()", 130, "voxcpm2: interrupted\n"),
        ("arrive(signal.SIGTERM)", 143, "voxcpm2: terminated\n"),
        ("with interrupts.cleanup(): arrive(); print('done', flush=True)", 130, "voxcpm2: interrupted\n"),
        # a user who presses Ctrl-C again later does not want to wait for the cleanup
        (
            "with interrupts.cleanup():\n    arrive(); interrupts.SAME_S = 0.0; time.sleep(0.001); arrive()\n"
            "    print('not reached')",
            130,
            "voxcpm2: interrupted\n",
        ),
        ("print('done'); interrupts.leave(7)", 7, ""),
        ("import sys; sys.stderr = None\narrive()", 130, ""),
    ],
)
def test_with_nothing_to_undo_the_process_ends_at_once(body: str, code: int, said: str, repository: Path) -> None:
    ended = children.finished([sys.executable, "-c", CHILD + body], cwd=repository, capture_output=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (code, said)
    assert ended.stdout == ("done\n" if "done" in body else "")


def test_a_program_that_is_profiled_ends_as_python_does(repository: Path) -> None:
    body = "import sys; sys.setprofile(lambda *_: None)\ntry: interrupts.leave(3)\nfinally: print('profile')"
    ended = children.finished([sys.executable, "-c", CHILD + body], cwd=repository, stdout=subprocess.PIPE, timeout=60)
    assert (ended.returncode, ended.stdout) == (3, "profile\n")


# -- at every moment -------------------------------------------------------------------------------------------------
def run_into(folder: Path, log_result: Result) -> None:
    """Do what a batch does with files, without speech."""
    samples = np.linspace(-0.5, 0.5, 100, dtype=np.float32)
    with cleanup(), FolderLock(folder, print), ResultLog(folder) as log, interruptible():
        write_audio(folder / "a.wav", samples, 48_000)
        log.append(log_result)


def interrupted_at(count: int, action: Callable[[], None]) -> bool:
    """Do it with an interrupt at the `count`-th line or call of the package or contextlib. False if there is none."""
    seen = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal seen
        name = frame.f_globals.get("__name__", "")
        if name == interrupts.__name__ and frame.f_code.co_name not in ("__enter__", "__exit__", "check"):
            return None  # the handler does not interrupt itself
        if not name.startswith(("voxcli.", "contextlib")):
            return None
        if event in ("call", "line"):
            seen += 1
            if seen == count:
                interrupt()
        return trace

    sys.settrace(trace)
    try:
        action()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return seen >= count


@pytest.mark.slow
def test_whenever_it_comes_nothing_is_left_half_done(tmp_path: Path, installed: Callable[[], None]) -> None:
    result = Result(id="a", out="a.wav", text="A.", status="ok")
    with_file, count = 0, 0
    while True:
        count += 1
        folder = tmp_path / str(count)
        folder.mkdir()
        installed()
        with cleanup(), interruptible():  # so that the process does not end where nothing is to be undone
            if not interrupted_at(count, lambda folder=folder: run_into(folder, result)):  # type: ignore[misc]
                break
            interrupts._state.waiting = False
        left = {path.name for path in folder.iterdir()}
        assert left <= {"a.wav", RESULTS_NAME}, f"interrupted at {count}"
        if "a.wav" in left:
            with_file += 1
            assert (folder / "a.wav").stat().st_size == 244
    assert count > 150 and 10 < with_file < count - 10, "interrupts before and after the rename"
