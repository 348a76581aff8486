"""Text with times or speakers' marks in its lines: chats, logs, transcripts."""

from __future__ import annotations

import re

from voxcli.inputs.beginning import Beginning
from voxcli.inputs.refusals import LOG, TIMES
from voxcli.inputs.signatures import Refusal

_CLOCK = r"\d{1,2}:[0-5]\d(?::[0-5]\d(?:[:;.,]\d{1,3})?)?(?: ?[AaPp]\.?[Mm]\.?)?"
_DATE = r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}"
_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_STAMP = re.compile(
    rf"\s*(?:[\[(<]?{_DATE}(?:, ?|[ T]){_CLOCK}"  # 2026-11-28 18:22
    rf"|[\[(]{_CLOCK}[\])]"  # [18:22]
    r"|\d{1,2}:[0-5]\d:[0-5]\d(?:[:;.,]\d{1,3})?(?!\w)"  # 00:00:01
    rf"|{_CLOCK}\s*(?:[-\u2013] )?(?:<[^\s<>]+>|[^\W\d_][\w .'-]{{0,30}}:\s)"  # 0:05 Anna: ...
    rf"|{_MONTH} [ \d]\d \d\d:\d\d:\d\d "  # Nov 28 18:22:01
    r"|\d\d-\d\d \d\d:\d\d:\d\d\.\d)"
)
_FROM_ZERO = re.compile(r"\s*0{1,2}:[0-5]\d(?::[0-5]\d)?(?:\s|$)")  # a recording begins at 0:00, no appointment does
_MINUTES = re.compile(r"\s*\d{1,3}:[0-5]\d(?::[0-5]\d)?(?:\s|$)")
_NICK = re.compile(rf"(?:[\[(]?{_CLOCK}[\])]?\s*)?<[@+%&~! ]?([^\s<>/=\"']{{1,30}})>\s+\S(?!.*</\1>)")
# "anna - Today at 18:22", "Speaker 1  0:05": a line above a message or a speech.
_HEAD = re.compile(
    rf"[^\s:]+(?: [^\s:]+){{0,5}}(?:\s{{2,}}| [\u2014\u2013-] )"
    rf"(?:(?:Today|Yesterday)(?: at)?,? |{_DATE},? )?{_CLOCK}$"
)
_LEVEL = re.compile(r"\[?(?:INFO|DEBUG|WARN|WARNING|ERROR|TRACE|FATAL|CRITICAL)\b[\]:]")
_REQUEST = re.compile(rf"\S+ \S+ \S+ \[\d\d/{_MONTH}/\d{{4}}:")
_UPTIME = re.compile(r"\[ {0,9}\d{1,9}\.\d{6}\] ")


def timed(text: Beginning) -> Refusal | None:
    """Return what a text with times in its lines is. Verses (3:16) and timetables (9:30) are prose."""
    if any(map(text.mostly, (_LEVEL, _REQUEST, _UPTIME))):
        return LOG
    if text.mostly(_STAMP) or text.mostly(_NICK):
        return TIMES
    if any(map(_FROM_ZERO.match, text.lines[:2])) and _often(text, _MINUTES, 3):
        return TIMES
    return TIMES if _often(text, _HEAD, 4) else None


def _often(text: Beginning, pattern: re.Pattern[str], lines: int) -> bool:
    """Whether two lines or more match, and one of each `lines` lines on average."""
    count = text.count(pattern)
    return count > 1 and lines * count >= len(text.lines)
