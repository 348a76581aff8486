"""Exact spoken forms in the languages of locales.yaml."""

import re
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voxcli.errors import MissingExtra
from voxcli.text import foreign, numerals
from voxcli.text.foreign import spell_numbers
from voxcli.text.guess import possible_languages
from voxcli.text.locales import locale_of, localized
from voxcli.text.normalize import left_as_written, normalize
from voxcli.text.numerals import rulesets

pytest.importorskip("unicode_rbnf")

GOLDEN = [
    (
        "de",
        "Er hatte 3 Hunde und zahlte 27,50 € um 14:30 Uhr.",
        "Er hatte drei Hunde und zahlte siebenundzwanzig Euro fünfzig um vierzehn Uhr dreißig.",
    ),
    (
        "de",
        "Am 3. Mai 2024 kamen 1.234 Leute.",
        "Am dritten Mai zweitausendvierundzwanzig kamen eintausendzweihundertvierunddreißig Leute.",
    ),
    (
        "de",
        "Der 3. Mai, 03.05.2024 und am 1.1.1999.",
        "Der dritte Mai, dritter Mai zweitausendvierundzwanzig und am ersten Januar neunzehnhundertneunundneunzig.",
    ),
    ("de", "1 Hund, 21 Katzen, Kapitel 1.", "1 Hund, einundzwanzig Katzen, Kapitel eins."),
    (
        "de",
        "50 % von 2,5 Mio. sind 1,25 Mio.",
        "fünfzig Prozent von zwei Komma fünf Millionen sind eins Komma zwei fünf Millionen.",
    ),
    (
        "de",
        "Von 1990-1995, Seiten 10-12, 5-10 km.",
        "Von neunzehnhundertneunzig bis neunzehnhundertfünfundneunzig, Seiten zehn bis zwölf, fünf bis zehn Kilometer.",
    ),
    ("de", "Um 8 Uhr, um 9.15 Uhr, um 1 Uhr.", "Um acht Uhr, um neun Uhr fünfzehn, um ein Uhr."),
    ("de", "Version 3.5.1 und 3.5", "Version 3.5.1 und 3.5"),
    (
        "de",
        "Tel. 030 1234567 oder +49 170 1234567",
        "Tel. null drei null, eins zwei drei vier fünf sechs sieben oder plus vier neun, eins sieben "
        "null, eins zwei drei vier fünf sechs sieben",
    ),
    (
        "de",
        "-5 °C, 100 km/h, 1 m, 1 t, 20 m²",
        "minus fünf Grad Celsius, einhundert Kilometer pro Stunde, ein Meter, eine Tonne, zwanzig Quadratmeter",
    ),
    (
        "de",
        "$5, 1.234,56 €, 0,99 €, 1 €, € 5, 5 Euro, 27,50 Euro, 3,5 €",
        "fünf Dollar, eintausendzweihundertvierunddreißig Euro sechsundfünfzig, neunundneunzig Cent, "
        "ein Euro, fünf Euro, fünf Euro, siebenundzwanzig Euro fünfzig, drei Komma fünf Euro",
    ),
    (
        "de",
        "Der 2. Weltkrieg, im 19. Jahrhundert, zum 3. Mal.",
        "Der zweite Weltkrieg, im neunzehnten Jahrhundert, zum dritten Mal.",
    ),
    (
        "de",
        "Im Jahr 1848, 2001 und 1066.",
        "Im Jahr achtzehnhundertachtundvierzig, zweitausendeins und eintausendsechsundsechzig.",
    ),
    ("de", "007, 10.000.000, 1e5, A4, 5G, 10x", "null null sieben, zehn Millionen, 1e5, A4, 5G, zehnmal"),
    ("fr", "J'ai 25 chats et 80% de chance.", "J'ai vingt-cinq chats et quatre-vingts pour cent de chance."),
    (
        "fr",
        "Le 1er mai 2024 à 14h30, à 14:05, à 1h, à 8 h.",
        "Le premier mai deux mille vingt-quatre à quatorze heures trente, à quatorze heures cinq, à une "
        "heure, à huit heures.",
    ),
    (
        "fr",
        "27,50 €, 1 €, 0,50 €, 1,5 €, 1 234,56 €",
        "vingt-sept euros cinquante, un euro, cinquante centimes, un virgule cinq euro, mille deux cent "
        "trente-quatre euros cinquante-six",
    ),
    (
        "fr",
        "2,5 km, 21 personnes, 1 chat, 12 345 habitants",
        "deux virgule cinq kilomètres, 21 personnes, 1 chat, douze mille trois cent quarante-cinq habitants",
    ),
    ("fr", "Le 3e homme, la 1re fois, le 2ème", "Le troisième homme, la première fois, le deuxième"),
    ("fr", "03/05/2024, 2024-05-01", "trois mai deux mille vingt-quatre, premier mai deux mille vingt-quatre"),
    ("fr", "5-10 km, pages 10-12", "cinq à dix kilomètres, pages dix à douze"),
    ("fr", "-3 °C, 3 M€", "moins trois degrés Celsius, trois millions d'euros"),
    ("fr", "en 1984, 2001", "en mille neuf cent quatre-vingt-quatre, deux mille un"),
    ("fr", "01 23 45 67 89", "zéro un, deux trois, quatre cinq, six sept, huit neuf"),
    (
        "es",
        "Tengo 25 gatos y un 80% de probabilidad.",
        "Tengo veinticinco gatos y un ochenta por ciento de probabilidad.",
    ),
    (
        "es",
        "El 3/05/2024 a las 14:30, a la 1:05.",
        "El tres de mayo de dos mil veinticuatro a las catorce treinta, a la una cinco.",
    ),
    (
        "es",
        "27,50 €, 1 €, 21 euros, 0,99 €",
        "veintisiete euros con cincuenta céntimos, un euro, veintiún euros, noventa y nueve céntimos",
    ),
    (
        "es",
        "200 personas, 21 niños, 1 mesa, 31 días, 1 sol",
        "doscientas personas, veintiún niños, una mesa, treinta y un días, 1 sol",
    ),
    ("es", "2,5 km, 1.234 km/h", "dos coma cinco kilómetros, mil doscientos treinta y cuatro kilómetros por hora"),
    ("es", "el 1.º, la 2ª, 3er piso", "el primero, la segunda, tercer piso"),
    ("es", "en 1984; 5-10 km", "en mil novecientos ochenta y cuatro; cinco a diez kilómetros"),
    ("it", "Ho 25 gatti e l'80% di probabilità.", "Ho venticinque gatti e l'ottanta per cento di probabilità."),
    (
        "it",
        "Il 3/5/2024 alle 14:30, 1 maggio.",
        "Il tre maggio duemilaventiquattro alle quattordici e trenta, primo maggio.",
    ),
    ("it", "27,50 €, 1 €, 21 euro", "ventisette euro e cinquanta centesimi, un euro, ventun euro"),
    ("it", "1 casa, 1 libro, 21 libri", "una casa, un libro, ventun libri"),
    ("it", "2,5 km, il 3º, la 2ª", "due virgola cinque chilometri, il terzo, la seconda"),
    ("it", "nel 1984", "nel millenovecentottantaquattro"),
    ("pt", "Tenho 25 gatos e 80% de chance.", "Tenho vinte e cinco gatos e oitenta por cento de chance."),
    (
        "pt",
        "Em 3/5/2024 às 14h30, às 8h, à 1h.",
        "Em três de maio de dois mil e vinte e quatro às catorze e trinta, às oito horas, à uma hora.",
    ),
    ("pt", "R$ 27,50, 1 €, US$ 5", "vinte e sete reais e cinquenta centavos, um euro, cinco dólares"),
    ("pt", "2 casas, 2 livros, 200 pessoas", "duas casas, dois livros, duzentas pessoas"),
    ("pt", "2,5 km, o 3º, a 2ª", "dois vírgula cinco quilômetros, o terceiro, a segunda"),
    ("pt", "em 1984", "em mil novecentos e oitenta e quatro"),
    (
        "nl",
        "Hij had 3 honden en betaalde € 27,50 om 14:30 uur.",
        "Hij had drie honden en betaalde zevenentwintig euro vijftig om veertien uur dertig.",
    ),
    ("nl", "Op 3-5-2024 om 8 uur.", "Op drie mei tweeduizendvierentwintig om acht uur."),
    ("nl", "50% van 2,5 mln.", "vijftig procent van twee komma vijf miljoen."),
    ("nl", "de 3e, 1ste, 2de", "de derde, eerste, tweede"),
    ("nl", "in 1984, 1905", "in negentienvierentachtig, duizendnegenhonderdvijf"),
    ("nl", "Tel. 020-1234567", "Tel. nul twee nul, een twee drie vier vijf zes zeven"),
    (
        "sv",
        "Han hade 3 hundar och betalade 27,50 kr kl. 14:30.",
        "Han hade tre hundar och betalade tjugosju kronor och femtio öre kl. fjorton trettio.",
    ),
    ("sv", "Den 3 maj 2024, 2024-05-03.", "Den tredje maj tvåtusen tjugofyra, tredje maj tvåtusen tjugofyra."),
    ("sv", "50 % av 2,5 km, 1 krona, 1 kr", "femtio procent av två komma fem kilometer, en krona, en krona"),
    ("sv", "den 1:a, 3:e", "den första, tredje"),
    ("sv", "år 1984", "år nittonhundraåttiofyra"),
    ("sv", "1 hund", "1 hund"),
    (
        "da",
        "Han havde 3 hunde og betalte 27,50 kr. kl. 14:30.",
        "Han havde tre hunde og betalte syvogtyve kroner og halvtreds øre kl. fjorten tredive.",
    ),
    (
        "da",
        "Den 3. maj 2024, 21. maj, 03.05.2024",
        "Den tredje maj to tusind og fireogtyve, enogtyvende maj, tredje maj to tusind og fireogtyve",
    ),
    ("da", "50 %, 2,5 km", "halvtreds procent, to komma fem kilometer"),
    ("da", "1 kr., 1984", "en krone, nittenhundrede og fireogfirs"),
    (
        "no",
        "Han hadde 3 hunder og betalte 27,50 kr kl. 14:05.",
        "Han hadde tre hunder og betalte tjuesju kroner og femti øre kl. fjorten null fem.",
    ),
    ("no", "Den 3. mai 2024, 03.05.2024", "Den tredje mai to tusen og tjuefire, tredje mai to tusen og tjuefire"),
    ("no", "50 %, 2,5 km", "femti prosent, to komma fem kilometer"),
    ("no", "1 kr, 1 hund, 1984", "ei krone, 1 hund, nittenhundre og åttifire"),
    (
        "fi",
        "Hänellä oli 3 koiraa ja 27,50 €.",
        "Hänellä oli kolme koiraa ja kaksikymmentäseitsemän euroa viisikymmentä senttiä.",
    ),
    (
        "fi",
        "50 %, 1 %, 2,5 km, klo 14:30",
        "viisikymmentä prosenttia, yksi prosentti, kaksi pilkku viisi kilometriä, klo neljätoista kolmekymmentä",
    ),
    ("fi", "vuonna 1984, 5:n", "vuonna 1984, 5:n"),
    (
        "tr",
        "3 köpek, %50, 50%, 27,50 TL, 14:30",
        "üç köpek, yüzde elli, yüzde elli, yirmi yedi lira elli kuruş, on dört otuz",
    ),
    ("tr", "1984 yılında, 2,5 km", "bin dokuz yüz seksen dört yılında, iki virgül beş kilometre"),
    (
        "pl",
        "Miał 3 psy i zapłacił 27,50 zł.",
        "Miał trzy psy i zapłacił dwadzieścia siedem złotych pięćdziesiąt groszy.",
    ),
    (
        "pl",
        "50%, 1 zł, 2 zł, 5 zł, 21 zł, 22 zł, 2,5 km",
        "pięćdziesiąt procent, jeden złoty, dwa złote, pięć złotych, dwadzieścia jeden złotych, "
        "dwadzieścia dwa złote, dwa przecinek pięć kilometra",
    ),
    ("pl", "w 5 miastach, 1984 roku, o 14:30", "w 5 miastach, 1984 roku, o 14:30"),
    ("pl", "5 kotów, 1 kot, 2 koty, 2,5 mln zł", "pięć kotów, 1 kot, 2 koty, dwa przecinek pięć miliona złotych"),
    (
        "ru",
        "У него было 3 собаки, он заплатил 27,50 руб. в 14:30.",
        "У него было три собаки, он заплатил двадцать семь рублей пятьдесят копеек в четырнадцать тридцать.",
    ),
    (
        "ru",
        "3 мая 2024 года, 03.05.2024, 3 мая",
        "третьего мая две тысячи двадцать четвертого года, третьего мая две тысячи двадцать четвертого "
        "года, третьего мая",
    ),
    (
        "ru",
        "50%, 21%, 2,5 км, 1,1 км, 0,05",
        "пятьдесят процентов, двадцать один процент, две целых пять десятых километра, одна целая одна "
        "десятая километра, ноль целых пять сотых",
    ),
    (
        "ru",
        "в 5 городах, 5 городами, 5 домов, 2 дома, 1984 год",
        "в 5 городах, 5 городами, пять домов, два дома, 1984 год",
    ),
    (
        "ru",
        "1 рубль, 2 рубля, 5 рублей, 21 рубль, 100 $",
        "один рубль, два рубля, пять рублей, двадцать один рубль, сто долларов",
    ),
    ("ru", "5-й этаж, 1-я, 3-го", "пятый этаж, первая, третьего"),
    (
        "de",
        "-5 °C und -3,5, US$ 5, € 2,5 Mio., 2,5 Mio. €, $5 Millionen, 5 Millionen Euro, 5 ¥, 3 §",
        "minus fünf Grad Celsius und minus drei Komma fünf, fünf Dollar, zwei Komma fünf Millionen "
        "Euro, zwei Komma fünf Millionen Euro, fünf Millionen Dollar, fünf Millionen Euro, 5 ¥, 3 §",
    ),
    (
        "fr",
        "03/05/2024, 2024-05-01, -3 °C, 21 jours, 1 fois, $5 millions",
        "trois mai deux mille vingt-quatre, premier mai deux mille vingt-quatre, moins trois degrés "
        "Celsius, vingt-et-un jours, une fois, $5 millions",
    ),
    ("es", "31 días, 21 años, 1 vez", "treinta y un días, veintiún años, una vez"),
    ("pt", "US$ 5, 5 ¥", "cinco dólares, 5 ¥"),
    ("pl", "2,5 mln zł, 5 mln zł", "dwa przecinek pięć miliona złotych, pięć milionów złotych"),
    (
        "ru",
        "2 дома, 2 книги, 1 книга, 1 дом, 21 окно, 1 ночь, 5 млн руб.",
        "два дома, две книги, одна книга, один дом, двадцать одно окно, 1 ночь, пять миллионов рублей",
    ),
    ("fi", "5:n", "5:n"),
    (
        "nl",
        "€ 2,5 mln., € 5 miljoen, 5 miljoen euro",
        "twee komma vijf miljoen euro, vijf miljoen euro, vijf miljoen euro",
    ),
    ("de", "Der 2. Weltkrieg", "Der zweite Weltkrieg"),
    ("sv", "2024-05-03", "tredje maj tvåtusen tjugofyra"),
    (
        "de",
        "Vom 1. bis 3. Mai, 1. FC Köln, der 1. FC Köln",
        "Vom ersten bis dritten Mai, 1. FC Köln, der erste FC Köln",
    ),
    ("de", "Er hatte 3. Dann kamen 4.", "Er hatte drei. Dann kamen vier."),
    (
        "de",
        "Das Spiel endete 3:1. 24/7, 1/2, 80er, 100 m-Lauf, 5-jährig",
        "Das Spiel endete drei zu eins. 24/7, 1/2, achtziger, einhundert m-Lauf, 5-jährig",
    ),
    (
        "de",
        "Die 80er, die 1980er und 2010er Jahre.",
        "Die achtziger, die neunzehnhundertachtziger und zweitausendzehner Jahre.",
    ),
    ("de", "Ein 5er, die 90er-Jahre, der 1er.", "Ein fünfer, die neunziger-Jahre, der 1er."),
    ("de", "2:1 oder 10:0, um 3:15 Uhr, 1:2:3", "zwei zu eins oder zehn zu null, um drei Uhr fünfzehn, 1:2:3"),
    (
        "de",
        "Von 12:30-14:00 Uhr, 9:00 - 17:30 Uhr, 9-17 Uhr",
        "Von zwölf Uhr dreißig bis vierzehn Uhr, neun Uhr bis siebzehn Uhr dreißig, neun bis siebzehn Uhr",
    ),
    ("de", "Nach § 3 und §§ 5-7, § 8a", "Nach Paragraf drei und Paragrafen fünf bis sieben, Paragraf 8a"),
    (
        "de",
        "1 000 Leute, 12 000 km, am 5. 100 Leute",
        "eintausend Leute, zwölftausend Kilometer, am fünften einhundert Leute",
    ),
    ("de", "3x schneller, 1x, 5-mal, 2mal, 4x4", "dreimal schneller, einmal, fünfmal, zweimal, 4x4"),
    ("de", "3 kg/m, 5 und/oder 6, #1", "3 kg/m, fünf und/oder sechs, #1"),
    ("fr", "De 14h30-16h00, 1 000 km", "De quatorze heures trente à seize heures, mille kilomètres"),
    ("de", "3,5 Mrd. € und 1,80 m", "drei Komma fünf Milliarden Euro und eins Komma acht null Meter"),
    ("fr", "24h/24, le 14/07/2023 à 9h05", "24h/24, le quatorze juillet deux mille vingt-trois à neuf heures cinq"),
    ("ru", "1 января 2000 года, около 5 км", "первого января двухтысячного года, около 5 км"),
]


