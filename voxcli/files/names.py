"""File names: safe on every system, and equal where some system takes them for one."""

from __future__ import annotations

import errno
import os
import re
import unicodedata
from pathlib import Path

# What a run itself writes into its output folder.
RESULTS_NAME = "results.jsonl"
LOCK_NAME = ".voxcpm2.lock"

UNSAFE = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]+')


RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


MAX_NAME_BYTES = 255  # of one name in a path, on all usual file systems
MAX_ID_BYTES = 180  # bytes; file systems stop at 255, and a temporary name beside the file is longer


# What most names are, on which nothing below would act: tests much cheaper than acting.
PLAIN_NAME = re.compile(r"(?!(?:con|prn|aux|nul|com\d|lpt\d)$)[a-z0-9_-]{1,180}", re.ASCII | re.IGNORECASE)


def safe_name(identity: str) -> str:
    """A file name (without suffix) from an id; different ids may share one, which the caller must refuse."""
    if PLAIN_NAME.fullmatch(identity):
        return identity
    name = UNSAFE.sub("_", unicodedata.normalize("NFC", identity)).strip(" .")
    name = name.encode()[:MAX_ID_BYTES].decode(errors="ignore").rstrip(" .")
    return f"_{name}" if not name or RESERVED.fullmatch(name) else name


def one_name(name: str) -> str:
    """Names that differ only in case, or in how an accent is coded, are one name on some systems."""
    return name.lower() if name.isascii() else unicodedata.normalize("NFC", name).casefold()


def unusable_name(path: Path) -> str | None:
    """Why no file of this system can have this path, in a few words; None when one can, there or not."""
    try:
        os.lstat(path)
    except ValueError:
        return "it has a character that no name can have"
    except OSError as error:
        # a folder that is not there hides a name below it that is too long
        if error.errno == errno.ENAMETOOLONG or any(len(os.fsencode(part)) > MAX_NAME_BYTES for part in path.parts):
            return os.strerror(errno.ENAMETOOLONG)
    return None
