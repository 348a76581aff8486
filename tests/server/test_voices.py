from __future__ import annotations

from pathlib import Path

import openai
import pytest

from tests.server.servers import Served, served
from tests.server.test_app import JOE, Speak, create
from voxcli.cli.main import run


@pytest.fixture(scope="module")
def own(demo_voice: Path, tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    """A server whose voices are changed, and their folder."""
    folder = tmp_path_factory.mktemp("voices")
    with served(folder=folder) as running:
        yield running, folder


def test_a_voice_is_created_listed_used_and_deleted(
    own: tuple[Served, Path], speak: Speak, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, folder = own
    client = server.client()
    with JOE.open("rb") as sample:
        made = client.audio.voices.create(name="joe", audio_sample=sample, consent="cons_1")
    assert (made.id, made.name, made.object, made.type) == ("joe", "joe", "audio.voice", "audio_sample")
    assert [path.name for path in (folder / "voxcpm2" / "voices").iterdir()] == ["joe.safetensors"]
    listed = server.ask("GET", "/v1/audio/voices").body
    assert b'"id":"joe"' in listed and b'"seconds":5.92' in listed
    cloned = speak("clone", "Hello.", "--ref", str(JOE), "--seed", "3")
    assert create(server, "Hello.", voice="joe", seed=3) == cloned
    assert create(server, "Hello.", voice={"id": "joe"}, seed=3) == cloned
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    assert speak("synth", "Hello.", "--voice", "joe", "--seed", "3") == cloned, "it is a voice of the commands"
    with (
        pytest.raises(openai.ConflictError, match="there is a voice 'joe' already; delete it first"),
        JOE.open("rb") as f,
    ):
        client.audio.voices.create(name="joe", audio_sample=f, consent="cons_1")
    assert client.audio.voices.delete("joe").deleted
    assert not list((folder / "voxcpm2" / "voices").iterdir())
    with pytest.raises(openai.NotFoundError, match="no voice 'joe'; there are none yet"):
        client.audio.voices.delete("joe")


def test_a_voice_with_its_words_continues_the_recording(own: tuple[Served, Path], speak: Speak) -> None:
    server, _ = own
    words = "The words of the recording."
    with JOE.open("rb") as sample:
        server.client().post(
            "/audio/voices",
            cast_to=object,
            body={"name": "words", "ref_text": words},
            files={"audio_sample": ("joe.wav", sample)},
            options={"headers": {"Content-Type": "multipart/form-data"}},
        )
    continued = create(server, "Hello.", voice="words", seed=3)
    server.client().audio.voices.delete("words")
    assert run(["voices", "add", "words", "--ref", str(JOE), "--text", words]) == 0
    assert speak("synth", "Hello.", "--voice", "words", "--seed", "3") == continued


@pytest.mark.parametrize("name", ["../x", "a/b", "con", "x" * 65, "a.safetensors", "", ".hidden"])
def test_unsafe_names_are_refused_and_nothing_is_stored(own: tuple[Served, Path], name: str) -> None:
    server, folder = own
    with pytest.raises(openai.BadRequestError, match="voice"):
        server.client().audio.voices.create(name=name, audio_sample=("joe.wav", JOE.read_bytes()), consent="c")
    assert not list(folder.rglob("*.safetensors"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "audio_sample: the file is empty"),
        (b"RIFF____WAVE nothing", "audio_sample: not a sound file that can be read"),
        (JOE.read_bytes()[:20_000], "audio_sample: the file is cut off"),
        (bytes(17 << 20), "audio_sample is larger than 16 MiB"),
    ],
    ids=["empty", "no data", "cut off", "large"],
)
def test_a_file_that_is_no_voice_is_refused_in_one_line(own: tuple[Served, Path], content: bytes, message: str) -> None:
    server, folder = own
    with pytest.raises(openai.APIStatusError, match=message) as caught:
        server.client().audio.voices.create(name="x", audio_sample=("a.wav", content), consent="c")
    assert caught.value.status_code in (400, 413)
    assert not list(folder.rglob("*.safetensors"))


def test_fields_of_an_upload_are_checked(own: tuple[Served, Path]) -> None:
    server, _ = own
    boundary = {"content_type": "multipart/form-data; boundary=b"}
    form = b'--b\r\ncontent-disposition: form-data; name="%s"\r\n\r\nx\r\n--b--\r\n'
    assert server.ask("POST", "/v1/audio/voices", form % b"path", **boundary).error.startswith("unknown field 'path'")
    assert "audio_sample" in server.ask("POST", "/v1/audio/voices", form % b"name", **boundary).error
    assert "'name' is missing" in server.ask("POST", "/v1/audio/voices", b"x").error
    broken = server.ask("POST", "/v1/audio/voices", b"--b\r\nbroken", **boundary)
    assert broken.status == 400
