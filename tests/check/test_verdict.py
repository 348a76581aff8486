"""Which clips are doubtful, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from voxcli.check.compare import compare
from voxcli.check.signals import Signals
from voxcli.check.verdict import ClipCheck, Limits, badness, reasons

TEXT = "A thick fog rolled over the harbor this morning."
FINE = Signals(2.8, 0.05, 0.15, 0.1, 0.0, -21.0, -30.0)
USUAL = Limits()


def why(heard: str, text: str = TEXT, limits: Limits = USUAL) -> list[str]:
    return reasons(ClipCheck(FINE, compare(text, heard)), limits)


@pytest.mark.parametrize(
    "heard",
    [
        TEXT,
        "A thick fog rolled over the harbour this morning",
        "A thick fox rolled over the harbor this morning",
        "Thick fog rolled over the harbor this morning",
        "A thick fog rolled over the harbor this morn ing",
    ],
)
def test_what_a_recognizer_mishears_is_right(heard: str) -> None:
    assert why(heard) == []


@pytest.mark.parametrize(
    ("heard", "reason"),
    [
        ("A thick fog rolled over this morning", "words are missing: the harbor"),
        ("A fog rolled over the harbor this morning", "words are missing: thick"),
        ("thick fog rolled over the harbor", "words are missing: this morning"),
        ("A thick fog rolled over rolled over the harbor this morning", "words are repeated: rolled over"),
        ("A thick fog rolled over the the harbor this morning", "words are repeated: the"),
        ("A thick fog rolled over the harbor this morning thank you", "words are added: thank you"),
        (
            "A brick dog told cover a barber mist mourning",
            "8 of 9 words are wrong: thick fog rolled over the harbor this morning",
        ),
        ("", "words are missing: A thick fog rolled over the harbor this morning"),
    ],
)
def test_faults(heard: str, reason: str) -> None:
    assert why(heard)[0] == reason


def test_a_maximum_word_error_rate_replaces_the_limits_by_length() -> None:
    heard = "A thick fog rolled over this morning"
    assert why(heard, limits=Limits(max_wer=0.3)) == []
    assert why(heard, limits=Limits(max_wer=0.2)) == ["word error rate 0.22, at most 0.2"]
    assert why(TEXT.replace("fog", "fox"), limits=Limits(max_wer=0.0)) == ["word error rate 0.11, at most 0"]


@pytest.mark.parametrize(
    ("signals", "reason"),
    [
        (replace(FINE, lufs=None), "it is silent"),
        (replace(FINE, clipping=0.01), "1.0% of its samples are clipped"),
        (replace(FINE, duration_s=5.3, lead_s=2.5), "2.5 s of silence at the start"),
        (replace(FINE, duration_s=5.3, trail_s=2.5), "2.5 s of silence at the end"),
        (replace(FINE, pause_s=2.5), "2.5 s of silence inside"),
        (replace(FINE, noise_db=-8.0), "noise: the background is only 8 dB below the speech"),
        (replace(FINE, duration_s=1.2), "39 letters a second"),
        (replace(FINE, duration_s=20.2), "2 letters a second"),
    ],
)
def test_faults_of_the_signal(signals: Signals, reason: str) -> None:
    assert reasons(ClipCheck(signals, compare(TEXT, TEXT)), USUAL) == [reason]


def test_another_voice() -> None:
    check = ClipCheck(FINE, compare(TEXT, TEXT), similarity=0.44)
    assert reasons(check, USUAL) == ["another voice: similarity 0.44 to the recording, at least 0.75"]
    assert reasons(check, Limits(min_similarity=0.4)) == []
    short = replace(check, signals=replace(FINE, duration_s=1.0))
    assert "another voice" not in " ".join(reasons(short, USUAL)), "too short to tell"


def test_words_of_another_language_than_the_recognizer_are_not_judged() -> None:
    assert reasons(ClipCheck(FINE, None), USUAL) == []


def test_the_best_take_has_the_fewest_faults_then_the_fewest_errors() -> None:
    heard = ["A fog", TEXT.replace("fog", "fox"), TEXT, "A thick fog rolled over this morning"]
    takes = [ClipCheck(FINE, compare(TEXT, words)) for words in heard]
    order = sorted(range(4), key=lambda number: badness(takes[number], USUAL))
    assert order == [2, 1, 3, 0]
    clipped = replace(takes[2], signals=replace(FINE, clipping=0.1))
    assert badness(clipped, USUAL) > badness(takes[1], USUAL)