@pytest.mark.parametrize(("language", "written", "spoken"), GOLDEN)
def test_golden(language: str, written: str, spoken: str) -> None:
    assert spell_numbers(written, language) == spoken


def test_every_language_is_tested() -> None:
    assert {language for language, _, _ in GOLDEN} == localized()


@pytest.mark.parametrize("language", sorted(localized()))
def test_the_data_is_complete(language: str) -> None:
    locale = locale_of(language)
    wanted = set(locale.ordinals.values())
    if locale.date is not None:
        assert len(locale.date.months) == 12
        wanted |= {locale.date.day, *locale.date.after.values()} - {""}
    assert wanted <= rulesets(language)
    nouns = [*locale.nouns.values(), *(noun for money in locale.money.values() for noun in (money.unit, money.part))]
    assert {len(noun.forms) for noun in nouns} == {4 if language in ("pl", "ru") else 2}


def test_a_sentence_is_spelled_in_its_own_language() -> None:
    pytest.importorskip("wetext")
    text = "Er hatte 3 Hunde und zahlte 27,50 €. It costs $5.20. 我有3个。"
    german = "Er hatte drei Hunde und zahlte siebenundzwanzig Euro fünfzig."
    assert normalize(text) == f"{german} It costs five dollars and twenty cents. 我有三个。"


