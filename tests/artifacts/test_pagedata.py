from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.artifacts.lines import five, line, take
from voxcli.artifacts.pagedata import BARS, LEVELS, MIN_BARS, page_data, times_real_time
from voxcli.jobs.job import Job
from voxcli.jobs.result import Result, Review, skipped


def test_what_a_director_sees_of_each_line(tmp_path: Path) -> None:
    data = page_data(five(tmp_path), tmp_path)
    names, states = data["names"], data["states"]
    lines = [[*made, *[0] * (9 - len(made))] for made in data["lines"]]
    assert [made[0] for made in lines] == ["b #1 '&", "a", "c", "bad", "again"]
    assert [states[made[2]] for made in lines] == ["fine", "fine", "fine", "failed", "warned"]
    assert [names[made[4]] for made in lines] == ["", "Anna", "Guard", "", ""]
    assert [names[made[5]] for made in lines] == ["joe", "", "", "", ""]
    assert [names[made[6]] for made in lines] == ["", "", "gruff", "", ""]
    assert lines[1][8] == ["scene: 3"]
    (first,) = lines[0][3]
    assert first[:4] == [1, "speech/b%20%231%20%27%26.wav", 2.0, str(2**62 + 1)]  # JavaScript has no such number
    (failed,) = lines[3][3]
    assert failed[1:7] == ["", 0, "", 0, 0, ""] and names[failed[8]] == "no voice <b>"
    (warned,) = lines[4][3]
    assert names[warned[8]] == "3 attempts\nquiet voice" and names[warned[7]] == "Ended by: stop"
    assert data["seconds"] == 13.8


def test_recordings_are_named_without_their_folder(tmp_path: Path) -> None:
    ref = tmp_path / "guard.flac"
    lines = [
        line(tmp_path, "a", "Hello.", 1.0, job={"ref": ref}),
        line(tmp_path, "b", "Hello.", 1.0, job={"prompt_audio": ref, "prompt_text": "Hm."}),
    ]
    data = page_data(lines, tmp_path)
    assert [data["names"][made[7]] for made in data["lines"]] == ["guard.flac", "guard.flac"]


def test_waveforms_are_to_scale(tmp_path: Path) -> None:
    lines = [line(tmp_path, f"{n}", "Hello.", 0.5 * n) for n in range(1, 20)] + [line(tmp_path, "long", "Hello.", 60.0)]
    data = page_data(lines, tmp_path)
    assert data["scale"] == 9.5  # 19 of 20 lines are not longer
    bars = [made[3][0][4] for made in data["lines"]]
    assert bars == [*(max(MIN_BARS, round(BARS * 0.5 * n / 9.5)) for n in range(1, 20)), BARS]
    waves = data["waves"]
    assert len(waves) == sum(bars)
    assert LEVELS.index(waves[-BARS]) < 10 < 35 < LEVELS.index(waves[-1])  # it grows louder


def test_a_missing_file_has_no_waveform(tmp_path: Path) -> None:
    job, result = line(tmp_path, "a", "Hello.", 1.0)
    job.out.unlink()
    (made,) = page_data([(job, result)], tmp_path)["lines"]
    assert made[3][0][1] == "speech/a.wav" and made[3][0][4] == 0


def test_results_of_one_id_are_takes_of_one_line(tmp_path: Path) -> None:
    first = line(tmp_path, "a", "Hello.", 1.0, warnings=("far too long",))
    lines = [take(first, 1), take(first, 2, warnings=()), line(tmp_path, "b", "Good night.", 1.0), take(first, 3)]
    data = page_data(lines, tmp_path)
    assert [made[0] for made in data["lines"]] == ["a", "b"]
    assert [made[:4:3] for made in data["lines"][0][3]] == [[1, "100"], [2, "200"], [3, "300"]]
    assert data["states"][data["lines"][0][2]] == "fine"  # one of its takes is


