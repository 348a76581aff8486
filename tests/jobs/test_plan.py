from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from voxcli.errors import InputError
from voxcli.jobs.job import Job
from voxcli.jobs.plan import expected_seconds, make_plan, prepare
from voxcli.jobs.settings import Settings
from voxcli.jobs.speaker import Speaker
from voxcli.text.script import SCENE_PAUSE_S


def job(text: str, **values: object) -> Job:
    return Job(id=str(values.pop("id", "a")), text=text, out=Path("a.wav"), **values)  # type: ignore[arg-type]


def voice(path: Path) -> Path:
    soundfile.write(path, np.sin(np.arange(16_000 * 2) / 20).astype(np.float32) * 0.3, 16_000)
    return path


def texts(job: Job) -> list[str]:
    return [segment.text for segment in prepare(job).segments]


def test_the_text_is_cleaned_and_the_job_keeps_the_original() -> None:
    utterance = prepare(job("“Hello”\u00a0there\u200b"))
    assert [segment.text for segment in utterance.segments] == ['"Hello" there.']
    assert utterance.job.text == "“Hello”\u00a0there\u200b"


@pytest.mark.parametrize(
    ("text", "control", "spoken"),
    [
        ("Hello.", "warm", "(warm)Hello."),
        ("Hello.", "(warm)", "(warm)Hello."),
        ("（warm） Hello.", None, "(warm)Hello."),
        ("Hello.", None, "Hello."),
    ],
)
def test_a_description_takes_one_form(text: str, control: str | None, spoken: str) -> None:
    assert texts(job(text, control=control)) == [spoken]


def test_every_segment_of_a_long_text_is_described_and_keeps_the_limit() -> None:
    text = "The wind came over the hill. " * 5
    segments = prepare(job(text, control="slow", settings=Settings(max_chars=60))).segments
    assert len(segments) == 3
    assert all(
        segment.text.startswith("(slow)The wind") and len(segment.text) <= 60 + len("(slow)") for segment in segments
    )
    assert segments[-1].pause_s == 0.0
    assert all(segment.pause_s > 0 for segment in segments[:-1])


def test_a_later_sentence_in_brackets_is_spoken_and_not_taken_for_a_description() -> None:
    text = "The wind came over the hill. (Nobody heard it at all.) The dog slept."
    assert texts(job(text, settings=Settings(max_chars=30))) == [
        "The wind came over the hill.",
        "Nobody heard it at all.",
        "The dog slept.",
    ]


@pytest.mark.parametrize("text", ["", "  \n ", "\u200b", "\ufeff"])
def test_an_empty_text_is_refused(text: str) -> None:
    plan = make_plan([job(text)])
    assert [str(error) for _, error in plan.refused] == ["the text has nothing to speak: no letter and no digit"]
    assert not plan.skipped


@pytest.mark.parametrize(
    ("text", "pause_s"),
    [
        ("...!?", SCENE_PAUSE_S),
        ("* * *", SCENE_PAUSE_S),
        ("\u2026", SCENE_PAUSE_S),
        ("\U0001f600", SCENE_PAUSE_S),
        ("[pause 3s]", 3.0),
        ('<break time="250ms"/> ...', 0.25),
    ],
)
def test_a_text_of_punctuation_is_a_pause(text: str, pause_s: float) -> None:
    scene = job(text)
    plan = make_plan([scene, job("Hello.", id="b")])
    assert plan.skipped == [(scene, pause_s)]
    assert not plan.refused
    assert f"1 line without words is a pause: a, {pause_s:g} s" in plan.lines()


def test_a_scene_break_is_at_least_as_long_as_the_pause_after_a_line() -> None:
    assert make_plan([job("***", pause_after=2.5)]).skipped[0][1] == 2.5


def test_a_description_without_text_is_spoken() -> None:
    assert texts(job("(a warm voice)")) == ["a warm voice."]


def test_the_plan_reports_descriptions_and_text_left_out() -> None:
    jobs = [
        job("(a warm voice)Hello.", id="a", line=1),
        job("(whispering) Come.[1]", id="b", line=2),
        job("(She left.) He stayed.[2]", id="c", line=3),
    ]
    assert make_plan(jobs).notes == [
        "2 lines begin with a description of the voice, which is not spoken: line 1 (a), (a warm voice), ...",
        "2 note marks left out",
    ]
    settings = Settings(descriptions=False)
    assert texts(job("(a warm voice)Hello.", settings=settings)) == ["a warm voice. Hello."]


