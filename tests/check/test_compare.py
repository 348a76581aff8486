"""Error rates and wrong words by place."""

from __future__ import annotations

import pytest

from voxcli.check.compare import Place, compare

TEXT = "Nobody noticed that the clock had stopped."


def test_a_right_transcript_has_no_errors() -> None:
    found = compare(TEXT, " nobody noticed, that the clock had stopped")
    assert (found.wer, found.cer, found.errors) == (0.0, 0.0, 0)
    assert found.missing == found.repeated == found.added == found.changed == ()


def test_missing_words() -> None:
    found = compare(TEXT, "Nobody noticed the clock stopped.")
    assert found.missing == (Place(15, "that"), Place(30, "had"))
    assert found.wer == pytest.approx(2 / 7)
    assert found.cer == pytest.approx(7 / 35)


def test_repeated_and_added_words() -> None:
    found = compare(TEXT, "Nobody noticed nobody noticed that the clock had stopped now.")
    assert found.repeated == (Place(0, "Nobody"), Place(0, "noticed"))
    assert found.added == (Place(len(TEXT), "now"),)
    assert found.wer == pytest.approx(3 / 7)


def test_changed_words() -> None:
    found = compare(TEXT, "Nobody noticed that the block had stopped.")
    assert found.changed == (Place(24, "clock"),)
    assert found.cer == pytest.approx(1 / 35)


def test_places_lead_to_the_words() -> None:
    found = compare(TEXT, "clock")
    assert all(TEXT[place : place + len(word)] == word for place, word in found.missing)
    assert len(found.missing) == 6


def test_a_wrong_number_is_named_once() -> None:
    pytest.importorskip("wetext")
    found = compare("It costs 120 dollars.", "It costs dollars.", frozenset({"en"}))
    assert found.missing == (Place(9, "120"),)
    assert found.errors == 4, "one hundred and twenty"


def test_nothing_heard() -> None:
    found = compare("a b", "")
    assert (found.wer, found.cer) == (1.0, 1.0)


def test_nothing_to_hear() -> None:
    assert compare("", "a").wer == 1.0
    assert compare("", "").wer == 0.0
