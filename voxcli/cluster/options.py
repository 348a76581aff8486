"""How many engines speak a batch, and where. Neither torch nor Ray is loaded here."""

from __future__ import annotations

import re
from dataclasses import dataclass

from voxcli.errors import InputError, quoted
from voxcli.extras import install_hint, missing

# After one death in small company, after two alone, alone once more: it takes a killer, or bad luck four times over.
MAX_RETRIES = 3
HANG_S = 600.0  # a step of the full model with all rows takes half a minute on a slow CPU, its first prefill more


@dataclass(frozen=True)
class ClusterOptions:
    """Workers, each with one engine.

    count:       how many; None: as many as the machines suit.
    address:     of a running Ray cluster, or "auto" for the one this machine is part of; None: this machine alone.
    max_retries: how often a line is run again whose worker died meanwhile.
    hang_s:      a worker that has lines and makes no step for so long is taken for dead.
    """

    count: int | None = None
    address: str | None = None
    max_retries: int = MAX_RETRIES
    hang_s: float = HANG_S


def cluster_options(
    workers: str | None, address: str | None, max_retries: int | None = None, hang_s: float | None = None
) -> ClusterOptions | None:
    """From the options of a command; None when one engine in this process is wanted.

    Raises InputError for what is no number of workers, and when Ray is not installed.
    """
    if workers is None and address is None:
        if max_retries is not None:
            raise InputError("--max-retries is for lines whose worker died: it needs --workers or --ray-address")
        if hang_s is not None:
            raise InputError("--hang-timeout is for workers: it needs --workers or --ray-address")
        return None
    count = None
    if workers is not None and workers != "auto":
        if not workers.isdecimal() or not 0 < int(workers) < 100_000:
            raise InputError(f"--workers is a number from 1 on, or auto, not {quoted(workers)}")
        count = int(workers)
    check_address(address)
    return ClusterOptions(
        count, address, MAX_RETRIES if max_retries is None else max_retries, HANG_S if hang_s is None else hang_s
    )


def check_address(address: str | None) -> None:
    """Raises InputError when there is no Ray here, or for an address that only a Ray client could use."""
    if missing("ray"):
        raise InputError(f"several workers need one more package: {install_hint('ray')}")
    if address not in (None, "auto") and not re.fullmatch(r"[^\s/]+:\d{1,5}", address):
        raise InputError(
            f"--ray-address is HOST:PORT or auto, given on a machine of the cluster, not {quoted(address)}"
        )
