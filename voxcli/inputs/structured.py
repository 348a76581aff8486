"""Text for programs, recognized by its lines: YAML, INI and .properties files, translations, code, encoded data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from voxcli.inputs.beginning import Beginning
from voxcli.inputs.refusals import ENCODED, PROGRAM, SETTINGS, TRANSLATIONS
from voxcli.inputs.schema import FIELD_NAMES
from voxcli.inputs.signatures import Refusal

_COMMENT = re.compile(r"\s*(?:[#;!]|//)")
_SECTION = re.compile(r"\s*\[[^\[\]\n]+\]")
_SETTING = re.compile(r"\s*(?:export )?(?P<key>[\w.\-]+)(?P<gap> ?)= ?(?P<value>.*)")
_STRING = re.compile(r"\s*\"(?:[^\"\\]|\\.)*\"\s*=\s*\"(?:[^\"\\]|\\.)*\";\s*|\s*/\*.*\*/\s*")
_JSON_PART = re.compile(r"\s*\"[^\"\n]{1,80}\"\s*:\s*[\[{\"\d.tfn-].*[,\[{}\]\"\dle]$|\s*[\[\]{}],?$")

_YAML = re.compile(r"(?P<indent> *(?:- +)*)(?P<key>[\w.-]+|\"[^\"\n]+\"|'[^'\n]+'):(?: +(?P<value>.*))?")
_YAML_ITEM = re.compile(r" *- +\S")
_YAML_MARK = re.compile(r"(?:---|\.\.\.|%YAML.*)\s*")
_BLOCK = re.compile(r"[|>][+-]?\d?\s*")
_TYPED = re.compile(r"(?:true|false|null|~|-?\d+(?:\.\d+)?|\[.*\]|\{.*\})\s*(?:#.*)?")
_FOR_PROGRAMS = re.compile(r".*[._\d-]|[a-z]+[A-Z]")  # a key such as sample_rate or apiVersion
_KNOWN_KEYS = frozenset(FIELD_NAMES) | {
    "author", "date", "debug", "description", "enabled", "host", "image", "kind", "lang", "language", "lines", "name",
    "path", "port", "speaker", "tags", "title", "type", "url", "version",
}  # fmt: skip

# What hardly anybody writes but in a program, and what may end a line of verse as well.
_CODE = re.compile(
    r"\s*(?:#\s*(?:include|define|ifdef|endif|pragma)\b|from [\w.]+ import [\w(*]|import [\w.]+(?: as \w+)?;?$"
    r"|import .* from ['\"]|import ['\"{]|(?:async )?def \w+\(|class \w+(?:\([\w., =]*\))?(?: extends \w+)?\s?[:{]"
    r"|(?:export )?(?:default )?(?:async )?function\*? ?\w*\(|(?:export )?(?:const|let|var) [\w$\[{][^=\n]*=[ \n]"
    r"|(?:public|private|protected|static|void|int|float|double|char|bool|string|String)\b[^.?!\n]*[({;=]"
    r"|package [\w.]+;?$|using [\w.:]+;$|(?:\} ?)?(?:else )?(?:if|for|while|switch|catch) ?\(.*\) ?\{?$"
    r"|(?:try|else|finally):$|for \w+(?:, ?\w+)* in \S+:$|return(?: [^\s,]+){0,3};$"
    r"|(?:if|elif|while|with|except) [^.?!\n]*[=()\[\]<>_\"'][^.?!\n]*:$"
    r"|fn \w+[(<]|func (?:\(.*\) )?\w+\(|local (?:function )?\w+|end[;)]?$|<\?php|@\w+(?:\(.*\))?$|/\*|\*/|//"
    r"|[})\]]+[;,]*$|\w[\w.]*\(.*\);$|\w[\w.]*\((?:['\"].*)?\)$"
    r"|-- [|^$] ?|module [\w.]+ where$|[a-z]\w*'* :: [\w\[(]|\{-"
    r"|(?:\$ |sudo |pip install |apt(?:-get)? install |git clone )\S|echo [\"'$-]|diff --git |@@ -\d)"
)
_MAYBE_CODE = re.compile(
    r".*[;{(\[]$|\s*[A-Za-z_][\w.\[\]\"']* ?(?:=|\+=|:=|=>) ?\S|\s*#|\s+\S|\s*\w[\w.]*\([^()]*\)$|[^{\n]*\{.*\}$"
)
_MARKS_OF_CODE = re.compile(
    r"\w\([^()\n]*\) ?[;:{=]|\w\([\"'][^()\n]*\)$|=>|[;{}]$|#include\b|^import [\w.]+ as |^from \S+ import "
)
_OPENS, _CLOSES = re.compile(r".*\{$"), re.compile(r"\s*\};?$")

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{40,}={0,2}|[A-Za-z0-9+/_-]+={0,2}")
_HEX_DUMP = re.compile(r"[0-9a-f]{7,8}[: ] ?(?:[0-9a-f]{2,4} ){4}", re.IGNORECASE)
_ESCAPES = re.compile(r"\\u[0-9a-fA-F]{4}|(?:=[0-9A-F]{2}){2}")
MIN_ENCODED = 60  # characters of a line of encoded data


def structured(text: Beginning) -> Refusal | None:
    """Return what a text for programs is; None for prose."""
    if text.all(_STRING):
        return TRANSLATIONS
    if _is_yaml(text.lines) or _is_ini(text.lines) or text.all(_JSON_PART):
        return SETTINGS
    if _is_code(text):
        return PROGRAM
    return ENCODED if _is_encoded(text) else None


def _is_yaml(lines: Sequence[str]) -> bool:
    """Lists of speakers and of ingredients have the same form: their names are capitalized, or stand again."""
    pairs = _pairs(lines)
    if pairs is None or len(pairs) < 2:
        return False
    top = [pair.key for pair in pairs if not pair.indent]
    if len(set(top)) < len(top):
        return False
    if not all(key[0].islower() or key[0] == "_" for key in top or [pairs[0].key]):
        return _is_capitalized_yaml(lines, pairs)
    nested = any(below.is_below(above) for above, below in pairwise(pairs))
    return (
        nested
        or any(_BLOCK.fullmatch(pair.value) for pair in pairs)
        or _is_for_programs([pair.key for pair in pairs], [pair.value for pair in pairs])
    )


def _is_capitalized_yaml(lines: Sequence[str], pairs: Sequence[_Pair]) -> bool:
    """Whether keys that look like the names of speakers are those of settings: nested, with the values of settings."""
    nested = any(below.is_below(above) for above, below in pairwise(pairs))
    values = [pair.value for pair in pairs if pair.value]
    typed = sum(1 for value in values if _TYPED.fullmatch(value))
    known = sum(1 for pair in pairs if pair.key.lower() in _KNOWN_KEYS)
    marked = bool(_YAML_MARK.fullmatch(lines[0]))
    return (nested or marked) and (2 * typed >= len(values) > 0 or known > 1)


class _Pair(NamedTuple):
    """A key and its value. indent: what stands before it, with the dashes of a list."""

    indent: str
    key: str
    value: str

    def is_below(self, above: _Pair) -> bool:
        """Whether it is a part of the value of the pair before it, or of the same item of a list."""
        deeper = len(self.indent) > len(above.indent)
        return (deeper and not above.value) or ("-" in above.indent and len(self.indent) >= len(above.indent) > 0)


def _pairs(lines: Sequence[str]) -> list[_Pair] | None:
    """The keys of a YAML document; None if a line is none of it."""
    pairs: list[_Pair] = []
    block: int | None = None  # the indent of a key whose text stands below it
    for line in lines:
        indent = len(line) - len(line.lstrip(" "))
        if _COMMENT.match(line) or _YAML_MARK.fullmatch(line) or (block is not None and indent > block):
            continue
        block = None
        if found := _YAML.fullmatch(line):
            pairs.append(_Pair(found["indent"], found["key"].strip("\"'"), found["value"] or ""))
            block = indent if _BLOCK.fullmatch(pairs[-1].value) else None
        elif not (pairs and _YAML_ITEM.match(line)):
            return None
    return pairs


def _is_for_programs(keys: Sequence[str], values: Sequence[str]) -> bool:
    """Whether keys and their values are those of settings, and not people and their words."""
    typed = sum(1 for value in values if _TYPED.fullmatch(value))
    known = any(key in _KNOWN_KEYS or _FOR_PROGRAMS.match(key) for key in keys)
    return known or 2 * typed >= len(values)


def _is_ini(lines: Sequence[str]) -> bool:
    lines = [line for line in lines if not _COMMENT.match(line)]
    found = [match for line in lines if (match := _SETTING.fullmatch(line))]
    sections = sum(1 for line in lines if _SECTION.fullmatch(line))
    if len(found) + sections < max(2, len(lines)) or not found:
        return False
    if sections:
        return True
    keys = [match["key"] for match in found]
    if not any(match["gap"] for match in found):
        return any(len(key) > 1 for key in keys)
    values = [match["value"] for match in found]
    quoted = sum(1 for value in values if value[:1] in ("'", '"') and value[-1:] == value[:1])
    return all(key[0].islower() for key in keys) and (_is_for_programs(keys, values) or 2 * quoted >= len(values))


def _is_code(text: Beginning) -> bool:
    """Whether half of the lines are code, or fewer among others that may be. A single line needs marks of code, too."""
    if len(text.lines) == 1:
        return bool(_CODE.match(text.lines[0]) and _MARKS_OF_CODE.search(text.lines[0].rstrip()))
    code = text.count(_CODE)
    maybe = sum(1 for line in text.lines if _CODE.match(line) or _MAYBE_CODE.match(line))
    lines = len(text.lines)
    braces = text.has(_OPENS) and text.has(_CLOSES)
    return maybe > 1 and (2 * code >= lines or ((code > 1 or braces) and 5 * code >= lines and 3 * maybe >= 2 * lines))


def _is_encoded(text: Beginning) -> bool:
    if text.mostly(_HEX_DUMP) or len(_ESCAPES.findall(text.start)) > 1:
        return True
    first = text.lines[0] if text.lines else ""
    return (
        len(first) >= MIN_ENCODED
        and all(_BASE64.fullmatch(line) for line in text.lines)
        and any(map(str.isdigit, first))
        and any(map(str.islower, first))
        and any(map(str.isupper, first))
    )
