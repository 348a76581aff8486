import sys
from collections.abc import Iterator

import pytest

from voxcli.errors import VoxError
from voxcli.text import normalize as module
from voxcli.text.normalize import normalize


@pytest.fixture
def library() -> None:
    pytest.importorskip("wetext")
    pytest.importorskip("inflect")


GOLDEN = [
    ("I have 3 apples and 21 pears.", "I have three apples and twenty one pears."),
    (
        "It costs $5.20, not $1,234.50.",
        "It costs five dollars and twenty cents, not one thousand two hundred and thirty four dollars and fifty cents.",
    ),
    ("$1.5M or $2.5 million", "one point five million dollars or two point five million dollars"),
    ("\u00a320, \u20ac30, \u00a30.01, \u00a31.50", "twenty pounds, thirty euros, one penny, one pound and fifty pence"),
    ("$20/month", "twenty dollars per month"),
    ("On 2024-03-15 at 3:30 pm", "On the fifteenth of march twenty twenty four at three thirty PM"),
    ("in 1999 and the 1990s, the '80s", "in nineteen ninety nine and the nineteen nineties, the eighties"),
    ("1990-1995", "nineteen ninety to nineteen ninety five"),
    ("50% off", "fifty percent off"),
    ("1,000 people, 1000 people", "one thousand people, one thousand people"),
    ("version 2.0.3 or v1.2", "version two point zero point three or version one point two"),
    ("see https://example.com/docs now", "see example dot com slash docs now"),
    ("mail jane.doe@example.com!", "mail jane dot doe at example dot com!"),
    ("5 km at 100 km/h, 20\u00b0C", "five kilometers at one hundred kilometers per hour, twenty degrees Celsius"),
    ("-5 degrees, 1/2 cup, 3.14", "negative five degrees, one half cup, three point one four"),
    ("the 1st, 2nd and 23rd", "the first, second and twenty third"),
    ("Call 555-1234.", "Call five five five, one two three four."),
    ("#5 and No. 6", "number five and number six"),
    ('"5" he said', '"five" he said'),
    ("He is 5'10\" tall.", "He is five feet ten inches tall."),
    ("\u6211\u67093\u4e2a\u82f9\u679c", "\u6211\u6709\u4e09\u4e2a\u82f9\u679c"),
    (
        "2024\u5e743\u670815\u65e5\u4e0b\u53483:30",
        "\u4e8c\u96f6\u4e8c\u56db\u5e74\u4e09\u6708\u5341\u4e94\u65e5\u4e0b\u5348\u4e09\u70b9\u4e09\u5341\u5206",
    ),
    (
        "\u6298\u623f50%\uff0c\u6da810%-20%",
        "\u6298\u623f\u767e\u5206\u4e4b\u4e94\u5341\uff0c\u6da8\u767e\u5206\u4e4b\u5341\u5230\u767e\u5206\u4e4b\u4e8c\u5341",
    ),
    ("\u4ef7\u683c\uffe5100", "\u4ef7\u683c\u4e00\u767e\u5143"),
    (
        "\u4eba\u53e31,234,567",
        "\u4eba\u53e3\u4e00\u767e\u4e8c\u5341\u4e09\u4e07\u56db\u5343\u4e94\u767e\u516d\u5341\u4e03",
    ),
    ("GPT-4\u5f88\u597d", "GPT \u56db\u5f88\u597d"),
    ("\u7248\u672c2.0.3", "\u7248\u672c\u4e8c\u70b9\u96f6\u70b9\u4e09"),
    ("\u6c14\u6e2920\u2103\uff0c5km", "\u6c14\u6e29\u4e8c\u5341\u6444\u6c0f\u5ea6\uff0c\u4e94\u516c\u91cc"),
    ("I have 3. \u6211\u67093\u4e2a\u3002", "I have three. \u6211\u6709\u4e09\u4e2a\u3002"),
]


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(("written", "spoken"), GOLDEN)
def test_golden(written: str, spoken: str) -> None:
    assert normalize(written) == spoken


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    "text",
    [
        "if a < b and c > d",
        "{HH AH0 L OW1} there",
        "[x 5] there",
        "(a 30 year old man) Hello there.",
        "\uff0830\u5c81\uff09 \u4f60\u597d",
        "No numbers, ALL CAPS, Dr. Smith's caf\u00e9.",
        "\u041f\u0440\u0438\u0432\u0435\u0442 5",
        "\uc548\ub155 5",
        "\u6771\u4eac\u30bf\u30ef\u30fc\u306f333m\u3067\u3059",
        "",
    ],
)
def test_untouched(text: str) -> None:
    assert normalize(text) == text


@pytest.mark.usefixtures("library")
def test_a_description_stays_before_its_text() -> None:
    assert normalize("(a 30 year old) I am 30. {AH0} 5") == "(a 30 year old) I am thirty. {AH0} five"


@pytest.mark.usefixtures("library")
def test_paragraphs_stay_apart() -> None:
    assert normalize("Chapter 1\n\nIt was 7.") == "Chapter one\n\nIt was seven."


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    "text",
    ["a[5", "5\u00e9 x", "\u00b15", "a\u21925", "\x7f5", "5" * 40, '"', "1e5 \u4e2d", "@ 5 %", "$", "#" * 50 + "5"],
)
def test_what_no_grammar_knows_is_still_said(text: str) -> None:
    assert not [char for char in normalize(text) if char in "0123456789"]


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("missing", ["wetext", "inflect"])
def test_without_the_library_the_error_tells_how_to_get_it(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(VoxError, match=r"pip install wetext inflect"):
        normalize("1,000 apples")


@pytest.fixture
def fresh() -> Iterator[None]:
    module._wetext.cache_clear()
    module._number_words.cache_clear()
    yield
    module._wetext.cache_clear()
    module._number_words.cache_clear()
