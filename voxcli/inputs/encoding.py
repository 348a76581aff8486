"""Decode files: UTF-8, UTF-16 or UTF-32, with or without a byte order mark, and Windows-1252.

Windows-1252 has no signature, and text of other encodings can be decoded as Windows-1252 too, into wrong letters. It is
therefore detected only for text that looks like a western language; others have to be named with `--encoding`.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from voxcli.errors import InputError, ManifestError, Problem, quoted

SAMPLE = 1 << 20  # bytes or characters that are examined to detect an encoding
UNKNOWN = (
    "not UTF-8 text, and its encoding is unknown: name it with --encoding (such as windows-1252, windows-1251, "
    "gb18030, shift_jis), or save the file as UTF-8"
)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Codecs of Python that escape text; they are no encodings of files, and the last is quadratic.
_NO_CHARSETS = frozenset({"unicode-escape", "raw-unicode-escape", "undefined", "idna", "punycode"})
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_IN_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
_LETTERS = re.compile(r"[^\W\d_]+")
_HIGH = re.compile(r"[^\x00-\x7f]")
# These occur in text of another encoding read as Windows-1252, but not in western text: a sign inside a word (ma\xb3y,
# \x81 in f\x81r), a capital behind a small letter (caf\x8e), an inverted mark behind a letter.
_STRANGE = re.compile(
    r"(?<=[^\W\d_])[\u201a\u201e\u2020\u2021\u02c6\u2030\u2039\u201c\u201d\u2022\u02dc\u2122\u203a\u00a1-\u00ac"
    r"\u00ae-\u00b3\u00b6\u00b8\u00b9\u00bb-\u00bf\u00d7\u00f7\u20ac](?=[^\W\d_])"
    r"|[a-z\u00df-\u00f6\u00f8-\u00ff][\u00c0-\u00d6\u00d8-\u00de\u0160\u0152\u017d\u0178]"
    r"|(?<=[^\W\d_])[\u00a1\u00bf]"
)
# Non-ASCII letters of the languages that Windows-1252 was made for, with those of their loanwords.
_ALPHABETS = tuple(
    map(
        frozenset,
        (
            "äöüßéèêàáâçñëïîôó",  # German
            "àâæçéèêëîïôœùûüÿñöäá",  # French
            "áéíóúüñçàèïòªº",  # Spanish, Catalan
            "ãõáéíóúâêôàçüªº",  # Portuguese
            "àèéìíîòóùúçêªº",  # Italian
            "åæøéèêóòôàäöüáçñ",  # Danish, Norwegian
            "åäöéèàüášžñçëêï",  # Swedish, Finnish
            "áéíóúýþæðöøå",  # Icelandic, Faroese
            "ëïöüéèêáóíúàçâîôûäñ",  # Dutch
            "äöõüšžéå",  # Estonian
        ),
    )
)


class Decoded(NamedTuple):
    """Text with newlines as line ends, and its encoding unless that is UTF-8."""

    text: str
    encoding: str | None = None


class NotText(Exception):
    """The bytes are not text in any known encoding."""


def decode(data: bytes, source: str, encoding: str | None = None) -> Decoded:
    """Decode a file. source: its name in messages.  encoding: overrides the detected one.

    Raises ManifestError for text in an unknown encoding, NotText for binary data, InputError for an invalid `encoding`.
    """
    if encoding is not None:
        return _decoded(_decode_as(data, source, encoding), source, encoding)
    for mark, codec in _MARKS:
        if data.startswith(mark):
            try:
                text = data.decode(codec)
            except UnicodeDecodeError as error:
                raise ManifestError(source, [_problem(data, error, f"not {_shown(codec)} text")]) from error
            named = None if codec == "utf-8-sig" else _shown(codec)
            return _decoded(text.removeprefix("\ufeff"), source, named)
    damage: UnicodeDecodeError | None = None
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        text, damage = data.decode("latin-1"), error
    sample = data[:SAMPLE]
    binary = _looks_binary(text[:SAMPLE])
    if binary or damage or 5 * sample.count(0) > len(sample):
        codec_without_mark = _utf16_without_mark(data)
        if codec_without_mark is not None:
            return _decoded(data.decode(codec_without_mark), source, "UTF-16")
    if binary:
        raise NotText
    if damage is None:
        return _decoded(text, source)
    if not _damaged_utf8(data) and (western := _windows_1252(data)) is not None:
        return _decoded(western, source, "Windows-1252")
    raise ManifestError(source, [_problem(data, damage, UNKNOWN)]) from damage


def _decode_as(data: bytes, source: str, encoding: str) -> str:
    try:
        codec = codecs.lookup(encoding)
    except (LookupError, ValueError):
        codec = None
    if codec is None or not getattr(codec, "_is_text_encoding", True) or codec.name.replace("_", "-") in _NO_CHARSETS:
        raise InputError(
            f"no encoding {quoted(encoding)} is known: try utf-8, utf-16, windows-1252, windows-1251, gb18030 "
            "or shift_jis"
        )
    try:
        # a mark goes before the name: UTF-16 in the other byte order would be other letters
        text = data.decode("utf-8-sig" if codec.name == "utf-8" else codec.name)
    except UnicodeError as error:
        at = error if isinstance(error, UnicodeDecodeError) else None
        problem = _problem(data, at, f"not {encoding} text") if at else Problem(0, f"not {encoding} text")
        raise ManifestError(source, [problem]) from error
    return text.removeprefix("\ufeff")


def _decoded(text: str, source: str, encoding: str | None = None) -> Decoded:
    """Normalize line ends. Raises ManifestError for a NUL: the words on both sides of it would be joined."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ManifestError(source, [Problem(line, "a NUL character, which no text has: is the file damaged?")])
    return Decoded(text, encoding)


