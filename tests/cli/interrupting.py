"""Run the program with signals at an exact moment: `python -m tests.cli.interrupting MOMENT NUMBER TIMES ARGUMENT...`

TIMES signals are sent 10 ms apart. MOMENT is one of these:

    torch.nn                      a module: before it is imported
    step                          a point of `voxcli.faults`: its second call
    voxcli.jobs.plan:prepare:2    a function, called by its own module: before its second call
"""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys
import threading
import time
from typing import Any

MOMENT, NUMBER, TIMES = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def send() -> None:
    if TIMES > 1:
        threading.Thread(target=send_more, daemon=True).start()
    os.kill(os.getpid(), NUMBER)


def send_more() -> None:
    for _ in range(TIMES - 1):
        time.sleep(0.01)
        os.kill(os.getpid(), NUMBER)


class Finder:
    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == MOMENT:
            send()


class Countdown:
    def __init__(self, count: int):
        self.left = count

    def __call__(self) -> None:
        self.left -= 1
        if not self.left:
            send()


def watch_point() -> None:
    from voxcli import faults

    passing, point = Countdown(2), faults.point

    def passed(name: str, about: str = "") -> bool:
        if name == MOMENT:
            passing()
        return point(name, about)

    assert MOMENT in faults.POINTS
    faults.point = passed


def watch_function(module: str, name: str, count: str) -> None:
    owner = importlib.import_module(module)
    calling, function = Countdown(int(count)), getattr(owner, name)

    def called(*arguments: Any, **options: Any) -> Any:
        calling()
        return function(*arguments, **options)

    setattr(owner, name, called)


def watch() -> None:
    if ":" in MOMENT:
        watch_function(*MOMENT.split(":"))
    elif "." in MOMENT or importlib.util.find_spec(MOMENT) is not None:
        sys.meta_path.insert(0, Finder())  # type: ignore[arg-type]
    else:
        watch_point()


if __name__ == "__main__":
    watch()
    sys.argv[:] = ["voxcpm2", *sys.argv[4:]]
    runpy.run_module("voxcli", run_name="__main__", alter_sys=True)