def test_a_described_continuation_is_refused_and_names_both() -> None:
    with pytest.raises(
        InputError,
        match=r"^the text describes the voice \(warm voice\) and continues a recording: a voice is .*, not both$",
    ):
        prepare(job("(warm voice) Hello.", prompt_audio=Path("p.wav"), prompt_text="Before."))


@pytest.mark.parametrize(
    ("before", "after", "joined"),
    [("It was dark.", "Then it rained.", "It was dark. "), ("天黑了。", "下雨了。", "天黑了。")],
)
def test_the_transcript_and_the_text_are_joined_as_in_writing(before: str, after: str, joined: str) -> None:
    assert prepare(job(after, prompt_audio=Path("p.wav"), prompt_text=before)).prompt_text == joined


def test_numbers_are_written_out_on_request_only() -> None:
    pytest.importorskip("wetext")
    text = "It costs $5.20."
    assert texts(job(text)) == [text]
    assert texts(job(text, settings=Settings(normalize=True))) == ["It costs five dollars and twenty cents."]


def test_a_script_that_the_model_does_not_speak_is_a_warning() -> None:
    plan = make_plan([job("\u16a0\u16a2\u16a6\u16a8\u16b1\u16b2", line=3)])
    assert [warning.split(":")[0] for warning in plan.warnings] == ["line 3 (a)"]
    assert "Runic" in next(iter(plan.warnings))
    assert list(make_plan([job("Hello.")]).warnings) == []


def test_a_language_that_the_model_does_not_speak_is_a_warning() -> None:
    demo = Speaker("the demo voice", frozenset({"en"}))
    german = "Guten Morgen, wie geht es Ihnen heute?"
    plan = make_plan([job(german, line=1), job("Hello, how are you?", line=2)], demo)
    warning = "the demo voice does not speak German, the language of this text (it speaks English)"
    assert list(plan.warnings) == [f"line 1 (a): {warning}"]
    assert list(make_plan([job(german)]).warnings) == []
    assert list(make_plan([job(german, settings=Settings(language="en"))], demo).warnings) == [], (
        "the line's own language counts"
    )
    assert list(make_plan([job("Hello.", settings=Settings(language="de"))], demo).warnings) == [f"a: {warning}"]


def test_the_longest_come_first_and_rejected_lines_are_separate(tmp_path: Path) -> None:
    good = voice(tmp_path / "v.wav")
    jobs = [
        job("Short.", id="short"),
        job("", id="mute"),
        job("This one is quite a bit longer.", id="long", ref=good),
        job("Hello.", id="lost", ref=tmp_path / "none.wav"),
    ]
    plan = make_plan(jobs)
    assert [utterance.job.id for utterance in plan.utterances] == ["long", "short"]
    assert [refused.id for refused, _ in plan.refused] == ["mute", "lost"]
    assert "none.wav" in str(plan.refused[1][1])
    assert plan.voices == {good}
    assert plan.expected_s == pytest.approx(expected_seconds("Short.") + expected_seconds(jobs[2].text))


def test_a_voice_is_checked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Path] = []
    monkeypatch.setattr("voxcli.jobs.plan.check_voice", looked.append)
    make_plan([job("Hello.", id=str(n), ref=tmp_path / "v.wav") for n in range(5)])
    assert looked == [tmp_path / "v.wav"]


def test_the_text_of_a_plan(tmp_path: Path) -> None:
    plan = make_plan([job("a" * 150, id="x", ref=voice(tmp_path / "v.wav")), job("", id="y", line=2)])
    assert plan.lines() == [
        "1 line to speak, about 10.0 s of audio",
        "1 voice file",
        "1 line that can't be spoken:",
        "  line 2 (y): the text has nothing to speak: no letter and no digit",
    ]


def test_expected_seconds_knows_scripts_where_a_character_is_a_syllable() -> None:
    assert expected_seconds("a" * 30) == pytest.approx(2.0)
    assert expected_seconds("好" * 9) == pytest.approx(2.0)
