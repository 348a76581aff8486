"""File names: make them safe on every system, and compare them as case-insensitive systems do."""

from __future__ import annotations

import errno
import os
import re
import unicodedata
from collections.abc import Sequence
from itertools import count
from pathlib import Path

# Files that a run itself writes into its output folder.
RESULTS_NAME = "results.jsonl"
LOCK_NAME = ".voxcpm2.lock"

UNSAFE = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]+')


RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


MAX_NAME_BYTES = 255  # maximum length of a file name on all common file systems
MAX_ID_BYTES = 180  # below MAX_NAME_BYTES, to leave room for suffixes


# Most names match this and need no change; the test is much cheaper than the steps below.
PLAIN_NAME = re.compile(r"(?!(?:con|prn|aux|nul|com\d|lpt\d)$)[a-z0-9_-]{1,180}", re.ASCII | re.IGNORECASE)


def safe_name(identity: str) -> str:
    """Return a file name (without suffix) for an id. Different ids may share a name: the caller must refuse that."""
    if PLAIN_NAME.fullmatch(identity):
        return identity
    name = UNSAFE.sub("_", unicodedata.normalize("NFC", identity)).strip(" .")
    name = name.encode()[:MAX_ID_BYTES].decode(errors="ignore").rstrip(" .")
    return f"_{name}" if not name or RESERVED.fullmatch(name) else name


def free_name(stem: str, suffix: str, beside: Sequence[str] = ()) -> Path:
    """Return the first of stem.suffix, stem-2.suffix, ... that no file in the current folder has.

    suffix: with its dot.
    beside: suffixes of further files, whose names must be free, too.
    """
    for number in count(1):
        name = stem if number == 1 else f"{stem}-{number}"
        if not any(os.path.lexists(name + each) for each in (suffix, *beside)):
            return Path(name + suffix)
    raise AssertionError("count has no end")


def one_name(name: str) -> str:
    """Return a key that is equal for names that some systems consider equal: other case, other Unicode form."""
    return name.lower() if name.isascii() else unicodedata.normalize("NFC", name).casefold()


def unusable_name(path: Path) -> str | None:
    """Return why no file can have this path on this system, in a few words; None if one can."""
    try:
        os.lstat(path)
    except ValueError:
        return "it has a character that no name can have"
    except OSError as error:
        # if a folder is missing, the error does not show that a name below it is too long
        if error.errno == errno.ENAMETOOLONG or any(len(os.fsencode(part)) > MAX_NAME_BYTES for part in path.parts):
            return os.strerror(errno.ENAMETOOLONG)
    return None
