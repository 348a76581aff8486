"""`voxcli.load()` with the real engine and tiny random checkpoints."""

from __future__ import annotations

import gc
import json
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

import voxcli
from tests.api.audio import tone
from voxcli import TTS, Speech
from voxcli.api.shared import CLOSED, OPEN
from voxcli.cli.main import run
from voxcli.engine.engine import Engine
from voxcli.errors import InputError, ManifestError

LONG = "The wind came over the hill. It did not stop there. " * 2
LIMITS: dict[str, Any] = {"seed": 9, "steps": 3, "max_seconds": 1.5, "max_chars": 60}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def remarks() -> list[str]:
    return []


@pytest.fixture
def tts(tiny_checkpoint: Path, remarks: list[str]) -> Iterator[TTS]:
    with voxcli.load(tiny_checkpoint, notify=remarks.append) as loaded:
        yield loaded


@pytest.fixture
def command(tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., bytes]:
    """Runs `synth` and returns the bytes of its file."""
    monkeypatch.setenv("VOXCPM2_MODEL", str(tiny_checkpoint))

    def synth(text: str, file: str, *options: str) -> bytes:
        assert run(["synth", text, "-o", file, "--allow-truncated", *options]) == 0
        return Path(file).read_bytes()

    return synth


def options_of(settings: dict[str, Any]) -> list[str]:
    return [part for name, value in settings.items() for part in (f"--{name.replace('_', '-')}", str(value))]


def engine_of(tts: TTS) -> Engine:
    assert tts._shared._loaded is not None
    return tts._shared._loaded.engine


def check_free(tts: TTS) -> None:
    """Nothing is left of any call: no rows, no pages, no clips."""
    engine = engine_of(tts)
    engine.check_integrity()
    assert not engine.scheduler.running and not engine.scheduler.waiting
    assert engine.state.free == len(engine.state.cfg) - 1
    assert engine.scheduler.pool.free == engine.scheduler.pool.total
    assert engine._done == []


@pytest.mark.parametrize("file", ["a.wav", "a.flac", "a.ogg", "a.mp3"])
def test_files_have_the_bytes_of_the_command(tts: TTS, command: Callable[..., bytes], file: str) -> None:
    clip = tts.speak(LONG, **LIMITS, sample_rate=24_000)
    assert clip.save(Path("own", file)) == Path("own", file)
    assert Path("own", file).read_bytes() == command(LONG, file, *options_of(LIMITS), "--sample-rate", "24000")


@pytest.mark.parametrize(
    "settings",
    [
        {"cfg": 3.0},
        {"solver": "ab2", "steps": 4},
        {"min_seconds": 1.2},
        {"level": -20.0, "sample_rate": 16_000},
        {"format": "wav24"},
        {"format": "ulaw"},
        {"loudness": -30.0},
        {"bitrate": 32, "format": "mp3"},
    ],
)
def test_settings_are_those_of_the_command(tts: TTS, command: Callable[..., bytes], settings: dict[str, Any]) -> None:
    values = LIMITS | settings
    clip = tts.speak("Hello there.", **values)
    suffix = ".mp3" if settings.get("format") == "mp3" else ".wav"
    file = clip.save(f"own{suffix}").read_bytes()
    assert file == command("Hello there.", f"a{suffix}", *options_of(values))


def test_speech_has_the_audio_and_what_is_known_of_it(tts: TTS, remarks: list[str]) -> None:
    clip = tts.speak(LONG, **LIMITS)
    assert clip.sample_rate == tts.sample_rate == 24_000
    assert clip.audio.dtype == np.float32 and clip.audio.shape == (36_000,)
    assert clip.duration_s == 1.5
    assert (clip.text, clip.seed, clip.error, clip.result.stop_reason) == (LONG, 9, None, "length")
    assert clip.cues[0].start == 0.0 and clip.cues[0].text == "The wind came over the hill. It did not stop there."
    assert clip.warnings[0] == "cut off at a length limit"
    assert remarks == [*clip.warnings]
    assert repr(clip) == "<Speech 'speech', 1.5 s at 24000 Hz, seed 9>"
    again = tts.speak(LONG, **LIMITS)
    assert np.array_equal(clip.audio, again.audio)


def test_a_drawn_seed_reproduces_the_speech(tts: TTS) -> None:
    clip = tts.speak("Hello there.", steps=2, max_seconds=1.0)
    assert clip.seed is not None
    assert np.array_equal(clip.audio, tts.speak("Hello there.", steps=2, max_seconds=1.0, seed=clip.seed).audio)


