"""When an interrupt is raised, when it waits, and that it never leaves partial files behind."""

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


def test_in_an_interruptible_part_an_interrupt_is_raised_at_once_and_enclosing_blocks_clean_up() -> None:
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


def test_an_inner_cleanup_block_finishes_first() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), cleanup(), interruptible():
        with cleanup():
            interrupt()
            done.append("finished")
        done.append("not reached")
    assert done == ["finished"]


def test_an_interruptible_part_does_not_interrupt_the_cleanup_block_of_a_caller() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), cleanup(), interruptible():
        with cleanup():
            with cleanup(), interruptible():
                interrupt()
                done.append("the caller has something half done")
            done.append("and finishes it")
        done.append("not reached")
    assert done == ["the caller has something half done", "and finishes it"]


def test_long_work_in_a_cleanup_block_can_check_for_an_interrupt() -> None:
    with cleanup():
        interrupts.check()
        interrupt()
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
        interrupts.check()  # an interrupt is raised only once


def test_cleanup_blocks_in_other_threads_do_not_delay_an_interrupt() -> None:
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


def test_an_interrupt_that_python_drops_in_a_finalizer_is_raised_again() -> None:
    class Interrupted:
        def __del__(self) -> None:
            interrupt()

    with pytest.raises(KeyboardInterrupt), cleanup(), interruptible():
        Interrupted()
        while True:
            time.sleep(0.001)


def test_other_errors_in_a_finalizer_are_printed_as_usual(capsys: pytest.CaptureFixture[str]) -> None:
    class Broken:
        def __del__(self) -> None:
            raise ValueError("broken")

    Broken()
    assert "ValueError: broken" in capsys.readouterr().err


def test_an_interrupt_waits_while_an_extension_module_is_initialized(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_ignored_signals_stay_ignored(installed: Callable[[], None]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    installed()
    interrupt()
    signal.raise_signal(signal.SIGTERM)
    assert interrupts._state.number == 0


def test_without_install_signals_are_handled_as_usual(monkeypatch: pytest.MonkeyPatch) -> None:
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
    ("body", "code", "message"),
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
def test_with_nothing_to_clean_up_the_process_ends_at_once(
    body: str, code: int, message: str, repository: Path
) -> None:
    ended = children.finished([sys.executable, "-c", CHILD + body], cwd=repository, capture_output=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (code, message)
    assert ended.stdout == ("done\n" if "done" in body else "")


def test_a_profiled_program_ends_as_usual(repository: Path) -> None:
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
    """Run `action` with an interrupt at the `count`-th line or call of the package or contextlib.

    Returns False if the action has fewer.
    """
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
def test_an_interrupt_at_any_line_leaves_no_partial_files(tmp_path: Path, installed: Callable[[], None]) -> None:
    result = Result(id="a", out="a.wav", text="A.", status="ok")
    with_file, count = 0, 0
    while True:
        count += 1
        folder = tmp_path / str(count)
        folder.mkdir()
        installed()
        with cleanup(), interruptible():  # keeps the process from ending outside the blocks
            if not interrupted_at(count, lambda folder=folder: run_into(folder, result)):  # type: ignore[misc]
                break
            interrupts._state.waiting = False
        left = {path.name for path in folder.iterdir()}
        assert left <= {"a.wav", RESULTS_NAME}, f"interrupted at {count}"
        if "a.wav" in left:
            with_file += 1
            assert (folder / "a.wav").stat().st_size == 244
    assert count > 150 and 10 < with_file < count - 10, "some interrupts must come before and some after the rename"
