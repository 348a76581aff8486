"""The API through the `openai` package, with the demo voice: the same bytes as the commands."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.server.servers import LONG, MODEL, SENTENCE, Served
from voxcli.audio.wavstream import HEADER_BYTES, wav_header

Speak = Callable[..., bytes]
JOE = Path(__file__).parents[2] / "samples" / "demo" / "joe.wav"


def create(server: Served, text: str, format: str = "wav", voice: Any = "default", **extra: Any) -> bytes:
    made = server.client().audio.speech.create(
        model=MODEL,
        voice=voice,
        input=text,
        response_format=format,
        extra_body=extra,  # type: ignore[arg-type]
    )
    return made.content


def stream(server: Served, text: str, format: str, **extra: Any) -> bytes:
    streaming = server.client().audio.speech.with_streaming_response
    with streaming.create(
        model=MODEL,
        voice="default",
        input=text,
        response_format=format,
        stream_format="audio",
        extra_body=extra,  # type: ignore[arg-type]
    ) as answer:
        return b"".join(answer.iter_bytes())


@pytest.mark.parametrize(
    ("format", "name"), [("wav", "a.wav"), ("mp3", "a.mp3"), ("flac", "a.flac"), ("opus", "a.ogg")]
)
def test_a_file_has_the_bytes_that_the_command_writes(server: Served, speak: Speak, format: str, name: str) -> None:
    assert create(server, SENTENCE, format, seed=7) == speak("synth", SENTENCE, "--seed", "7", name=name)


def test_settings_are_those_of_the_command(server: Served, speak: Speak) -> None:
    options = [
        "--seed",
        "7",
        "--steps",
        "4",
        "--cfg",
        "1.5",
        "--max-chars",
        "40",
        "--sample-rate",
        "16000",
        "--level",
        "-20",
    ]
    spoken = speak("synth", "One, two. " + SENTENCE, *options, "--control", "a calm voice")
    made = server.client().audio.speech.create(
        model=MODEL,
        voice="default",
        input="One, two. " + SENTENCE,
        instructions="a calm voice",
        response_format="wav",
        extra_body={"seed": 7, "steps": 4, "cfg": 1.5, "max_chars": 40, "sample_rate": 16000, "level": -20},
    )
    assert made.content == spoken
    assert made.response.headers["x-voxcpm2-seed"] == "7"


def test_a_stream_is_the_file_sample_by_sample(server: Served) -> None:
    file = create(server, SENTENCE, seed=7)
    assert create(server, SENTENCE, "pcm", seed=7) == file[HEADER_BYTES:]
    assert stream(server, SENTENCE, "pcm", seed=7) == file[HEADER_BYTES:]
    assert stream(server, SENTENCE, "wav", seed=7) == wav_header(24_000) + file[HEADER_BYTES:]


def test_a_long_text_is_streamed_as_the_command_streams_it(server: Served, capfdbinary: Any) -> None:
    from tests.children import VOXCPM2, finished

    made = stream(server, LONG, "pcm", seed=3, max_chars=60, sample_rate=16_000, max_seconds=4)
    options = ["--seed", "3", "--max-chars", "60", "--sample-rate", "16000", "--max-seconds", "4", "--allow-truncated"]
    finished([*VOXCPM2, "synth", LONG, *options, "-o", "-", "--raw"])
    assert made == capfdbinary.readouterr().out
    assert len(made) == 2 * 16_000 * 4


def test_events_carry_the_audio_and_end_with_what_is_known_of_it(server: Served) -> None:
    streaming = server.client().audio.speech.with_streaming_response
    with streaming.create(
        model=MODEL,
        voice="default",
        input=SENTENCE,
        response_format="pcm",
        stream_format="sse",
        extra_body={"seed": 7},
    ) as answer:
        events = [json.loads(line.removeprefix("data: ")) for line in answer.iter_lines() if line]
    *deltas, done = events
    assert {event["type"] for event in deltas} == {"speech.audio.delta"}
    audio = b"".join(base64.b64decode(event["audio"]) for event in deltas)
    assert audio == create(server, SENTENCE, "pcm", seed=7)
    assert done["type"] == "speech.audio.done"
    assert (done["seed"], done["sample_rate"], done["stop_reason"]) == (7, 24_000, "stop")
    assert done["duration_s"] == pytest.approx(len(audio) / 2 / 24_000, abs=1e-4)


def test_a_recording_in_the_request_is_cloned_as_by_the_command(server: Served, speak: Speak) -> None:
    recording = base64.b64encode(JOE.read_bytes()).decode()
    assert create(server, SENTENCE, seed=3, ref_audio=recording) == speak(
        "clone", SENTENCE, "--ref", str(JOE), "--seed", "3"
    )
    words = "The words of the recording."
    assert create(server, SENTENCE, seed=3, ref_audio=recording, ref_text=words) == speak(
        "clone", SENTENCE, "--ref", str(JOE), "--ref-text", words, "--seed", "3"
    )


def test_models(server: Served) -> None:
    client = server.client()
    (model,) = client.models.list()
    assert (model.id, model.object, model.owned_by) == (MODEL, "model", "voxcpm2")
    assert client.models.retrieve(MODEL) == model
    with pytest.raises(openai.NotFoundError, match="no model 'tts-1'; this server has 'demo-voice'"):
        client.audio.speech.create(model="tts-1", voice="default", input="Hi")


def test_the_request_id_goes_in_and_out(server: Served) -> None:
    assert server.ask("GET", "/health", x_request_id="mine-1").headers["x-request-id"] == "mine-1"
    assert server.ask("GET", "/health", x_request_id="no good\t").headers["x-request-id"].startswith("req_")
    made = server.client().audio.speech.create(
        model=MODEL, voice="default", input="Hi.", extra_headers={"X-Request-Id": "mine-2"}
    )
    assert made.response.headers["x-request-id"] == "mine-2"


def test_health_and_readiness(server: Served) -> None:
    assert json.loads(server.ask("GET", "/health").body) == {"status": "ok"}
    assert json.loads(server.ask("GET", "/ready").body) == {"ready": True}


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({}, 400, "field 'input' is missing"),
        ({"input": "Hi", "voise": "a"}, 400, "unknown field 'voise': did you mean 'voice'?"),
        ({"input": 5}, 400, "input: input should be a valid string, not 5"),
        ({"input": "..."}, 400, "the text has nothing to speak: no letter and no digit"),
        ({"input": "Hi", "seed": -1}, 400, "seed must be a whole number from 0 to 2^63 - 1, not -1"),
        ({"input": "Hi", "steps": 51}, 400, "steps must be at most 50 on a server, not 51"),
        ({"input": "Hi", "speed": 2}, 400, "speed must be 1, not 2: the model has no speed control"),
        ({"input": "Hi", "format": "wav"}, 400, "unknown field 'format'; did you mean 'response_format'?"),
        ({"input": "Hi", "voice": "/etc/passwd"}, 404, "no voice '/etc/passwd'; there are none yet"),
        ({"input": "Hi", "voice": "a.safetensors"}, 404, "no voice 'a.safetensors'; there are none yet"),
        ({"input": "Hi", "response_format": "aac"}, 400, "response_format 'aac' can't be written, only mp3, opus"),
        ({"input": "Hi", "stream_format": "audio", "level": -20}, 400, "level needs the whole audio"),
        ({"input": "Hi", "stream_format": "audio", "loudness": -23}, 400, "loudness needs the whole audio"),
        ({"input": "Hi", "stream_format": "audio", "response_format": "wav24"}, 400, "wav24 can't be streamed"),
        ({"input": "Hi", "ref_text": "words"}, 400, "ref_text needs ref_audio"),
        ({"input": "Hi", "ref_audio": "!"}, 400, "ref_audio is not base64"),
        ({"input": "Hi", "ref_audio": "aGVsbG8="}, 400, "ref_audio: not a sound file that can be read"),
        ({"input": "x" * 50_001}, 400, "input is longer than 50,000 characters; send it in parts"),
        (b"{", 400, "the body is not a JSON object: invalid JSON: EOF while parsing an object"),
        (b"[]", 400, "the body is not a JSON object: input should be an object"),
        (b'{"input": "\\ud800"}', 400, "the body is not a JSON object: invalid JSON: "),
        (b"\xff", 400, "the body is not a JSON object: invalid JSON: "),
        (b"[" * 100_000, 400, "the body is not a JSON object: invalid JSON: "),
        (
            b'{"input": "Hi", "seed": ' + b"9" * 5_000 + b"}",
            400,
            "the body is not a JSON object: invalid JSON: number out",
        ),
        (
            b'{"input": "Hi", "seed": ' + b"9" * 30 + b"}",
            400,
            "seed must be a whole number from 0 to 2^63 - 1, not 999",
        ),
        (b'{"input": "Hi", "cfg": NaN}', 400, "cfg must be a number of at least 0, not nan"),
    ],
    ids=lambda value: str(value)[:40] if not isinstance(value, int) else None,
)
def test_what_can_not_be_spoken_is_refused_in_one_line(server: Served, body: Any, status: int, message: str) -> None:
    answer = server.ask("POST", "/v1/audio/speech", body)
    assert answer.status == status
    assert answer.error.startswith(message) and "\n" not in answer.error
    kind = {400: "invalid_request_error", 404: "not_found_error"}[status]
    assert json.loads(answer.body)["error"]["type"] == kind


def test_paths_that_are_not_there(server: Served) -> None:
    assert (answer := server.ask("GET", "/v2")).status == 404 and "nothing at this path" in answer.error
    assert (answer := server.ask("GET", "/v1/audio/speech")).status == 405 and "method" in answer.error
