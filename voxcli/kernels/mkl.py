"""Request reproducible matrix products from MKL, which computes them for torch on x86. Does not import torch."""

from __future__ import annotations

import os
from collections.abc import MutableMapping

from voxcli.kernels.processor import INTEL, vendor

VARIABLE = "MKL_CBWR"
# Strict "conditional numerical reproducibility": an element of a product has the same bits for any number of rows and
# threads. Intel guarantees this on its own processors only; on others AUTO may select code for much older processors.
STRICT = "AUTO,STRICT"


def request_strict(environment: MutableMapping[str, str] = os.environ, *, processor: str | None = None) -> None:
    """Set MKL_CBWR on Intel processors, unless it is already set.

    environment: changed in place. MKL reads the variable at the first product, not when the library is loaded.
    processor:   vendor of the processor; None: the vendor of this machine's processor.
    """
    if VARIABLE not in environment and (vendor() if processor is None else processor) == INTEL:
        environment[VARIABLE] = STRICT
