"""Fuzz one reader, guided by coverage. Needs atheris (`pip install atheris`); no part of the test suite.

    python -m tests.fuzz.fuzz manifest|prose|workbook|text|repeated|audio -runs=1000000

What comes after the target goes to libFuzzer; by default an input may take 10 seconds and the process 500 MB. Inputs
that reach something new are kept in a folder of the system's temporary place, one that fails is written to ./crash-*.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import atheris  # type: ignore[import-not-found]

with atheris.instrument_imports(include=["voxcli"]):
    from tests.fuzz.targets import TARGETS
from tests.fuzz.seeds import seeds

LIMITS = ("-timeout=10", "-rss_limit_mb=500", "-max_len=32768", "-print_final_stats=1")


def main(name: str, options: list[str]) -> None:
    corpus = Path(tempfile.gettempdir()) / f"voxcpm2-corpus-{name}"
    corpus.mkdir(exist_ok=True)
    for number, data in enumerate(seeds()[name]):
        (corpus / f"seed-{number}").write_bytes(data)
    began = time.monotonic()

    def run(data: bytes) -> None:
        TARGETS[name](data)

    atheris.Setup([sys.argv[0], *LIMITS, *options, str(corpus)], run)
    try:
        atheris.Fuzz()
    finally:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{name}: {time.monotonic() - began:.0f} s, peak memory {peak:.0f} MB", file=sys.stderr)


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in TARGETS:
        main(sys.argv[1], sys.argv[2:])
    else:
        sys.exit(__doc__)
