"""Collect the training sentences.

    python make_text.py --out work/text.txt --lines FILE [FILE ...] [--ljspeech FILE ...]

--lines     text files with one sentence per line (the English `server/data/en/*.txt` files of Common Voice, CC0)
--ljspeech  file lists in the style of LJSpeech (`name|text`, public domain text)

Generated text is added, so that very short, long and unusual inputs are covered: template sentences (numbers, dates,
money, abbreviations, capitals), single words, short phrases, random word sequences and pairs of sentences. Held-out
test sentences are removed.
"""

from __future__ import annotations

import argparse
import collections
import pathlib
import random
import re
from collections.abc import Callable, Iterable

import common
import heldout

NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split()
NAMES = (
    "Alice Anna Ben Carol Charlie Daniel David Emily Emma Frank George Grace Hannah Harry Henry Jack James Jane "
    "John Julia Kate Laura Lily Linda Lucy Maria Mark Mary Max Michael Molly Nancy Nick Oliver Oscar Paul Peter "
    "Rachel Robert Rose Sam Sarah Simon Sophie Steve Susan Thomas Tom Victor William"
).split()
SURNAMES = (
    "Smith Jones Brown Taylor Wilson Davies Evans Thomas Johnson Roberts Walker Wright Miller Moore Clark Lewis Hall "
    "King Baker Adams Green Hill"
).split()
MONTHS = "January February March April May June July August September October November December".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
PLACES = (
    "London Paris Boston Chicago Berlin Rome Madrid Tokyo Sydney Toronto Dublin Vienna Texas Florida California "
    "Canada Germany France Spain Italy Japan India China Brazil Mexico Egypt"
).split()
THINGS = (
    "door window book table chair lamp phone car bus train house garden kitchen bottle cup plate letter box key "
    "clock picture camera radio computer paper pencil jacket shoe hat coat bag bed bird cat dog horse fish tree "
    "flower river lake road bridge street city village school office hospital shop market bank church museum "
    "station airport ticket newspaper song story movie game ball boat ship plane engine machine garage umbrella "
    "blanket pillow mirror candle basket ladder hammer bucket sandwich apple orange banana lemon potato tomato "
    "carrot onion bread butter cheese soup salad cake coffee tea water juice milk sugar salt"
).split()
ADJECTIVES = (
    "red blue green yellow black white brown gray pink purple big small old new young tall short long wide "
    "narrow heavy light dark bright clean dirty warm cold hot cool quiet loud soft hard fast slow early late "
    "happy sad angry tired hungry thirsty busy empty full strange simple beautiful wonderful terrible "
    "important expensive cheap broken wooden golden silver"
).split()
VERBS = (
    "open close find take bring carry move clean wash paint repair buy sell keep lose hide show draw watch read "
    "write check count lift push pull drop hold break fix turn"
).split()
GREETINGS = """Hello.|Hello there.|Hi.|Hi there.|Hey.|Good morning.|Good afternoon.|Good night.|Goodbye.|Bye.
See you later.|See you soon.|Take care.|Thanks.|Thank you.|Thanks a lot.|You are welcome.|Yes.|No.|Maybe.|Okay.
Sure.|Of course not.|Please.|Excuse me.|I am sorry.|Sorry.|No problem.|Wait.|Stop.|Go.|Help.|Look.|Listen.|Come in.
Sit down.|Hurry up.|Be careful.|Let's go.|What?|Why?|Who?|When?|Where?|How?|Really?|Are you sure?|How are you?
I am fine, thank you.|What is your name?|Nice to meet you.|How old are you?|Where are you from?|What time is it?
I do not know.|I don't know.|I don't understand.|That is right.|That's wrong.|Congratulations.|Merry Christmas.
Happy new year.|Good job.|Great.|Excellent.|Perfect.|Wonderful.|Welcome.|Welcome home.|Hello everyone.
Hello, my friend.|Hello, how are you doing today?|Hello, this is a test.|This is a test.|Testing, one, two, three.
The world is round.|Around the world.|The whole world.|World peace.|Welcome to my world.|Hello again.
Hello, nice to see you.|The quick brown fox jumps over the lazy dog.|She sells sea shells by the sea shore.
How much wood would a woodchuck chuck?|Peter Piper picked a peck of pickled peppers.|Speech synthesis is fun.
This voice was made by a very small model.|Text to speech.|I can speak.|My voice is small, but I can talk.
Please say something.|Can you hear me?|This is a demonstration.|Welcome to the demonstration.
I am a tiny talking machine.|The model runs on your own computer.|It works without the internet."""


