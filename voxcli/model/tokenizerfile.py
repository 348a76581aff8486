"""Reads tokenizer.json into the library's tokenizer, after checking every part that processes a text.

The library executes what the file specifies: a few consecutive replacements can turn a sentence into gigabytes, and a
regular expression may never finish or may cause a panic. Parts that do not affect encoding are removed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tokenizers

from voxcli.errors import CheckpointError, reason_of
from voxcli.files.read import read_regular

MAX_BYTES = 1 << 28
# VoxCPM2 uses Prepend and Replace, and no pre-tokenizer. Precompiled and parts with a Regex are not allowed.
NORMALIZERS = (
    "BertNormalizer",
    "Lowercase",
    "NFC",
    "NFD",
    "NFKC",
    "NFKD",
    "Nmt",
    "Prepend",
    "Replace",
    "Strip",
    "StripAccents",
)
PRE_TOKENIZERS = (
    "BertPreTokenizer",
    "ByteLevel",
    "CharDelimiterSplit",
    "Digits",
    "Metaspace",
    "Punctuation",
    "Split",
    "Whitespace",
    "WhitespaceSplit",
)
MAX_STEPS = 8
MAX_GROWTH = 16  # factor by which all replacements together may lengthen a text
MAX_CHARS = 16  # of a replacement, a prefix or a suffix
UNUSED = ("truncation", "padding", "post_processor", "decoder")


def read_tokenizer(path: Path) -> tokenizers.Tokenizer:
    """Read a tokenizer.

    Raises CheckpointError, naming the part, if the file is missing or damaged or if it could lengthen a text
    excessively.
    """
    try:
        data = json.loads(read_regular(path, MAX_BYTES).decode())
    except FileNotFoundError:
        raise CheckpointError(f"{path.parent}: {path.name} is missing") from None
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: not readable as JSON ({error})") from None
    try:
        _check(data)
        # Serialized again, so that the library reads exactly what was checked, also if a key occurs twice in the file.
        with panics_as_errors():
            return tokenizers.Tokenizer.from_str(json.dumps(data | dict.fromkeys(UNUSED)))
    except Exception as error:  # tokenizers raises plain Exception
        raise CheckpointError(f"{path}: not a tokenizer ({error})") from None


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raise a panic inside the library as RuntimeError: it is a BaseException of a class that can't be imported."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise RuntimeError(reason_of(error)) from None


def _check(data: Any) -> None:
    """Raise ValueError, naming the part, for a part that is not allowed."""
    if not isinstance(data, dict) or not isinstance(data.get("model"), dict):
        raise ValueError("it has no model")
    for name in ("continuing_subword_prefix", "end_of_word_suffix"):
        _check_short(data["model"].get(name) or "", f"model: {name}")
    growth = 1.0
    for step in _steps(data.get("normalizer"), "normalizer", "normalizers", NORMALIZERS):
        if step["type"] == "Prepend":
            _check_short(step.get("prepend"), "normalizer Prepend")
        elif step["type"] == "Replace":
            _check_short(step.get("content"), "normalizer Replace")
            growth *= max(1.0, len(step["content"]) / len(_plain_pattern(step, "normalizer Replace")))
    if growth > MAX_GROWTH:
        raise ValueError(f"normalizer: its replacements could make a text {growth:.3g} times as long")
    for step in _steps(data.get("pre_tokenizer"), "pre_tokenizer", "pretokenizers", PRE_TOKENIZERS):
        if step["type"] == "Split":
            _plain_pattern(step, "pre_tokenizer Split")


def _steps(part: Any, name: str, inner: str, known: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield the steps of a part, with sequences flattened in order. Raises ValueError for an unknown kind."""
    waiting, count = [part] if part is not None else [], 0
    while waiting:
        step = waiting.pop()
        kind = step.get("type") if isinstance(step, dict) else None
        if kind == "Sequence" and isinstance(step.get(inner), list):
            waiting.extend(reversed(step[inner]))
            continue
        count += 1
        if kind not in known:
            raise ValueError(f"{name}: the kind {str(kind)[:40]!r} is not supported")
        if count > MAX_STEPS:
            raise ValueError(f"{name}: it has more than {MAX_STEPS} steps")
        yield step


def _check_short(text: Any, part: str) -> None:
    if not isinstance(text, str) or len(text) > MAX_CHARS:
        raise ValueError(f"{part}: its text is not a string of at most {MAX_CHARS} characters")


def _plain_pattern(step: dict[str, Any], part: str) -> str:
    pattern = step.get("pattern")
    plain = pattern.get("String") if isinstance(pattern, dict) else None
    if not isinstance(plain, str) or not plain:
        raise ValueError(f"{part}: its pattern is not plain text")
    return plain
