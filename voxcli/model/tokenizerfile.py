"""tokenizer.json -> the library's tokenizer, once all that would act on a text is known to be harmless.

The library does what the file says: a few replacements, one after the other, make gigabytes of a sentence, and a
regular expression may take for ever or end in a panic. What a text does not pass through is left out.
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
# VoxCPM2 has Prepend and Replace, and no pre-tokenizer. Precompiled and all that takes a Regex are not among them.
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
MAX_GROWTH = 16  # times as long as it was: what all replacements together may make of a text
MAX_CHARS = 16  # of a replacement, a prefix or a suffix
UNUSED = ("truncation", "padding", "post_processor", "decoder")


def read_tokenizer(path: Path) -> tokenizers.Tokenizer:
    """Raises CheckpointError, naming the part, when it is missing, damaged or could make a text explode."""
    try:
        data = json.loads(read_regular(path, MAX_BYTES).decode())
    except FileNotFoundError:
        raise CheckpointError(f"{path.parent}: {path.name} is missing") from None
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: not readable as JSON ({error})") from None
    try:
        _check(data)
        # Written anew, so that what was looked at is what the library reads, also where a name stands twice.
        with panics_as_errors():
            return tokenizers.Tokenizer.from_str(json.dumps(data | dict.fromkeys(UNUSED)))
    except Exception as error:  # tokenizers raises plain Exception
        raise CheckpointError(f"{path}: not a tokenizer ({error})") from None


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """A panic inside the library is a BaseException, of a class that can't be imported: raise it as RuntimeError."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise RuntimeError(reason_of(error)) from None


def _check(data: Any) -> None:
    """Raise ValueError, naming the part, for what must not act on a text."""
    if not isinstance(data, dict) or not isinstance(data.get("model"), dict):
        raise ValueError("there is no model in it")
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
    """The steps of a part, those of a sequence in their order, each of a known kind."""
    waiting, count = [part] if part is not None else [], 0
    while waiting:
        step = waiting.pop()
        kind = step.get("type") if isinstance(step, dict) else None
        if kind == "Sequence" and isinstance(step.get(inner), list):
            waiting.extend(reversed(step[inner]))
            continue
        count += 1
        if kind not in known:
            raise ValueError(f"{name}: the kind {str(kind)[:40]!r} is not one that is used here")
        if count > MAX_STEPS:
            raise ValueError(f"{name}: it has more than {MAX_STEPS} steps")
        yield step


def _check_short(text: Any, part: str) -> None:
    if not isinstance(text, str) or len(text) > MAX_CHARS:
        raise ValueError(f"{part}: its text is no text of at most {MAX_CHARS} characters")


def _plain_pattern(step: dict[str, Any], part: str) -> str:
    pattern = step.get("pattern")
    plain = pattern.get("String") if isinstance(pattern, dict) else None
    if not isinstance(plain, str) or not plain:
        raise ValueError(f"{part}: its pattern is not plain text")
    return plain
