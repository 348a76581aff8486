import shutil
from pathlib import Path

import pytest

from voxcli.jobs import speaker as module
from voxcli.jobs.speaker import FULL, Speaker, card_languages, speaker_of
from voxcli.text.guess import possible_languages
from voxcli.text.languages import VOXCPM2

DEMO = Speaker("the demo voice", frozenset({"en"}))


@pytest.fixture(autouse=True)
def nothing_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.delenv("VOXCPM2_MODEL", raising=False)


def test_the_demo_voice_speaks_english(demo_voice: Path) -> None:
    assert card_languages(demo_voice) == {"en"}
    assert speaker_of(None) == DEMO
    assert speaker_of(str(demo_voice)) == Speaker("model", frozenset({"en"}))


def test_the_full_model_speaks_thirty_languages() -> None:
    assert speaker_of("openbmb/VoxCPM2") == FULL
    assert FULL.languages == VOXCPM2


def test_a_model_without_languages_counts_as_the_full_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert speaker_of(str(tmp_path)) == Speaker(tmp_path.name, VOXCPM2)
    assert speaker_of("someone/Their-Model") == Speaker("someone/Their-Model", VOXCPM2)
    monkeypatch.setattr(module, "demo_folder", lambda: None)
    assert speaker_of(None) == FULL


def test_the_variable_names_a_model_too(tmp_path: Path, demo_voice: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(demo_voice / "README.md", tmp_path)
    monkeypatch.setenv("VOXCPM2_MODEL", str(tmp_path))
    assert speaker_of(None) == Speaker(tmp_path.name, frozenset({"en"}))


@pytest.mark.parametrize(
    ("card", "languages"),
    [
        ("---\nlanguage: en\n---\n", "en"),
        ("\ufeff---\r\nlanguage: en\r\n---\r\ntext", "en"),
        ("---\nlicense: mit\nlanguage:\n- zh\n- en\n  - 'de'\ntags:\n- fr\n---\n", "zh en de"),
        ('---\nlanguage: [pt-BR, "no", multilingual]\n---\n', "pt no"),
        ("---\nlanguage: multilingual\n---\n", ""),
        ("---\ntags: [en]\n---\nlanguage: fr\n", ""),
        ("# A model\nlanguage: fr\n", ""),
        ("---\nlanguage: fr\n", ""),
        ("", ""),
    ],
)
def test_the_languages_of_a_model_card(tmp_path: Path, card: str, languages: str) -> None:
    (tmp_path / "README.md").write_bytes(card.encode())
    assert card_languages(tmp_path) == set(languages.split())


def test_a_card_that_is_not_text_is_ignored(tmp_path: Path) -> None:
    assert card_languages(tmp_path) == frozenset()
    (tmp_path / "README.md").write_bytes(b"---\nlanguage: \xff\n---\n")
    assert card_languages(tmp_path) == frozenset()
    (tmp_path / "README.md").write_bytes(b"-" * (1 << 21))
    assert card_languages(tmp_path) == frozenset()


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("Good morning, how are you today?", None),
        ("\u4eca\u5929\u5929\u6c14\u5f88\u597d\uff0c\u6211\u4eec\u53bb\u516c\u56ed\u6563\u6b65\u5427\u3002", "Chinese"),
        ("\u0414\u043e\u0431\u0440\u043e\u0435 \u0443\u0442\u0440\u043e, \u044d\u0442\u043e \u043c\u044b.", "Russian"),
        ("Guten Morgen, wie geht es Ihnen heute?", "German"),
        ("\u10d2\u10d0\u10db\u10d0\u10e0\u10ef\u10dd\u10d1\u10d0", "Georgian"),
    ],
)
def test_languages_that_the_demo_voice_does_not_speak(text: str, warning: str | None) -> None:
    expected = warning and f"the demo voice does not speak {warning}, the language of this text (it speaks English)"
    assert DEMO.foreign(text, possible_languages(text)) == expected


def test_a_language_of_many_is_not_named() -> None:
    text = "\u0434\u0430"
    expected = "the demo voice does not speak the language of this text (it speaks English)"
    assert DEMO.foreign(text, possible_languages(text)) == expected


def test_letters_inside_another_language_are_named() -> None:
    text = "Hello \u4e16\u754c and goodbye, \u03b1 and \u03b2."
    assert DEMO.foreign(text, possible_languages(text)) == "the demo voice does not speak Chinese characters, Greek"
    assert FULL.foreign(text, possible_languages(text)) is None
    assert FULL.foreign("Hello \u10d2", frozenset()) == "VoxCPM2 does not speak Georgian"