def test_a_preset_holds_until_it_is_overridden(tiny_checkpoint: Path, tts: TTS) -> None:
    Path("own.yaml").write_text("settings: {steps: 2, seed: 4, max_seconds: 1.0}\nengine: {max_batch: 2}\n")
    with voxcli.load(tiny_checkpoint, preset=Path("own.yaml"), notify=[].append) as preset:
        assert engine_of(preset).config.max_batch == 2
        same = tts.speak("Hello.", steps=2, seed=4, max_seconds=1.0).audio
        assert np.array_equal(preset.speak("Hello.").audio, same)
        assert not np.array_equal(preset.speak("Hello.", seed=5).audio, same)
    with pytest.raises(InputError, match=r"^preset 'own\.yaml' sets max_batch for the engine: name it in load\(\)$"):
        tts.speak("Hello.", preset="own.yaml")
    Path("line.yaml").write_text("settings: {steps: 2, max_seconds: 1.0}\n")
    assert np.array_equal(tts.speak("Hello.", preset="line.yaml", seed=4).audio, same)


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


def test_a_batch_is_one_batch_of_the_engine(tts: TTS) -> None:
    at_once = []
    engine_of(tts).on_patch = lambda patches: at_once.append(len(patches))
    clips = list(tts.batch(["One.", "Two two.", "Three three three."], steps=2, max_seconds=0.5, seed=1))
    assert max(at_once) == 3
    assert sorted(clip.text for clip in clips) == ["One.", "Three three three.", "Two two."]


def test_clips_come_as_they_finish(tiny_checkpoint: Path) -> None:
    with voxcli.load(tiny_checkpoint, max_batch=1, notify=[].append) as tts:
        steps: list[int] = []
        for _ in tts.batch(["One.", "Two."], steps=2, max_seconds=0.5, min_seconds=0.4, seed=1):
            steps.append(engine_of(tts).counters.steps)
    assert 0 < steps[0] < steps[1]


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


def test_a_row_that_fails_in_the_engine_leaves_the_others(tts: TTS, monkeypatch: pytest.MonkeyPatch) -> None:
    prefill = Engine._run_prefill

    def failing(self: Engine, sequences: Any, shares: Any) -> None:
        if any(sequence.request_id.startswith("bad") for sequence in sequences):
            raise ValueError("broken")
        prefill(self, sequences, shares)

    monkeypatch.setattr(Engine, "_run_prefill", failing)
    clips = {c.id: c for c in tts.batch([{"id": name, "text": "One."} for name in ("a", "bad", "c")], **LIMITS)}
    assert str(clips["bad"].error) == "ValueError: broken"
    assert np.array_equal(clips["a"].audio, clips["c"].audio)
    check_free(tts)


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


def test_the_model_is_not_overwritten(tts: TTS, tiny_checkpoint: Path) -> None:
    target = tiny_checkpoint / "sound.wav"
    target.touch()
    try:
        with pytest.raises(InputError, match=r"would overwrite the model "):
            voxcli.TTS.speak(tts, "One.", steps=2, max_seconds=0.5).save(target)
    finally:
        target.unlink()


def test_leaving_a_batch_early_frees_rows_and_pages(tts: TTS) -> None:
    whole = tts.speak(LONG, **LIMITS).audio
    rows: list[dict[str, object]] = [{"text": LONG, "max_seconds": 0.3 + 0.06 * number} for number in range(20)]
    for clip in tts.batch(rows, seed=9, steps=3, max_chars=60):
        assert clip.error is None
        break
    check_free(tts)
    generator = tts.batch(rows, seed=9, steps=3, max_chars=60)
    next(generator)
    assert engine_of(tts).scheduler.running
    generator.close()
    check_free(tts)
    assert np.array_equal(tts.speak(LONG, **LIMITS).audio, whole)


def test_a_stream_is_the_speech(tts: TTS) -> None:
    whole = tts.speak("Hello there.", **LIMITS)
    stream = tts.stream("Hello there.", **LIMITS)
    assert (stream.sample_rate, stream.seed) == (24_000, 9)
    blocks = list(stream)
    assert len(blocks) > 2 and all(block.dtype == np.float32 for block in blocks)
    samples = np.concatenate(blocks)
    assert samples.shape == whole.audio.shape and np.abs(samples - whole.audio).max() <= 1e-4
    assert stream.cut_off
    Path("phone.yaml").write_text("settings: {level: -20}")
    options: list[dict[str, Any]] = [{"level": -20}, {"loudness": -23}, {"format": "flac"}, {"preset": "phone.yaml"}]
    for each in options:
        with pytest.raises(InputError, match=r"^(level|loudness|format) needs the whole audio: use speak\(\)$"):
            tts.stream("Hello.", **each)


