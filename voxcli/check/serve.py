"""The listening process: `python -m voxcli.check.serve`.

It reads requests from stdin and writes replies to stdout, both a line of JSON each. Samples follow the line of their
request as float32. It ends when stdin ends, so it never outlives the process that started it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, BinaryIO

import numpy as np

from voxcli import faults
from voxcli.check.heard import Ears, Samples, Setup
from voxcli.errors import in_one_line

__all__ = ["main", "serve"]

NICE = 10  # the engine's threads go first


def main(load: Callable[[Setup], Ears]) -> None:
    """Serve stdin and stdout. load: loads the recognizer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    with suppress(OSError, AttributeError):
        os.nice(NICE)
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is not for the reader of the replies
    serve(load, sys.stdin.buffer, sink)


def serve(load: Callable[[Setup], Ears], source: BinaryIO, sink: BinaryIO) -> None:
    """Answer requests until `source` ends. The first line is a Setup; its reply reports whether it could be loaded."""
    written = threading.Lock()

    def reply(**values: Any) -> None:
        with written, suppress(BrokenPipeError):
            sink.write(json.dumps(values).encode() + b"\n")
            sink.flush()

    setup = Setup(**json.loads(source.readline() or b"{}"))
    try:
        ears = load(setup)
    except Exception as error:
        reply(error=in_one_line(error))
        return
    reply(multilingual=ears.multilingual)
    waiting: SimpleQueue[tuple[dict[str, Any], Samples] | None] = SimpleQueue()

    def work() -> None:
        while (item := waiting.get()) is not None:
            request, samples = item
            try:
                reply(id=request["id"], **_answer(ears, request, samples))
            except Exception as error:
                reply(id=request["id"], error=in_one_line(error))

    threads = [threading.Thread(target=work, daemon=True) for _ in range(setup.threads)]
    for thread in threads:
        thread.start()
    while line := source.readline():
        request = json.loads(line)
        waiting.put((request, np.frombuffer(source.read(4 * request["samples"]), np.float32)))
    for _ in threads:
        waiting.put(None)
    for thread in threads:
        thread.join()


def _answer(ears: Ears, request: dict[str, Any], samples: Samples) -> dict[str, Any]:
    faults.point("listen", request["about"])
    return {
        "words": ears.hear(samples, request["language"]) if request["hear"] else [],
        "embedding": ears.embed(samples) if request["embed"] else None,
    }


if __name__ == "__main__":
    from voxcli.check.recognizer import Recognizer

    main(Recognizer)
