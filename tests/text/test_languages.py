import pytest

from voxcli.text.languages import LANGUAGES, VOXCPM2, language_names, language_tag, near_tag


def test_the_thirty_languages_of_the_full_model_are_known() -> None:
    assert len(VOXCPM2) == 30
    assert LANGUAGES.keys() >= VOXCPM2
    assert all(language_tag(tag) == tag for tag in LANGUAGES)


@pytest.mark.parametrize(
    ("written", "tag"),
    [
        ("EN", "en"),
        (" de-CH ", "de"),
        ("zh_Hant_TW", "zh"),
        ("nb", "no"),
        ("fil-PH", "tl"),
        ("yue", "zh"),
        ("german", None),
        ("x-klingon", None),
        ("", None),
        ("-", None),
        ("\u0130", None),
    ],
)
def test_tags(written: str, tag: str | None) -> None:
    assert language_tag(written) == tag


@pytest.mark.parametrize(
    ("meant", "tag"),
    [
        ("German", "de"),
        ("Deutsch", "de"),
        ("spansh", "es"),
        ("jp", "ja"),
        ("cn", "zh"),
        ("Fran\u00e7ais", "fr"),
        ("Brazilian Portuguese", "pt"),
        ("xx", None),
        ("de" * 5000, None),
        ("", None),
    ],
)
def test_near_tags(meant: str, tag: str | None) -> None:
    assert near_tag(meant) == tag


def test_names() -> None:
    assert language_names({"no", "da"}) == "Danish or Norwegian"
    assert language_names({"ru", "uk", "bg"}) == "Bulgarian, Russian or Ukrainian"
    assert language_names({"en"}) == "English"
    assert language_names({"ru", "uk", "bg", "be"}) == "4 languages"