def test_a_drawn_seed_reproduces_a_stream(tts: TTS) -> None:
    first = tts.stream("Hello.", steps=2, max_seconds=0.5)
    samples = np.concatenate(list(first))
    again = np.concatenate(list(tts.stream("Hello.", steps=2, max_seconds=0.5, seed=first.seed)))
    assert np.array_equal(samples, again)


@pytest.mark.parametrize("rate", [None, 16_000])
def test_leaving_a_stream_early_frees_its_row(tts: TTS, rate: int | None) -> None:
    whole = tts.speak(LONG, **LIMITS).audio
    with tts.stream(LONG, **LIMITS, sample_rate=rate) as stream:
        next(stream)
        assert engine_of(tts).scheduler.running
    check_free(tts)
    for _ in tts.stream(LONG, **LIMITS, sample_rate=rate):
        break
    check_free(tts)
    assert np.array_equal(tts.speak(LONG, **LIMITS).audio, whole)
    assert next(stream, None) is None


def test_a_voice_is_that_of_the_command(tts: TTS, command: Callable[..., bytes], remarks: list[str]) -> None:
    tone("me.wav")
    assert run(["voices", "add", "anna", "--ref", "me.wav", "--text", "Humming."]) == 0
    expected = command("Hello.", "a.wav", "--voice", "anna", *options_of(LIMITS))
    voice = tts.voice("me.wav", text="Humming.")
    assert repr(voice) == "<Voice me.wav, 2.0 s, with its words>"
    assert remarks == ["me.wav: 44.1 kHz mono -> 16 kHz mono"]
    assert tts.speak("Hello.", voice=voice, **LIMITS).save("b.wav").read_bytes() == expected
    assert tts.speak("Hello.", voice="anna", **LIMITS).save("c.wav").read_bytes() == expected
    with pytest.raises(InputError, match=r"^there is a voice 'anna' already; replace=True replaces it$"):
        voice.save("anna")
    assert voice.save("bob").name == "bob.safetensors"
    assert tts.speak("Hello.", voice="bob", **LIMITS).save("d.wav").read_bytes() == expected


def test_a_voice_lives_as_long_as_it_is_used(tts: TTS) -> None:
    tone("me.wav")
    expected = tts.speak("Hello.", ref="me.wav", **LIMITS).audio
    rows: list[dict[str, object]] = [{"text": "Hello.", "voice": tts.voice("me.wav")}]
    path = rows[0]["voice"].path  # type: ignore[attr-defined]
    clips = tts.batch(rows, **LIMITS)
    rows.clear()
    gc.collect()
    assert path.exists()
    assert np.array_equal(next(clips).audio, expected)
    stream = tts.stream("Hello.", voice=tts.voice("me.wav"), **LIMITS) if next(clips, None) is None else None
    assert stream is not None
    samples = np.concatenate(list(stream))
    assert np.abs(samples - expected).max() <= 1e-4
    del clips
    gc.collect()
    assert not path.exists()


def test_a_voice_that_can_not_be_used(tts: TTS) -> None:
    Path("text.wav").write_text("no sound")
    with pytest.raises(InputError, match=r"^text\.wav: "):
        tts.voice("text.wav")
    tone("me.wav")
    with pytest.raises(InputError, match=r"^text has no letter and no digit"):
        tts.voice("me.wav", text="...")


def test_a_second_call_of_the_thread_with_an_open_one_is_an_error(tts: TTS) -> None:
    batch = tts.batch([LONG, "Two."], **LIMITS)
    stream = tts.stream("Hello.", **LIMITS)
    next(batch)
    calls: list[Callable[[], object]] = [
        lambda: tts.speak("Hello."),
        lambda: next(stream),
        lambda: list(tts.batch(["One."])),
        lambda: tts.voice(tone("me.wav")),
    ]
    for call in calls:
        with pytest.raises(InputError) as caught:
            call()
        assert str(caught.value) == OPEN
    assert len(list(batch)) == 1
    assert tts.speak("Hello.", **LIMITS).error is None


