import re
from pathlib import Path

import pytest

from voxcli.text.guess import possible_languages

FILE = Path(__file__).with_name("sentences.txt")
SECTIONS = re.findall(r"^\[(\w+)\]\n((?:.+\n)+)", FILE.read_text(encoding="utf-8"), re.MULTILINE)
SENTENCES = {tag: lines.strip().split("\n") for tag, lines in SECTIONS}
# Languages that differ in few words or letters.
RELATED = {"da": {"da", "no", "sv"}, "no": {"da", "no", "sv"}, "es": {"es", "pt", "ca", "it"}, "pt": {"pt", "es", "ca"}}
RELATED |= {"sv": {"da", "no", "sv"}, "ru": {"ru", "bg", "uk"}, "uk": {"uk", "be", "ru", "bg"}}


def test_the_file_of_sentences_is_complete() -> None:
    assert len(SENTENCES) == 15
    assert all(len(lines) >= 20 for lines in SENTENCES.values())


@pytest.mark.parametrize("text", SENTENCES["en"])
def test_english_is_never_another_language(text: str) -> None:
    assert possible_languages(text) <= {"en"}


def test_held_out_sentences_of_the_demo_voice_are_english(repository: Path) -> None:
    import json

    lines = (repository / "tests" / "speech" / "heldout.jsonl").read_text().splitlines()
    found = [possible_languages(json.loads(line)["text"]) for line in lines]
    assert len(found) == 80
    assert [languages for languages in found if not languages <= {"en"}] == []


@pytest.mark.parametrize("tag", sorted(SENTENCES.keys() - {"en"}))
def test_other_languages_are_recognized_or_left_open(tag: str) -> None:
    found = [possible_languages(text) for text in SENTENCES[tag]]
    wrong = [
        (text, sorted(guess)) for text, guess in zip(SENTENCES[tag], found, strict=True) if guess and tag not in guess
    ]
    assert wrong == []
    right = sum(tag in guess and guess <= RELATED.get(tag, {tag}) for guess in found)
    assert right >= 14, f"{right} of {len(found)}"


@pytest.mark.parametrize(
    ("text", "languages"),
    [
        ("今天天气很好，我们去公园散步吧。", "zh"),
        ("おはようございます。", "ja"),
        ("東京タワーは333mです", "ja"),
        ("東京都", "zh ja"),
        ("안녕하세요, 5시입니다.", "ko"),
        ("صباح الخير، كيف حالك اليوم؟", "ar"),
        ("صبح بخیر، حال شما چطور است؟", "fa ur"),
        ("नमस्ते, आप कैसे हैं?", "hi"),
        ("გამარჯობა, როგორ ხარ?", "ka"),
        ("Καλημέρα, τι κάνετε;", "el"),
        ("בוקר טוב", "he"),
        ("สวัสดีครับ", "th"),
        ("Добрий", "ru uk be bg sr mk kk mn"),
        ("Это", "ru"),
        ("Сьогодні", "uk be"),
        ("Hello 世界 and goodbye, my dear friends.", "en"),
        ("iPhone 15 很好用", "zh ja"),
        ("PAGE NOT FOUND", ""),
        ("WIR HABEN KEIN BROT MEHR ZU HAUSE", "de"),
        ("12345", ""),
        ("", ""),
        ("😀 — …", ""),
        ("x" * 10_000, ""),
    ],
)
def test_scripts_and_edges(text: str, languages: str) -> None:
    assert possible_languages(text) == set(languages.split())


def test_a_repeated_word_counts_once() -> None:
    assert possible_languages("nicht " * 500) == frozenset()
