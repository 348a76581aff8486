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
    (
        "\u6771\u4eac\u30bf\u30ef\u30fc\u306f333m\u3067\u3059",
        "\u6771\u4eac\u30bf\u30ef\u30fc\u306f\u4e09\u767e\u4e09\u5341\u4e09\u30e1\u30fc\u30c8\u30eb\u3067\u3059",
    ),
    (
        "3\u5339\u306e\u72ac\u30012,500\u5186\u300180%\u3067\u3059\u3002",
        "\u4e09\u5339\u306e\u72ac\u3001\u4e8c\u5343\u4e94\u767e\u5186\u3001\u516b\u5341\u30d1\u30fc\u30bb\u30f3\u30c8\u3067\u3059\u3002",
    ),
    # forms that wetext alone reads wrong, and similar ones
    (
        "The wind blew at 5 m/s, open 24/7, from US$5 to $3.75bn.",
        "The wind blew at five meters per second, open twenty four seven, from five US dollars to three "
        "point seven five billion dollars.",
    ),
    ("1 m/s, 7.9 km/s", "one meter per second, seven point nine kilometers per second"),
    ("Louis XIV met Henry VIII.", "Louis the fourteenth met Henry the eighth."),
    ("Elizabeth II and Pope John Paul II", "Elizabeth the second and Pope John Paul the second"),
    ("Henry V, Elizabeth I, Charles I know", "Henry the fifth, Elizabeth the first, Charles I know"),
    (
        "Chapter IV, World War II, Part I, Act V, Rocky IV",
        "Chapter four, World War two, Part one, Act five, Rocky four",
    ),
    ("I am in the MIX with Vitamin C and 5 of them", "I am in the MIX with Vitamin C and five of them"),
    (
        "A$10, C$20, HK$5, NZ$1",
        "ten Australian dollars, twenty Canadian dollars, five Hong Kong dollars, one New Zealand dollar",
    ),
    (
        "\u20ac1.5bn, \u00a32m, $5k, $1.2tn",
        "one point five billion euros, two million pounds, five thousand dollars, one point two trillion dollars",
    ),
    ("$5-10, 5-10%, 10-15 km", "five to ten dollars, five to ten percent, ten to fifteen kilometers"),
    (
        "20\u20ac, 20 \u20ac, 5 USD, USD 5, 50\u00a2, \u20b9100",
        "twenty euros, twenty euros, five US dollars, five US dollars, fifty cents, one hundred rupees",
    ),
    (
        "50/50, 9/11, 2/3, 2 1/2 cups, 3\u00bd",
        "fifty fifty, nine eleven, two thirds, two and one half cups, three and one half",
    ),
    (
        "v2.0, version 3.11, Python 3.11.4",
        "version two point zero, version three point eleven, Python three point eleven point four",
    ),
    ("192.168.1.1", "one hundred and ninety two dot one hundred and sixty eight dot one dot one"),
    (
        "100.00, 3.14159, 1,905 people, 1.000.000",
        "one hundred point zero zero, three point one four one five nine, one thousand nine hundred and "
        "five people, one million",
    ),
    (
        "1905, 2001, 1900, in 1066, 1990-95",
        "nineteen oh five, two thousand one, nineteen hundred, in ten sixty six, nineteen ninety to ninety five",
    ),
    ("the 2010s, the 1900s, mid-1990s", "the twenty tens, the nineteen hundreds, mid-nineteen nineties"),
    (
        "No. 5, Nos. 3 and 4, p. 5, pp. 5-6, vol. 2",
        "number five, numbers three and four, page five, pages five to six, volume two",
    ),
    ("5 St. James St., St. Louis", "five Saint James Street, Saint Louis"),
    ("She has 5 on Main St. today", "She has five on Main Street today"),
    (
        "(555) 123-4567, 1-800-555-0199",
        "five five five, one two three, four five six seven, one, eight zero zero, five five five, zero one nine nine",
    ),
    ("+44 20 7946 0958", "plus four four, two zero, seven nine four six, zero nine five eight"),
    ("Call 911 now", "Call nine one one now"),
    (
        "May 3, 2024, on 3 May 2024, Dec 31st",
        "May third, twenty twenty four, on the third of May twenty twenty four, Dec thirty first",
    ),
    (
        "220 V, 60 W, 1 kWh, 2 L, 5 ft 10 in",
        "two hundred and twenty volts, sixty watts, one kilowatt hour, two liters, five feet ten inches",
    ),
    ("3.5 lbs, 98.6\u00b0F", "three point five pounds, ninety eight point six degrees Fahrenheit"),
    ("~50, \u00b13, 10^6", "about fifty, plus or minus three, ten to the power of six"),
    (
        "the 1980's, 10%-20%, $10bn-$12bn, $.50",
        "the nineteen eighties, ten to twenty percent, ten billion dollars to twelve billion dollars, fifty cents",
    ),
    ("24-7, 50-50, 9-5, 3 1/2-inch", "twenty four seven, fifty fifty, nine to five, three and one half inch"),
    (
        "U.S. $5, $5 USD, 1.2M users, 020 7946 0958",
        "five US dollars, five US dollars, one point two million users, zero two zero, seven nine four "
        "six, zero nine five eight",
    ),
    (
        "1st-class, 20th-century, GPT-3.5, 2 hrs, >=5",
        "first-class, twentieth-century, GPT three point five, two hours, at least five",
    ),
    ("No. No! I have 5", "No. No! I have five"),
    (
        "Super Bowl LVIII, Louis XIV's, Napoleon I, Pope Francis I.",
        "Super Bowl fifty eight, Louis the fourteenth's, Napoleon the first, Pope Francis the first.",
    ),
    ("A 3CD set, 2 DVDs, the 4Cs", "A three CD set, two DVD's, the four C's"),
    (
        "3 kg/m, 50 kg/m3, 9.81 m/s2, 9.81 m/s\u00b2, 10 Mbit/s",
        "three kilograms per meter, fifty kilograms per cubic meter, nine point eight one meters per second squared, "
        "nine point eight one meters per second squared, ten megabits per second",
    ),
    ("0.5 m, 1 m, 100m, 5 cm", "zero point five meters, one meter, one hundred meters, five centimeters"),
    (
        "1h 30m, 2m 30s, 5m people, 10 min",
        "one hour thirty minutes, two minutes thirty seconds, five million people, ten minutes",
    ),
    (
        "12,000 km, 1,500 m, 1 000 dollars, 1 234 567 fans",
        "twelve thousand kilometers, one thousand five hundred meters, one thousand dollars, "
        "one million two hundred and thirty four thousand five hundred and sixty seven fans",
    ),
    (
        "On 25/12/2024, 12/25/2024, the 25.12.2024, 13-1-2024, 5/5/2024.",
        "On the twenty fifth of December twenty twenty four, the twenty fifth of December twenty twenty four, "
        "the twenty fifth of December twenty twenty four, the thirteenth of January twenty twenty four, "
        "the fifth of May twenty twenty four.",
    ),
    # the day may come first or second, or the century is missing
    ("On 5/6/2024, 5-6-2024, 5.6.2024 or 25/12/24.", "On 5/6/2024, 5-6-2024, 5.6.2024 or 25/12/24."),
    (
        "Version 5.16.2024.1, 40.50.2024",
        "Version five point sixteen point two thousand and twenty four point one, "
        "forty point fifty point two thousand and twenty four",
    ),
    ("On May 5 100 people came", "On May fifth one hundred people came"),
    ("at 00:00, from 24:00, at 14:00, at 9:00", "at midnight, from midnight, at fourteen hundred, at nine o'clock"),
    ("12:30-14:00 and 9:00 - 17:30", "twelve thirty to fourteen hundred and nine o'clock to seventeen thirty"),
    ("the timer at zero shows 00:00 now", "the timer at zero shows 00:00 now"),
    (
        "6/2, 05/06, 12/25, 16/9, 1/1, 20/20, 120/80, 7/10",
        "6/2, 05/06, 12/25, 16/9, 1/1, twenty twenty, one hundred and twenty eighty, seven tenths",
    ),
    ("page 3/10 and step 2/5", "page three of ten and step two of five"),
    ("the 1st-5th, 10th - 12th", "the first to fifth, tenth to twelfth"),
    ("2x4, 3 x 5, 1920x1080, 3x", "two by four, three by five, nineteen twenty by ten eighty, three times"),
    ("100+ books, 20+, 5+5, C++", "one hundred plus books, twenty plus, five plus five, C plus plus"),
    ("v2.0.1 of it, 2.0.1", "version two point zero point one of it, two point zero point one"),
    ("800 555 0199", "eight zero zero, five five five, zero one nine nine"),
    ("5G, 4K, 3D, 24/7, 19th", "five G, four K, three D, twenty four seven, nineteenth"),
    (
        "-5\u00b0C, 1e6, 192.168.0.1",
        "negative five degrees Celsius, one e six, one hundred and ninety two dot "
        "one hundred and sixty eight dot zero dot one",
    ),
    (
        "5Gb, 1,024 MB, 1 lb, 5 mph",
        "five gigabits, one thousand and twenty four megabytes, one pound, five miles per hour",
    ),
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
        "No numbers, ALL CAPS, Dr. Smith's caf\u00e9.",
        "\u041f\u0440\u0438\u0432\u0435\u0442 5",
        "\uc548\ub155 5",
        "",
    ],
)
def test_untouched(text: str) -> None:
    assert normalize(text) == text


@pytest.mark.usefixtures("library")
def test_phonemes_stay_inside_a_text() -> None:
    assert normalize("I am 30. {AH0} 5") == "I am thirty. {AH0} five"


@pytest.mark.usefixtures("library")
def test_paragraphs_stay_apart() -> None:
    assert normalize("Chapter 1\n\nIt was 7.") == "Chapter one\n\nIt was seven."


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    "text",
    ["a[5", "5\u00e9 x", "\u00b15", "a\u21925", "\x7f5", "5" * 40, '"', "1e5 \u4e2d", "@ 5 %", "$", "#" * 50 + "5"],
)
def test_figures_that_no_grammar_handles_are_spelled(text: str) -> None:
    assert not [char for char in normalize(text) if char in "0123456789"]


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("missing", ["wetext", "inflect"])
def test_a_missing_package_is_reported_with_its_install_command(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(VoxError, match=r"pip install wetext inflect unicode-rbnf"):
        normalize("1,000 apples")


@pytest.fixture
def fresh() -> Iterator[None]:
    module._wetext.cache_clear()
    module._number_words.cache_clear()
    yield
    module._wetext.cache_clear()
    module._number_words.cache_clear()
