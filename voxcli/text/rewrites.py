"""Rewrite written forms of Chinese that wetext's grammar reads wrong: "GPT-4" as minus four, "2.0.3" in half."""

from __future__ import annotations

import re

__all__ = ["rewrite_chinese"]

_VERSION = re.compile(r"\b(?:v(?=\d))?(\d+(?:\.\d+){2,})\b", re.ASCII)
_GROUPED = re.compile(
    r"\b\d{1,3}(?:,\d{3})+\b", re.ASCII
)  # ASCII, because there is no space between Han characters and digits


def rewrite_chinese(text: str) -> str:
    text = _GROUPED.sub(lambda m: m[0].replace(",", ""), text)
    text = _VERSION.sub(lambda m: m[0].replace(".", "\u70b9") if m[0][0] == "v" or not _is_date(m[1]) else m[0], text)
    text = re.sub(r"(?<=[A-Za-z])-(?=\d)", " ", text)
    return re.sub(r"(?<=\d%)-(?=\d)", "~", text)


def _is_date(number: str) -> bool:
    return bool(re.fullmatch(r"(?:1[1-9]|20)\d\d\.\d{1,2}\.\d{1,2}", number))
