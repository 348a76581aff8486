"""Text with the marks of a program for documents or games: LaTeX, HTML and XML fragments, wikis, scripts."""

from __future__ import annotations

import re

from voxcli.inputs.beginning import Beginning
from voxcli.inputs.refusals import GAME, HTML, LATEX, MARKUP, SCREENPLAY, XML
from voxcli.inputs.signatures import Refusal


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FIRST_TAG = re.compile(r"<[A-Za-z][\w:.-]*(?:\s[^<>]*)?/?>")
_TAG = re.compile(r"\s*</?[A-Za-z][\w:.-]*(?:\s[^<>]*)?/?>")
_TAG_ALONE = re.compile(r"\s*<([A-Za-z][\w:.-]*)(?:\s[^<>]*)?>")
_HTML_TAGS = _names(
    """
    a article aside b blockquote body br button caption center code dd details div dl dt em figure font footer form
    h1 h2 h3 h4 h5 h6 head header hr i iframe img input label li link main meta nav ol option p pre script section
    select small span strong style sub summary sup table tbody td template textarea tfoot th thead title tr u ul video
    """
)
_LATEX = re.compile(
    r"\s*\\(?:begin|end|(?:sub)*section|chapter|part|usepackage|title|author|date|input|include|maketitle|item|label"
    r"|textbf|textit|emph|documentclass|newcommand|caption|bibliography)\b"
)
_ROFF = re.compile(r"\.(?:TH|SH|SS|PP|TP|IP|TS|TE|B|I|BR)(?: |$)")
_RST = re.compile(r"\.\. (?:[\w-]{1,60}::|_[^:\n]{1,60}:|\[)")
_ORG = re.compile(r"#\+[A-Za-z_]{2,30}:|#\+(?:BEGIN|END)_|\s*:(?:PROPERTIES|LOGBOOK):$", re.IGNORECASE)
_STAR, _STARS = re.compile(r"\* \S"), re.compile(r"\*{2,9} \S")
_TEXTILE = re.compile(r"h[1-6]\. \S")
_ASCIIDOC = re.compile(r"={2,5} \S[^=\n]*$|:[\w-]{1,60}:(?: |$)|\[source\b")
_WIKI = (
    re.compile(r"={1,6} ?[^=\n]{1,200}={1,6}$"),
    re.compile(r".*\[\[[^\[\]\n]{1,200}\]\]"),
    re.compile(r".*'''[^'\n]{1,200}'''"),
    re.compile(r"(?:.*[\s(])?//[^\s/][^/\n]{0,200}//(?:\W|$)"),  # italics of DokuWiki and txt2tags
    re.compile(r".*\{\{[^{}\n]{1,200}(?:\}\}|\||$)"),
    re.compile(r"\[\[(?:File|Category|Image|Datei|Kategorie):"),
    re.compile(r".*<ref\b"),
    re.compile(r"\{\|"),
    re.compile(r"\|-"),
)
_FORUM = re.compile(r".*\[/(?:b|i|u|s|url|quote|size|color|img|spoiler|center|list)\]", re.IGNORECASE)

_RENPY = re.compile(r"\s*(?:label [\w.]+(?:\([^()\n]*\))?:$|define [\w.]+ = Character\()")
_TWINE = re.compile(r":: ?[^\s:]")
_YARN = (re.compile(r"title: ?\S"), re.compile(r"---$"), re.compile(r"===$"))
_KNOT = re.compile(r"={2,3} ?(?:function )?\w+ ?(?:\([^()\n]*\))? ?(?:={2,3})?$")
_DIVERT = re.compile(r"\s*(?:[*+-] .*)?-> ?(?:END|DONE|[a-z_][\w.]*)$")
_CHOICE = re.compile(r"\*(?:choice|label|goto|create|set|page_break|finish|scene_list|comment|gosub)\b")

_SCENE = re.compile(r"\s*\.?(?:INT|EXT|EST|I/E|INT\.? ?/ ?EXT)(?:\. ?| )[^a-z\n]*[A-Z]{3}[^a-z\n]*$")


def marked_up(text: Beginning) -> Refusal | None:
    """Return what a text with marks for a program is; None for prose."""
    if text.count(_LATEX) > 1:
        return LATEX
    if _is_game(text):
        return GAME
    if text.has(_SCENE):
        return SCREENPLAY
    return MARKUP if _is_markup(text) else _tagged(text)


def _is_markup(text: Beginning) -> bool:
    """Wikis share single marks with prose and with the tags of the model, so that they need two kinds of them."""
    return (
        text.has(_RST)
        or text.has(_ORG)
        or text.has(_TEXTILE)
        or (text.has(_STAR) and text.has(_STARS))
        or text.count(_ROFF) > 1
        or text.count(_FORUM) > 1
        or (text.start.startswith("= ") and text.has(_ASCIIDOC))
        or sum(map(text.has, _WIKI)) > 1
    )


def _is_game(text: Beginning) -> bool:
    return (
        text.has(_RENPY)
        or bool(_TWINE.match(text.start))
        or all(map(text.has, _YARN))
        or (text.has(_KNOT) and text.has(_DIVERT))
        or text.count(_DIVERT) > 1
        or text.count(_CHOICE) > 1
    )


def _tagged(text: Beginning) -> Refusal | None:
    """HTML or XML whose elements go over several lines. Lines such as `<p>Hello.</p>` are read by themselves."""
    alone = [found[1].lower() for line in text.lines if (found := _TAG_ALONE.fullmatch(line))]
    if not alone or "speak" in alone:
        return None
    if _FIRST_TAG.match(text.start) and (not text.whole or text.lines[-1].rstrip().endswith(">")):
        return HTML if alone[0] in _HTML_TAGS else XML
    return HTML if alone[0] in _HTML_TAGS and text.mostly(_TAG) else None
