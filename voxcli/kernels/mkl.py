"""What MKL, which multiplies for torch on x86, is asked for before it is first used. Knows no torch."""

from __future__ import annotations

import os
from collections.abc import MutableMapping

from voxcli.kernels.processor import INTEL, vendor

VARIABLE = "MKL_CBWR"
# "Conditional numerical reproducibility", strict: an element of a product has the same bits for any number of rows and
# threads. Intel promises it for its own processors; elsewhere AUTO may mean code for much older ones.
STRICT = "AUTO,STRICT"


def request_strict(environment: MutableMapping[str, str] = os.environ, *, processor: str | None = None) -> None:
    """Set MKL_CBWR where that helps, unless the user has. MKL reads it at the first product, not when it is loaded.

    processor: its vendor; None: of this one.
    """
    if VARIABLE not in environment and (vendor() if processor is None else processor) == INTEL:
        environment[VARIABLE] = STRICT
