"""The program, with signals at an exact moment: `python -m tests.cli.interrupting MOMENT NUMBER TIMES ARGUMENT...`

MOMENT is the name of a module, when that is about to be imported, or a point of `voxcli.faults`, when that is passed
for the second time. TIMES signals come 10 ms after each other.
"""

from __future__ import annotations

import os
import runpy
import sys
import threading
import time

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


def watch_points() -> None:
    from voxcli import faults

    left, point = [2], faults.point

    def passed(name: str, about: str = "") -> bool:
        if name == MOMENT:
            left[0] -= 1
            if not left[0]:
                send()
        return point(name, about)

    if MOMENT in faults.POINTS:
        faults.point = passed


if __name__ == "__main__":
    watch_points()
    sys.meta_path.insert(0, Finder())  # type: ignore[arg-type]
    sys.argv[:] = ["voxcpm2", *sys.argv[4:]]
    runpy.run_module("voxcli", run_name="__main__", alter_sys=True)
