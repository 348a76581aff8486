"""`~`, and names whose accents are decomposed: what people write, and what macOS makes of it."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from voxcli.files.located import located

COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "Zoé") for form in ("NFC", "NFD"))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_tilde_is_the_home_folder(here: Path) -> None:
    assert located("~/a.wav") == here / "home" / "a.wav"
    assert located(Path("~/a.wav"), Path("lines")) == here / "home" / "a.wav"
    assert located("~") == here / "home"


@pytest.mark.parametrize("name", ["a.wav", "-", "~a.wav", "a~/b.wav", "", "nul\0"])
def test_other_names_start_from_their_folder(name: str) -> None:
    assert located(name, Path("lines")) == Path("lines") / name
    assert located(name) == Path(name)


def test_a_file_that_is_there_under_its_name_is_meant(here: Path) -> None:
    (here / "~").mkdir()
    (here / "~" / "a.wav").touch()
    assert located("~/a.wav") == Path("~/a.wav")


@pytest.mark.parametrize(("stored", "named"), [(COMPOSED, DECOMPOSED), (DECOMPOSED, COMPOSED)])
def test_accents_may_be_coded_in_either_way(here: Path, stored: str, named: str) -> None:
    if not (here / stored).mkdir() and (here / named).exists():
        pytest.skip("this file system takes both for one name")
    (here / stored / f"{stored}.wav").touch()
    for folder in (Path(), here):
        assert located(f"{named}/{named}.wav", folder) == folder / stored / f"{stored}.wav"
        assert located(f"{named}/new.wav", folder) == folder / stored / "new.wav"
        assert located(f"{named}/{named}2.wav", folder) == folder / stored / f"{named}2.wav"
    both = "é".join((COMPOSED, DECOMPOSED))
    (here / both).touch()
    assert located(unicodedata.normalize("NFC", both)) == Path(both)
    (here / named).mkdir()
    assert located(f"{named}/{named}.wav") == Path(named) / f"{named}.wav", "the exact name is meant where it is there"