Make = Callable[[], str]  # makes a random text


def clean(text: str) -> str:
    text = text.strip().replace("\ufeff", "")
    for a, b in (
        ("\u2019", "'"),
        ("\u2018", "'"),
        ("\u201c", '"'),
        ("\u201d", '"'),
        ("\u2026", "..."),
        ("--", ", "),
        ("\u2014", ", "),
        ("\u2013", "-"),
        ("\u00a0", " "),
        ("''", '"'),
        (";", ","),
    ):
        text = text.replace(a, b)
    text = re.sub(r"(?:\.\s*){2,}", ". ", text)
    text = re.sub(r"[\[\](){}*_|]", " ", text)
    text = re.sub(r"(^|\s)'([^']+)'(?=[\s,.!?]|$)", r'\1"\2"', text)  # 'quoted' -> "quoted"
    text = re.sub(r"\s+([,.!?])", r"\1", re.sub(r"\s+", " ", text)).strip(" ,-:")
    if text.count('"') % 2:
        text = text.replace('"', "")
    if text and text[-1].isalnum():
        text += "."
    return text


def key(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9']+", text.lower()))


def usable(text: str, limit: int) -> bool:
    if not 2 <= len(text) <= limit or not re.search(r"[a-zA-Z0-9]", text):
        return False
    vocab = common.vocabulary()
    if any(c != " " and c not in vocab for c in text):
        return False
    return max(len(w) for w in text.split()) <= 22


def figures(rng: random.Random, count: int, several: bool = False) -> list[str]:
    """Return sentences with numbers, dates, times, money, units, abbreviations and capitals in everyday notation.

    several: two or three of them in each sentence.
    """

    def integer() -> int:
        return rng.choice(
            [
                rng.randint(0, 20),
                rng.randint(21, 99),
                rng.randint(100, 999),
                rng.randint(1000, 9999),
                rng.randint(1, 99) * 1000,
            ]
        )

    def plain() -> str:
        return str(integer())

    def grouped() -> str:
        thousands = [rng.randint(1000, 9999), rng.randint(10000, 99999), rng.randint(100000, 999999)]
        return f"{rng.choice([*thousands, rng.randint(1, 9) * 1000000]):,}"

    def decimal() -> str:
        return rng.choice([f"{rng.randint(0, 99)}.{rng.randint(1, 9)}", f"{rng.randint(0, 20)}.{rng.randint(10, 99)}"])

    def money() -> str:
        sign = rng.choice("$$$$\u20ac\u00a3")
        return rng.choice(
            [
                f"{sign}{rng.randint(1, 999)}",
                f"{sign}{rng.randint(1, 99)}.{rng.choice([99, 50, 25, 95, rng.randint(10, 98)])}",
                f"{sign}{rng.randint(1000, 99999):,}",
                f"{sign}{rng.randint(1, 900)} {rng.choice(['million', 'billion', 'thousand'])}",
                f"{sign}{rng.randint(1, 9)}.{rng.randint(1, 9)} {rng.choice(['million', 'billion'])}",
            ]
        )

    def year() -> str:
        return str(rng.choice([rng.randint(1700, 1999), rng.randint(1900, 1999), rng.randint(2000, 2030)]))

    def ordinal(hi: int = 31) -> str:
        n = rng.randint(1, hi)
        return f"{n}{'th' if 10 < n % 100 < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"

    def date() -> str:
        month = rng.choice(MONTHS)
        return rng.choice(
            [
                f"{month} {rng.randint(1, 31)}, {year()}",
                f"{month} {ordinal()}",
                f"{month} {rng.randint(1, 31)}",
                f"{month} {ordinal()}, {year()}",
                f"the {ordinal()} of {month}",
                f"{month[:3]}. {rng.randint(1, 31)}",
                f"{rng.randint(1, 12)}/{rng.randint(1, 28)}/{year()}",
                f"{year()}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}",
                f"{month} {year()}",
            ]
        )

    def time() -> str:
        hour, minute = rng.randint(1, 12), rng.choice([0, 5, 10, 15, 20, 30, 40, 45, 50, rng.randint(1, 59)])
        return rng.choice(
            [
                f"{hour}:{minute:02d}",
                f"{hour}:{minute:02d} {rng.choice(['am', 'pm', 'a.m.', 'p.m.', 'AM', 'PM'])}",
                f"{hour} {rng.choice(['am', 'pm', 'p.m.'])}",
            ]
        )

    def percent() -> str:
        return rng.choice([f"{rng.randint(1, 100)}%", f"{decimal()}%", f"{rng.randint(1, 100)} percent"])

    def measure() -> str:
        unit = rng.choice("km m cm kg g mph miles meters pounds kilometers hours minutes seconds degrees ft".split())
        return f"{rng.choice([plain(), decimal(), str(rng.randint(1, 200))])} {unit}"

    def person() -> str:
        return f"{rng.choice(['Mr.', 'Mrs.', 'Ms.', 'Dr.', 'Prof.', 'Capt.', 'St.'])} {rng.choice(SURNAMES)}"

    def address() -> str:
        return (
            f"{rng.randint(1, 999)} {rng.choice(['Baker', 'Main', 'Park', 'Oak', 'Church'])} "
            f"{rng.choice(['St.', 'Street', 'Road', 'Ave.'])}"
        )

    def initials() -> str:
        return rng.choice(
            [
                rng.choice(
                    "NASA FBI CIA USA UK US EU UN BBC CEO TV PC DNA GPS ATM IBM NBC CNN MIT UFO VIP DVD CD AI API URL "
                    "PDF USB HTML FAQ DIY "
                    "ID IT NATO HIV AIDS NBA NFL PhD".split()
                ),
                "".join(rng.choice("ABCDEFGHIJKLMNOPRSTUVW") for _ in range(rng.randint(2, 4))),
            ]
        )

    forms = [
        lambda: f"{plain()}.",
        lambda: f"{grouped()}.",
        lambda: f"{money()}.",
        lambda: f"{date()}.",
        lambda: f"{time()}.",
        lambda: f"{percent()}.",
        lambda: f"{initials()}.",
        lambda: f"{person()}.",
        lambda: f"{ordinal(99)}.",
        lambda: f"{decimal()}.",
        lambda: f"It costs {money()}.",
        lambda: f"The total is {money()}, please.",
        lambda: f"They paid {money()} for the {rng.choice(THINGS)}.",
        lambda: f"{person()} was born on {date()}.",
        lambda: f"On {date()}, we moved to {rng.choice(PLACES)}.",
        lambda: f"The {rng.choice(THINGS)} was built in {year()}.",
        lambda: f"The meeting starts at {time()} on {rng.choice(DAYS)}.",
        lambda: f"The train leaves at {time()} and arrives at {time()}.",
        lambda: f"About {percent()} of the people agreed.",
        lambda: f"Prices rose by {percent()} in {year()}.",
        lambda: f"The city has {grouped()} people.",
        lambda: f"There are {plain()} {rng.choice(THINGS)}s in the {rng.choice(THINGS)}.",
        lambda: f"It is {measure()} from {rng.choice(PLACES)} to {rng.choice(PLACES)}.",
        lambda: f"The {rng.choice(THINGS)} weighs {measure()}.",
        lambda: f"{person()} works for {initials()}.",
        lambda: f"The {initials()} and the {initials()} met in {rng.choice(PLACES)}.",
        lambda: f"Room {rng.randint(1, 999)} is on the {ordinal(30)} floor.",
        lambda: f"Turn to page {rng.randint(2, 800)}.",
        lambda: f"Chapter {rng.randint(1, 40)}.",
        lambda: f"Call {rng.randint(200, 999)}-{rng.randint(1000, 9999)}.",
        lambda: f"Flight {rng.randint(10, 999)} to {rng.choice(PLACES)} is delayed by {rng.randint(5, 90)} minutes.",
        lambda: f"{person()} and {person()} live at {address()}",
        lambda: (
            f"In the {rng.choice([1920, 1930, 1940, 1950, 1960, 1970, 1980, 1990])}s, {rng.choice(THINGS)}s were "
            f"{rng.choice(ADJECTIVES)}."
        ),
        lambda: f"{rng.randint(0, 50)} + {rng.randint(0, 50)} = {rng.randint(0, 100)}.",
        lambda: f"Question #{rng.randint(1, 60)} was hard.",
        lambda: f"{rng.choice(NAMES)} & {rng.choice(NAMES)}.",
        lambda: (
            f"Add {rng.choice(['1/2', '1/4', '3/4', '1/3', '2/3'])} cup of "
            f"{rng.choice(['sugar', 'milk', 'water', 'salt'])}."
        ),
        lambda: f"Version {decimal()} of the {rng.choice(THINGS)}.",
        lambda: f"It was {rng.choice(['-', ''])}{rng.randint(1, 40)} degrees in {rng.choice(PLACES)}.",
        lambda: f"We scored {rng.randint(0, 9)} to {rng.randint(0, 9)}.",
        lambda: f"{rng.choice(NAMES)} finished {ordinal(40)} in the {ordinal(60)} race.",
        lambda: f"Bring {rng.choice(THINGS)}s, {rng.choice(THINGS)}s, etc.",
        lambda: f"{rng.choice(NAMES)} vs. {rng.choice(NAMES)}.",
        lambda: f"WARNING: the {rng.choice(THINGS)} is {rng.choice(ADJECTIVES).upper()}!",
        lambda: f"PLEASE {rng.choice(VERBS).upper()} THE {rng.choice(THINGS).upper()}.",
        lambda: f"{rng.randint(1, 12)} x {rng.randint(1, 12)}.",
        lambda: f"She is {rng.randint(1, 99)} years old and {decimal()} meters tall.",
        lambda: f"Between {year()} and {year()}, {grouped()} {rng.choice(THINGS)}s were sold for {money()} each.",
    ]
    if several:
        forms = several_figures(
            rng, plain, grouped, decimal, money, year, ordinal, date, time, percent, measure, person, address, initials
        )
    made = (rng.choice(forms)() for _ in range(count))
    return [t[0].upper() + t[1:] for t in made] if several else list(made)


def several_figures(
    rng: random.Random,
    plain: Make,
    grouped: Make,
    decimal: Make,
    money: Make,
    year: Make,
    ordinal: Callable[[int], str],
    date: Make,
    time: Make,
    percent: Make,
    measure: Make,
    person: Make,
    address: Make,
    initials: Make,
) -> list[Make]:
    def who() -> str:
        return rng.choice(
            [
                person(),
                initials(),
                rng.choice(NAMES),
                "She",
                "He",
                "We",
                "They",
                f"{rng.choice(NAMES)} {rng.choice(SURNAMES)}",
            ]
        )

    def which() -> str:
        return rng.choice([initials(), f"the {initials()}", f"the {initials()} and the {initials()}", person()])

    def count() -> str:
        return rng.choice(
            [
                str(rng.randint(2, 20)),
                str(rng.randint(21, 99)),
                str(rng.randint(100, 999)),
                grouped(),
                str(rng.randint(2, 30)),
            ]
        )

    def things() -> str:
        return rng.choice(THINGS) + "s"

    def price() -> str:
        return rng.choice(
            [
                money(),
                money(),
                f"${rng.randint(1, 9)},{rng.choice([0, rng.randint(0, 9)])}00",
                f"${rng.randint(1, 19)}.{rng.choice([99, 50, 49, 95, 25])}",
                f"${rng.randint(2, 99)}",
            ]
        )

    def slashes() -> str:
        return (
            f"{rng.choice([rng.randint(1, 12), rng.randint(10, 12)])}/"
            f"{rng.choice([rng.randint(1, 31), rng.randint(10, 12)])}/{year()}"
        )

    paid = ("paid", "wants", "spent", "gave us", "offered", "got", "earned")
    return [
        lambda: f"{who()} {rng.choice(paid)} {price()} for {count()} {things()}.",
        lambda: f"{which()} paid {price()} for {count()} {things()}.",
        lambda: f"{price()} for {count()} {things()}.",
        lambda: f"{count()} {things()} for {price()}.",
        lambda: f"{count()} {things()} and {count()} {things()} cost {price()}.",
        lambda: f"It costs {price()}, and {which()} pays {percent()} of it.",
        lambda: f"It cost {price()} in {year()} and {price()} in {year()}.",
        lambda: f"{which()} pays {percent()}, {which()} the rest.",
        lambda: f"{percent()} of {price()} is {price()}.",
        lambda: f"{percent()} of the {count()} {things()} cost less than {price()}.",
        lambda: f"The price rose from {price()} to {price()}, or {percent()}.",
        lambda: f"The price of {things()} fell by {percent()} to {price()}.",
        lambda: f"Signed on {slashes()}.",
        lambda: f"{slashes()}.",
        lambda: f"{which()} signed it on {slashes()}.",
        lambda: f"The {initials()} and the {initials()} signed it on {date()}.",
        lambda: f"From {slashes()} to {slashes()}.",
        lambda: f"{who()} moved to {rng.choice(PLACES)} on {date()} and left on {date()}.",
        lambda: f"On {date()} at {time()}, {who()} bought {count()} {things()}.",
        lambda: f"{person()} lives at {address().rstrip('.')} and pays {price()} a month.",
        lambda: f"It is {measure()} to {rng.choice(PLACES)} and {measure()} to {rng.choice(PLACES)}.",
        lambda: f"The {rng.choice(THINGS)} is {measure()} long, weighs {measure()} and costs {price()}.",
        lambda: f"The bus leaves at {time()}, costs {price()} and takes {rng.randint(5, 90)} minutes.",
        lambda: f"In {year()}, {which()} sold {count()} {things()} for {price()} each.",
        lambda: f"{who()} finished {ordinal(40)} of {count()} and won {price()}.",
        lambda: f"Flight {rng.randint(10, 999)} leaves at {time()} on {date()}.",
        lambda: f"{grouped()} people and {grouped()} {things()}.",
        lambda: f"{rng.choice(PLACES)} has {grouped()} people, {percent()} of them in {initials()}.",
        lambda: f"{plain()}, {plain()} and {plain()}.",
        lambda: f"{price()}, {price()} and {price()}.",
        lambda: f"{initials()} and {initials()} met {which()} in {year()}.",
        lambda: f"{decimal()} or {decimal()}, not {decimal()}.",
    ]


def templates(rng: random.Random, count: int) -> list[str]:
    def num(hi: int = 999) -> str:
        return rng.choice(
            [str(rng.randint(0, 20)), str(rng.randint(0, 99)), str(rng.randint(0, hi)), rng.choice(NUMBERS)]
        )

    def time() -> str:
        return rng.choice(
            [f"{rng.randint(1, 12)}:{rng.choice([10, 15, 20, 30, 40, 45, 50])}", f"{rng.choice(NUMBERS[1:])} o'clock"]
        )

    def date() -> str:
        return f"{rng.choice(MONTHS)} {rng.randint(1, 31)}"

    forms = [
        lambda: f"The {rng.choice(ADJECTIVES)} {rng.choice(THINGS)}.",
        lambda: (
            f"{rng.choice(['A', 'My', 'Your', 'His', 'Her', 'Our', 'This', 'That'])} {rng.choice(ADJECTIVES)} "
            f"{rng.choice(THINGS)}."
        ),
        lambda: f"{rng.choice(VERBS).capitalize()} the {rng.choice(THINGS)}.",
        lambda: f"Please {rng.choice(VERBS)} the {rng.choice(ADJECTIVES)} {rng.choice(THINGS)}.",
        lambda: f"Where is the {rng.choice(THINGS)}?",
        lambda: f"The {rng.choice(THINGS)} is {rng.choice(ADJECTIVES)}.",
        lambda: f"Is the {rng.choice(THINGS)} {rng.choice(ADJECTIVES)}?",
        lambda: f"{rng.choice(NAMES)} and {rng.choice(NAMES)}.",
        lambda: f"My name is {rng.choice(NAMES)}.",
        lambda: f"Hello, {rng.choice(NAMES)}.",
        lambda: f"Good {rng.choice(['morning', 'evening', 'night', 'afternoon'])}, {rng.choice(NAMES)}.",
        lambda: f"{rng.choice(NAMES)} lives in {rng.choice(PLACES)}.",
        lambda: f"We are going to {rng.choice(PLACES)} on {rng.choice(DAYS)}.",
        lambda: f"The meeting is on {rng.choice(DAYS)} at {time()}.",
        lambda: f"It is {time()}.",
        lambda: f"Today is {rng.choice(DAYS)}, {date()}.",
        lambda: f"{date()}, {rng.randint(1800, 2030)}.",
        lambda: f"In {rng.randint(1800, 2030)} we moved to {rng.choice(PLACES)}.",
        lambda: f"{num()}.",
        lambda: f"Number {num()}.",
        lambda: f"I have {num()} {rng.choice(THINGS)}s.",
        lambda: f"{', '.join(rng.choice(NUMBERS[:10]) for _ in range(rng.randint(2, 5)))}.",
        lambda: f"It costs {num(200)} dollars.",
        lambda: f"About {rng.randint(1, 100)} percent.",
        lambda: (
            f"{rng.choice(NAMES)} wants to {rng.choice(VERBS)} the {rng.choice(THINGS)} and the {rng.choice(THINGS)}."
        ),
        lambda: f"Do you have a {rng.choice(ADJECTIVES)} {rng.choice(THINGS)}?",
        lambda: f"I need a {rng.choice(THINGS)}, a {rng.choice(THINGS)} and a {rng.choice(THINGS)}.",
        lambda: f"Turn {rng.choice(['on', 'off'])} the {rng.choice(THINGS)}.",
    ]
    return [rng.choice(forms)() for _ in range(count)]


def main() -> None:
    ap = argparse.ArgumentParser()
    ap.add_argument("--lines", nargs="*", default=[])
    ap.add_argument("--ljspeech", nargs="*", default=[])
    ap.add_argument("--out", required=True)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument(
        "--several", type=int, default=0, help="additional sentences with two or three figures each (second run: 14000)"
    )
    a = ap.parse_args()
    rng = random.Random(a.seed)
    counts: collections.OrderedDict[str, int] = collections.OrderedDict()
    banned = {key(t) for t in heldout.SENTENCES + heldout.SHORT}
    seen: set[str] = set()
    out: list[str] = []

    def add(source: str, texts: Iterable[str], limit: int) -> None:
        kept = 0
        for text in texts:
            text = clean(text)
            if not usable(text, limit):
                continue
            k = text if source == "capitals" else key(text)
            if key(text) in banned or k in seen:
                continue
            seen.add(k)
            out.append(text)
            kept += 1
        counts[source] = kept

    def read(names: Iterable[str]) -> list[str]:
        return [line for name in names for line in pathlib.Path(name).read_text(encoding="utf-8").split("\n")]

    add("one sentence per line", read(a.lines), 180)
    add("ljspeech", [line.split("|")[-1] for line in read(a.ljspeech)], 180)

    words = collections.Counter(w for t in out for w in re.findall(r"[a-z]+(?:'[a-z]+)?", t.lower()))
    frequent = [w for w, n in words.most_common(9000) if n >= 3 and (len(w) > 1 or w in "ai")]
    rare = [w for w in words if 3 <= len(w) <= 14]
    add("greetings", re.split(r"[|\n]", GREETINGS), 130)
    add("templates", templates(rng, 9000), 130)
    add("figures and capitals", figures(rng, 14000), 160)
    add("single words", [w.capitalize() + rng.choice([".", ".", ".", "!", "?"]) for w in frequent[:8000]], 40)
    add("capitals", [t.upper() for t in rng.sample(out, 700) if len(t) < 60], 60)
    base = list(out)
    phrases = []
    for _ in range(13000):  # one to four adjacent words
        w = re.findall(r"[A-Za-z']+", rng.choice(base))
        n = rng.choice([1, 2, 2, 3, 3, 4])
        if len(w) > n:
            i = rng.randrange(len(w) - n + 1)
            phrases.append(" ".join(w[i : i + n]).strip("'").capitalize() + rng.choice([".", ".", ".", "?", "!"]))
    add("phrases", phrases, 60)
    salad = []
    for _ in range(9000):  # random words: spelling cannot be guessed from context
        w = [rng.choice(rare if rng.random() < 0.6 else frequent) for _ in range(rng.randint(1, 8))]
        if len(w) > 5 and rng.random() < 0.5:
            w[len(w) // 2] += ","
        salad.append(" ".join(w).capitalize() + ".")
    add("random words", salad, 130)
    pairs = [
        f"{a} {b}" for a, b in zip(rng.sample(base, 9000), rng.sample(base, 9000), strict=True) if len(a) + len(b) < 190
    ]
    add("pairs", pairs, 190)

    if a.several:
        banned |= {key(t) for t in heldout.FIGURES}
        add("several figures", figures(rng, a.several, several=True), 160)

    rng.shuffle(out)
    with open(a.out, "w", encoding="utf-8") as f:
        f.write("\n".join(out) + "\n")
    for k, v in counts.items():
        print(f"{v:7d}  {k}")
    print(
        f"{len(out):7d}  total, {sum(map(len, out)) / len(out):.1f} characters on average, {len(words)} distinct words"
    )


if __name__ == "__main__":
    main()
