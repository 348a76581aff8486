"""`TTS`: texts and rows with the real engine and tiny random checkpoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.api.audio import tone
from tests.api.loaded import LIMITS, LONG, check_free, options_of
from voxcli import TTS
from voxcli.cli.main import run
from voxcli.errors import InputError, ManifestError

pytestmark = pytest.mark.usefixtures("here")


def test_a_drawn_seed_reproduces_the_speech(tts: TTS) -> None:
    clip = tts.speak("Hello there.", steps=2, max_seconds=1.0)
    assert clip.seed is not None
    assert np.array_equal(clip.audio, tts.speak("Hello there.", steps=2, max_seconds=1.0, seed=clip.seed).audio)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("Hello.", {"stepz": 3}, "unknown option 'stepz': did you mean 'steps'?"),
        ("Hello.", {"out": "a.wav"}, "unknown option 'out': known are seed, cfg, "),
        ("Hello.", {"steps": 1}, "steps must be from 2 to 1000, not 1"),
        ("Hello.", {"steps": "x"}, "steps: input should be a valid integer, not 'x'"),
        ("Hello.", {"ref": "none.wav"}, "none.wav: no such file"),
        ("Hello.", {"ref": 3}, "ref: input should be a valid string, not 3"),
        ("Hello.", {"voice": "anna"}, "no voice 'anna', there are none yet; "),
        ("Hello.", {"prompt_text": "Hi."}, "prompt_text needs prompt_audio, "),
        ("Hello.", {"preset": "fst"}, "no preset 'fst'; did you mean 'fast'?"),
        (3, {}, "text: input should be a valid string, not 3"),
        ("", {}, "the text has nothing to speak: "),
        ("***", {}, "the text has nothing to speak: "),
    ],
    ids=lambda value: str(value)[:24],
)
def test_what_can_not_be_spoken_is_refused_in_one_line(
    tts: TTS, text: Any, options: dict[str, Any], message: str
) -> None:
    for speak in (tts.speak, tts.stream):
        with pytest.raises(InputError) as caught:
            speak(text, **options)
        assert str(caught.value).startswith(message)
    check_free(tts)


def test_values_may_have_the_types_of_programs(tts: TTS) -> None:
    tone("me.wav")
    plain = tts.speak("Hello.", **LIMITS, ref="me.wav")
    typed: dict[str, Any] = {"seed": np.int64(9), "steps": 3.0, "cfg": None, "level": float("nan")}
    assert np.array_equal(plain.audio, tts.speak("Hello.", **LIMITS | typed, ref=Path("me.wav")).audio)


def test_a_batch_speaks_rows_as_the_command_does(
    tts: TTS, tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tone("me.wav")
    rows: list[dict[str, object]] = [
        {"id": "a", "text": "One."},
        {"id": 2, "text": LONG, "seed": 4},
        {"text": "Three.", "ref": "me.wav", "Character": "Anna"},
        {"id": "d/e", "text": "Four.", "out": "sub/four.flac"},
    ]
    Path("lines.jsonl").write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.setenv("VOXCPM2_MODEL", str(tiny_checkpoint))
    assert run(["batch", "lines.jsonl", "-o", "speech", "--allow-truncated", *options_of(LIMITS)]) == 0
    clips = {clip.id: clip for clip in tts.batch(rows, **LIMITS)}
    assert {clip.id: clip.out for clip in clips.values()} == {
        "a": "a.wav",
        "2": "2.wav",
        "00003": "00003.wav",
        "d/e": "sub/four.flac",
    }
    assert clips["00003"].result.extra == {"Character": "Anna"}
    for clip in clips.values():
        assert clip.save(Path("own", clip.out)).read_bytes() == Path("speech", clip.out).read_bytes(), clip.id


def test_a_row_that_fails_comes_with_its_error(tts: TTS) -> None:
    rows = [
        {"id": "good", "text": "One."},
        {"id": "lost", "text": "Two.", "ref": "none.wav"},
        {"id": "empty", "text": ""},
        {"id": "pause", "text": "[pause 0.5s]"},
    ]
    clips = {clip.id: clip for clip in tts.batch(rows, steps=2, max_seconds=0.5)}
    assert {name: clip.result.status for name, clip in clips.items()} == {
        "good": "ok",
        "lost": "failed",
        "empty": "failed",
        "pause": "skipped",
    }
    assert str(clips["lost"].error) == "none.wav: no such file"
    assert clips["lost"].duration_s == 0.0
    for use in (lambda: clips["lost"].audio, lambda: clips["lost"].save("lost.wav")):
        with pytest.raises(InputError, match=r"^none\.wav: no such file$"):
            use()
    assert not Path("lost.wav").exists()
    assert repr(clips["lost"]) == "<Speech 'lost', failed: none.wav: no such file>"
    assert len(clips["pause"].audio) == 12_000 and not clips["pause"].audio.any()


def test_rows_are_checked_as_a_manifest_is(tts: TTS, remarks: list[str]) -> None:
    rows: list[Any] = [{"text": "One."}, {"line": "Two."}, 3, {"text": "Four.", "seed": "x"}, {"id": "1", "text": "x"}]
    with pytest.raises(ManifestError) as caught:
        tts.batch([*rows, {"id": "1", "text": "y"}])
    assert [str(problem) for problem in caught.value.problems] == [
        "line 2: field 'text' is missing",
        'line 3: expected a mapping like {"text": "..."}, not 3',
        "line 4: seed: input should be a valid integer, not 'x'",
        "line 6: id '1' is already that of line 5",
    ]
    with pytest.raises(InputError, match=r"^the options: steps must be from 2 to 1000, not 1$"):
        tts.batch(["One."], steps=1)
    with pytest.raises(InputError, match=r"^none\.wav: no such file$"):
        tts.batch(["One."], ref="none.wav")
    assert list(tts.batch([])) == []
    list(tts.batch([{"text": "(a warm voice)One.", "mood": "calm"}], steps=2, max_seconds=0.5))
    assert remarks[:2] == [
        "unknown field kept as extra: mood",
        "1 line begins with a description of the voice, which is not spoken: line 1 (00001), (a warm voice)",
    ]


def test_rows_do_not_look_at_the_current_folder(tts: TTS) -> None:
    tone("me.wav")
    Path("you.wav").mkdir()
    rows = [{"id": "me", "text": "One.", "ref": "me.wav"}, {"id": "you", "text": "Two."}]
    clips = {clip.id: clip for clip in tts.batch(rows, steps=2, max_seconds=0.5)}
    assert not any(clip.error for clip in clips.values())
    with pytest.raises(InputError, match=r"^me\.wav would overwrite the recording 'me\.wav': name another file$"):
        clips["me"].save("me.wav")