def test_threads_take_turns(tts: TTS) -> None:
    texts = [f"Line {number}." for number in range(4)]
    expected = {text: tts.speak(text, **LIMITS).audio for text in texts}
    found: dict[str, np.ndarray] = {}

    def work(text: str) -> None:
        for clip in tts.batch([text], **LIMITS):
            found[text] = clip.audio
        assert np.array_equal(np.concatenate(list(tts.stream(text, **LIMITS))).shape, expected[text].shape)

    threads = [threading.Thread(target=work, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(found[text], expected[text]) for text in texts)
    check_free(tts)


def test_a_batch_may_be_continued_by_another_thread(tts: TTS) -> None:
    batch = tts.batch(["One.", "Two.", "Three."], steps=2, max_seconds=0.5)
    next(batch)
    errors: list[str] = []

    def work() -> None:
        next(batch)
        try:  # would wait forever: this thread itself is to continue the batch
            tts.speak("Four.")
        except InputError as error:
            errors.append(str(error))
        list(batch)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert errors == [OPEN]
    assert tts.speak("Four.", steps=2, max_seconds=0.5).error is None


@pytest.mark.parametrize("kind", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interrupt_in_the_middle_of_a_step_leaves_nothing(
    tts: TTS, monkeypatch: pytest.MonkeyPatch, kind: type[BaseException]
) -> None:
    expected = tts.speak(LONG, **LIMITS).audio
    broken = engine_of(tts)
    admit = broken.scheduler.admit

    def interrupted() -> Any:
        admit()  # rows and pages are taken, and nobody has them
        broken.scheduler.running.clear()
        raise kind

    monkeypatch.setattr(broken.scheduler, "admit", interrupted)
    with pytest.raises(kind):
        tts.speak(LONG, **LIMITS)
    assert np.array_equal(tts.speak(LONG, **LIMITS).audio, expected)
    assert engine_of(tts) is not broken
    check_free(tts)


def test_closing_frees_the_model(tiny_checkpoint: Path) -> None:
    tts = voxcli.load(tiny_checkpoint, notify=[].append)
    model = weakref.ref(engine_of(tts).model)
    clip = tts.speak("One.", steps=2, max_seconds=0.5)
    stream = tts.stream("Two.", steps=2, max_seconds=0.5)
    next(stream)
    tts.close()
    tts.close()
    gc.collect()
    assert model() is None
    assert list(stream) == []
    for call in (lambda: tts.speak("Three."), lambda: list(tts.batch(["Three."])), lambda: next(tts.stream("Three."))):
        with pytest.raises(InputError) as caught:
            call()
        assert str(caught.value) == CLOSED
    assert clip.save("a.wav").exists()


def test_messages_are_warnings_of_the_callers_line(tiny_checkpoint: Path) -> None:
    with voxcli.load(tiny_checkpoint) as tts, pytest.warns(voxcli.VoxWarning) as caught:
        clip = tts.speak(LONG, **LIMITS)
    assert clip.warnings[0] == "cut off at a length limit"
    assert [str(warning.message) for warning in caught] == [*clip.warnings]
    assert {warning.filename for warning in caught} == {__file__}


def test_nothing_is_printed(tts: TTS, capfd: pytest.CaptureFixture[str]) -> None:
    tts.speak("Hello there.", steps=2, max_seconds=0.5)
    list(tts.batch(["One.", {"text": "Two.", "ref": "none.wav"}], steps=2, max_seconds=0.5))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "no/where/at/all"}, "no"),
        ({"device": "tpu"}, "device 'tpu' is not one of auto, cpu, cuda, cuda:N, mps"),
        ({"max_batch": 0}, "max_batch must be a whole number of at least 1, not 0"),
        ({"preset": "fst"}, "no preset 'fst'; did you mean 'fast'?"),
    ],
    ids=["model", "device", "max_batch", "preset"],
)
def test_what_can_not_be_loaded(tiny_checkpoint: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(voxcli.VoxError) as caught:
        voxcli.load(**{"model": tiny_checkpoint, "notify": pytest.fail} | options)
    assert message in str(caught.value)


def test_a_player_shows_the_text_and_plays_the_samples(tts: TTS) -> None:
    import base64
    import io
    import re

    clip = tts.speak("<b>Hello</b> & so on.", **LIMITS, sample_rate=16_000)
    page = clip._repr_html_()
    assert "&lt;b&gt;Hello&lt;/b&gt; &amp; so on." in page and "<b>" not in page
    found = re.search(r'src="data:audio/wav;base64,([^"]+)"', page)
    assert found is not None
    samples, rate = soundfile.read(io.BytesIO(base64.b64decode(found[1])), dtype="int16")
    clip.save("a.wav")
    assert rate == 16_000 and np.array_equal(samples, soundfile.read("a.wav", dtype="int16")[0])


def test_a_player_of_what_failed_says_why(tts: TTS) -> None:
    failed: Speech
    (failed,) = tts.batch([{"text": "One.", "ref": "<none>.wav"}])
    assert "<audio" not in failed._repr_html_() and "&lt;none&gt;.wav: no such file" in failed._repr_html_()