def _shown(codec: str) -> str:
    return codec.removesuffix("-sig").upper()


def _problem(data: bytes, error: UnicodeDecodeError, message: str) -> Problem:
    return Problem(data.count(b"\n", 0, error.start) + 1, message)


def _looks_binary(text: str) -> bool:
    """Whether there are more control characters than text has."""
    return 100 * sum(1 for _ in _CONTROL.finditer(text)) > len(text) + 200


def _utf16_without_mark(data: bytes) -> str | None:
    """Return the UTF-16 codec of bytes without a mark, whose ASCII has a NUL in one byte of two. None if it is none."""
    sample = data[: SAMPLE - SAMPLE % 4]
    low, high = sample[0::2].count(0), sample[1::2].count(0)
    if not low and not high:
        return None
    codec = "utf-16-le" if high > low else "utf-16-be"
    try:
        text = codecs.getincrementaldecoder(codec)().decode(sample, final=len(sample) == len(data))
        if len(sample) < len(data):
            data.decode(codec)
    except UnicodeDecodeError:
        return None
    return codec if max(low, high) > 4 * min(low, high) and not _IN_NO_TEXT.search(text) else None


def _damaged_utf8(data: bytes) -> bool:
    """Whether the majority of the non-ASCII bytes is UTF-8: the rest is then damage, not another encoding."""
    text = data.decode(errors="replace")
    broken = text.count("\ufffd")
    return len(_HIGH.findall(text)) - broken > broken


def _windows_1252(data: bytes) -> str | None:
    """Decode as Windows-1252; None if the text is of another encoding."""
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:  # five of its codes have no character
        return None
    words = foreign = 0
    letters: set[str] = set()
    for word in _LETTERS.findall(text):
        words += 1
        if not word.isascii():
            high = _HIGH.findall(word)
            letters.update(high)
            foreign += len(high) == len(word) > 1
    used = {letter for letter in "".join(letters).lower() if letter.isalpha() and letter != "µ"}
    # Hardly a word is of accents alone, and no language has those of all others.
    if 4 * foreign > words or not any(used <= alphabet for alphabet in _ALPHABETS) or _STRANGE.search(text):
        return None
    return text
