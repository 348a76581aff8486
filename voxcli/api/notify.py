"""Messages for people as Python warnings: for a program that passes no `notify`."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from voxcli.terminal import one_line

PACKAGE = str(Path(__file__).parents[1])


class VoxWarning(UserWarning):
    """A message for people, such as a language that the model does not speak."""


def warn(message: str) -> None:
    """Issue a warning for the line of the program that called the package."""
    level, depth, frame = 1, 1, sys._getframe()
    while frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
        if not frame.f_code.co_filename.startswith(PACKAGE):
            continue
        level = depth
    warnings.warn(one_line(message), VoxWarning, stacklevel=level + 1)