def test_an_ambiguous_sentence_takes_the_language_of_the_text() -> None:
    assert normalize("Am 3. Mai. 25!", frozenset({"de"})) == "Am dritten Mai. fünfundzwanzig!"
    assert normalize("25 km", frozenset({"fr"})) == "vingt-cinq kilomètres"


@pytest.mark.parametrize(
    ("text", "language", "left"),
    [
        ("1 Hund, Version 3.5.1", "de", "left as written: 1, 3.5.1 (German has no rule for it)"),
        ("drei Hunde", "de", None),
        ("έχω 5 γάτες", "", "left as written: 5 (Greek has no rule for it)"),
        ("Han har 5 hunde og jeg har ikke", "", "left as written: 5 (name the language with `language`)"),
        ("{5} [5]", "de", None),
        (
            "1.2.3 1.2.4 1.2.5 1.2.6 1.2.7 1.2.8",
            "de",
            "left as written: 1.2.3, 1.2.4, 1.2.5, 1.2.6, 1.2.7, ... (German has no rule for it)",
        ),
    ],
)
def test_figures_left_as_written_are_reported(text: str, language: str, left: str | None) -> None:
    languages = frozenset(filter(None, [language]))
    assert left_as_written(normalize(text, languages), languages) == left


def test_a_missing_package_is_reported_with_its_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for cached in (numerals._engine, numerals.spell, foreign.rules):
        cached.cache_clear()
    monkeypatch.setitem(sys.modules, "unicode_rbnf", None)
    with pytest.raises(MissingExtra, match=r"pip install wetext inflect unicode-rbnf"):
        spell_numbers("5 Hunde", "de")


