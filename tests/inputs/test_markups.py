"""Documents with marks for programs are refused by name, also without a name of a file."""

from __future__ import annotations

import pytest

from tests.inputs.test_detect import kind

MARKUP = "a document with markup"
GAME = "the script of a game"
HTML = "an HTML page"
LATEX = "a LaTeX document"


@pytest.mark.parametrize("suffix", ["", ".txt"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\\documentclass{article}\n\\begin{document}\nHello.\n\\end{document}\n", LATEX),
        ("\\section{One}\nHello.\n\\textbf{Good} night.\n", LATEX),
        ("The path C:\\texts is empty.\nSo is C:\\items.\n", "text"),
        ("<div class='a'>\n<p>Hello.</p>\n</div>\n", HTML),
        ("<ul>\n  <li>Hello.</li>\n</ul>\n", HTML),
        ("<script>\nvar a = 1;\n</script>\n<p>Hello.</p>\n", HTML),
        ("A table:\n\n<table>\n<tr>\n<td>Hello.</td>\n</tr>\n</table>\n", HTML),
        ("<resources>\n  <string name='a'>Hello.</string>\n</resources>\n", "an XML document"),
        ("<p>Hello.</p>\n<p>Good night.</p>\n", "text"),
        ("== One ==\n'''Hello''' [[Anna|there]].\n", MARKUP),
        ("{{Infobox\n| name = Anna\n}}\n'''Anna''' was a [[queen]].\n", MARKUP),
        ("{| class='a'\n|-\n| Hello || there\n|}\n", MARKUP),
        ("====== One ======\n\nHello //there//.\\\\\n  * [[wiki:anna|Anna]]\n", MARKUP),
        ("A book\nAnna\n2024\n\n= One =\nHello //there//.\n", MARKUP),
        ("= 1\nHe came. // She left. // See http://example.com/ now.\n", "text"),
        ("#+TITLE: One\n* Hello\nGood night.\n", MARKUP),
        ("* One\n** Two\nHello there.\n", MARKUP),
        ("* One\n:PROPERTIES:\n:ID: a\n:END:\nHello.\n", MARKUP),
        ("Title\n=====\n\nHello *there*.\n\n.. note:: x\n", MARKUP),
        ("Title\n=====\n\nHello there.\n", "text"),
        ("h1. Title\n\nHello *there*.\n", MARKUP),
        ("= Title\n:author: Anna\n\nHello.\n", MARKUP),
        (".TH A 1\n.SH NAME\na \\- b\n", MARKUP),
        ("[b]Hello[/b] there.\n[url=x]Good[/url] night.\n", MARKUP),
        ('define e = Character("Eileen")\nlabel start:\n    e "Hello there."\n    return\n', GAME),
        ('label start:\n    "Hello there."\n    jump end\n', GAME),
        ("=== kitchen ===\nHello there.\n* [Go] -> hall\n-> END\n", GAME),
        ("VAR a = 1\n* Hello there.\n  -> kitchen\n* Good night.\n  -> END\n", GAME),
        (":: Start [a]\nHello [[there->Next]].\n\n:: Next\nGood night.\n", GAME),
        ("title: Start\ntags: a\n---\nAnna: Hello there.\n===\n", GAME),
        ("*label start\nHello there.\n*choice\n  #Go\n    *goto next\n", GAME),
        ("INT. KITCHEN - NIGHT\n\nANNA\n(softly)\nWhere were you?\n", "a screenplay"),
        ("Title: One\nAuthor: Anna\n\nEXT. HILL - DAY\n\nThe sun is rising.\n", "a screenplay"),
        ("INT./EXT. CAR - DAY\n\nThe car stands.\n", "a screenplay"),
    ],
)
def test_marks_for_programs(suffix: str, text: str, expected: str) -> None:
    assert kind(text, suffix) == expected


@pytest.mark.parametrize(
    ("suffix", "expected"),
    [(".fountain", "a screenplay"), (".fdx", "a screenplay"), (".rpy", GAME), (".ink", GAME), (".twee", GAME)],
)
def test_a_name_that_tells(suffix: str, expected: str) -> None:
    assert kind("Hello there.\n", suffix) == expected
