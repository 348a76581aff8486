"""Options for workers: how many, and on which cluster. Neither torch nor Ray is imported here."""

from __future__ import annotations

import re
from dataclasses import dataclass

from voxcli.errors import InputError, quoted
from voxcli.extras import install_hint, missing

# The retries run in a quarter batch, then alone, then alone again: only a line that kills its worker, or bad luck four
# times in a row, uses them up.
MAX_RETRIES = 3
HANG_S = 600.0  # a step of the full model in a full batch takes 30 s on a slow CPU, the first prefill longer


@dataclass(frozen=True)
class ClusterOptions:
    """Workers, each with one engine.

    count:       number of workers; None: as many as fit the machines.
    address:     HOST:PORT of a running Ray cluster, or "auto" for the one this machine belongs to; None: no cluster.
    max_retries: how often a line is retried after its worker died.
    hang_s:      a worker that holds lines but makes no step for this long counts as dead.
    """

    count: int | None = None
    address: str | None = None
    max_retries: int = MAX_RETRIES
    hang_s: float = HANG_S


def cluster_options(
    workers: str | None, address: str | None, max_retries: int | None = None, hang_s: float | None = None
) -> ClusterOptions | None:
    """Build ClusterOptions from a command's options; None if one engine in this process is enough.

    Raises InputError for an invalid number or address, and when Ray is not installed.
    """
    if workers is None and address is None:
        if max_retries is not None:
            raise InputError("--max-retries needs --workers or --ray-address")
        if hang_s is not None:
            raise InputError("--hang-timeout needs --workers or --ray-address")
        return None
    count = None
    if workers is not None and workers != "auto":
        if not workers.isdecimal() or not 0 < int(workers) < 100_000:
            raise InputError(f"--workers must be a number from 1 on, or auto, not {quoted(workers)}")
        count = int(workers)
    check_address(address)
    return ClusterOptions(
        count, address, MAX_RETRIES if max_retries is None else max_retries, HANG_S if hang_s is None else hang_s
    )


def check_address(address: str | None) -> None:
    """Raise InputError when Ray is not installed, or for an address that is neither HOST:PORT nor "auto"."""
    if missing("ray"):
        raise InputError(f"several workers need one more package: {install_hint('ray')}")
    if address not in (None, "auto") and not re.fullmatch(r"[^\s/]+:\d{1,5}", address):
        raise InputError(f"--ray-address must be HOST:PORT or auto, on a machine of the cluster, not {quoted(address)}")