def test_a_recorded_review_is_shown(tmp_path: Path) -> None:
    first, seeds = line(tmp_path, "a", "Hello.", 1.0), (2**62 + 1, 9)
    lines = [
        take(first, 1, take=1, review=Review("rejected", "better", seeds)),
        take(first, 2, take=2, review=Review("approved", "better", seeds)),
        line(tmp_path, "b", "Good night.", 1.0, review=Review(note="slower")),
        line(tmp_path, "c", "Good day.", 1.0),
    ]
    found = [[*made, *[0] * (10 - len(made))][9] for made in page_data(lines, tmp_path)["lines"]]
    assert found == [[2, [str(2**62 + 1), "9"], "better"], [0, [], "slower"], 0]


@pytest.mark.parametrize(
    ("takes", "best"),
    [
        ([{}, {}], 0),
        ([{"status": "doubtful"}, {"warnings": ("quiet",)}, {}], 2),
        ([{"check": {"wer": 0.2, "cer": 0.1}}, {"check": {"wer": 0.1, "cer": 0.1}}, {"check": {"wer": 0.1}}], 2),
        ([{"status": "failed"}, {"status": "doubtful"}], 1),
        ([{"check": {"wer": None, "cer": "?"}}], 0),
    ],
)
def test_the_best_take_is_shown_first(takes: list[dict[str, Any]], best: int, tmp_path: Path) -> None:
    made = line(tmp_path, "a", "Hello.", 1.0)
    (found,) = page_data([take(made, number, **values) for number, values in enumerate(takes, 1)], tmp_path)["lines"]
    assert [*found, *[0] * (11 - len(found))][10] == best


def test_a_text_without_words_is_a_pause(tmp_path: Path) -> None:
    job = Job("pause", "* * *", tmp_path / "pause.wav")
    data = page_data([(job, skipped(job, 1.0, tmp_path).result)], tmp_path)
    ((identity, text, state, takes),) = data["lines"]
    assert (identity, text, data["states"][state], takes[0][:3]) == ("pause", "* * *", "pause", [1, "", 1.0])
    assert data["seconds"] == 0


def test_a_doubtful_line_has_its_reason_wrong_words_and_measures(tmp_path: Path) -> None:
    check = {"wer": 0.25, "cer": 0.031, "missing": [[4, "old"]], "repeated": [], "added": [], "changed": []}
    check |= {"rate": 2.518, "lufs": -21.34, "clipping": 0.0, "silence": {"start": 0.0, "end": 2.52, "inside": 0.4}}
    check |= {"noise": None, "similarity": None, "heard": "The clock stopped.", "model": "tiny", "takes": 3}
    values = {"status": "doubtful", "reason": "words are missing: old", "check": check}
    data = page_data([line(tmp_path, "a", "The old clock stopped.", 1.0, **values)], tmp_path)
    ((*_, state, ((*_, facts, remarks, marks),)),) = data["lines"]
    assert data["states"][state] == "doubtful"
    assert data["names"][remarks] == "words are missing: old"
    assert [(*place, data["kinds"][kind]) for *place, kind in marks] == [(4, 3, "missing")]
    assert data["names"][facts].split("\n") == [
        "Ended by: stop",
        "Word error rate: 25%",
        "Letter error rate: 3%",
        "Loudness: -21.3 LUFS",
        "Words a second: 2.5",
        "Longest silence: 2.5 s",
        "Heard: The clock stopped.",
    ]


def spoken(finished: str, wall_s: float, duration_s: float) -> Result:
    return Result("", "", "", "ok", duration_s, wall_s, finished=f"2026-11-29T{finished}.000+00:00")


def test_speed_counts_the_time_in_which_anything_was_spoken() -> None:
    beside = [spoken("10:00:10", 10, 4), spoken("10:00:12", 10, 4), spoken("10:00:11", 2, 4)]  # 12 s in all
    assert times_real_time(beside) == 1.0
    later = spoken("23:00:00", 3, 18)  # another run: the hours between don't count
    assert times_real_time([later, *beside]) == 2.0
    assert times_real_time([replace(later, finished=None), Result("", "", "", "failed")]) is None


@pytest.mark.parametrize("count", [1, 3])
def test_the_data_of_no_lines_or_failed_ones_only(count: int, tmp_path: Path) -> None:
    data = page_data([line(tmp_path, f"{n}", "Hello.") for n in range(count)], tmp_path)
    assert (data["scale"], data["seconds"], data["speed"]) == (1.0, 0, None)