NAMES = ("Hund", "Mäuse", "дома")
PARTS = (
    *NAMES, "5", "21", "3.", "1,5", "1.234,50", "€", "%", "km", "-", "/", ":", ".", ",", "$", "14:30", "03.05.2024",
    "2024-01-02", "+49", "0170", "°C", "1999", "10-12", "Mio.", "9" * 20,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=12), st.sampled_from(sorted(localized())), st.sampled_from(["", " "]))
def test_no_text_fails_and_no_word_is_lost(words: list[str], language: str, joint: str) -> None:
    spoken = spell_numbers(joint.join(words), language)
    assert re.findall("|".join(NAMES), spoken) == [word for word in words if word in NAMES]


@pytest.mark.parametrize("language", ["de", "fr", "ru"])
@pytest.mark.parametrize("unit", ["1.", "1,", "1-", "1/", "1:", "1 ", "0 ", "+1 ", "01 ", "$", "1 234 ", "12.345."])
def test_time_grows_with_the_length(language: str, unit: str) -> None:
    """A rule that searches the text again from each position would take minutes of CPU time, not a second."""
    began = time.process_time()
    spell_numbers(unit * (30_000 // len(unit)), language)
    assert time.process_time() - began < 30


def test_words_that_other_languages_share_do_not_override_the_named_language() -> None:
    assert possible_languages("Le 3 mai 1990.") == {"it", "ro"}
    assert normalize("Le 3 mai 1990.", frozenset({"fr"})) == "Le trois mai mille neuf cent quatre-vingt-dix."
    assert normalize("He said that it was 10 minutes.", frozenset({"fr"})) == "He said that it was ten minutes."
    assert normalize("\u4f60\u597d 3 \u4e2a", frozenset({"en"})) == "\u4f60\u597d \u4e09\u4e2a"
