"""Tags and names of files, from the command line: read back by other programs where these are installed."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from voxcli.audio.formats import FORMATS
from voxcli.cli.main import run

FAST = ["--steps", "2", "--max-seconds", "0.8", "--seed", "5", "--allow-truncated"]
CAST = "Guard: {ref: guard.wav, control: gruff}\nAnna: {voice: anna}\nOld Bob: {control: an old man}\n"
TABLE = """id;character;text;Scene
1;Guard;Halt! Who goes there?;The gate
2;Anna;It is me, Zoë 春天.;The gate
3;Old Bob;So.;The hall
4;Guard;Pass.;The hall
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_checkpoint: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOXCPM2_MODEL", str(tiny_checkpoint))


def write_scene() -> None:
    """A spreadsheet's table and a cast of three voices: a recording, a named voice, a description."""
    for name, pitch in (("guard.wav", 90), ("v.wav", 140)):
        t = np.arange(16_000 * 2) / 16_000
        soundfile.write(name, (0.3 * np.sin(2 * np.pi * pitch * t)).astype(np.float32), 16_000)
    assert run(["voices", "add", "anna", "--ref", "v.wav"]) == 0
    Path("cast.yaml").write_text(CAST)
    Path("scene.csv").write_text(TABLE, encoding="utf-8")


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def probed(path: str | Path) -> dict[str, Any]:
    """What ffprobe finds: codec, rate, and tags by lower-case name."""
    command = [tool("ffprobe"), "-v", "error", "-show_entries", "format_tags:stream=codec_name,sample_rate:stream_tags"]
    found = json.loads(subprocess.run([*command, "-of", "json", path], capture_output=True, check=True).stdout)
    stream = found["streams"][0]
    tags = found.get("format", {}).get("tags", {}) | stream.get("tags", {})
    return {"codec": stream["codec_name"], "rate": int(stream["sample_rate"])} | {
        name.lower(): tag for name, tag in tags.items()
    }


CODECS = {
    "wav": "pcm_s16le",
    "wav24": "pcm_s24le",
    "wavf": "pcm_f32le",
    "ulaw": "pcm_mulaw",
    "alaw": "pcm_alaw",
    "flac": "flac",
    "ogg": "opus",
    "opus": "opus",
    "mp3": "mp3",
}


@pytest.mark.parametrize("format", FORMATS)
def test_ffprobe_reads_the_tags_of_each_format(format: str) -> None:
    tool("ffprobe")
    out = f"a{FORMATS[format].extension}"
    tags = ["--tag", "album=Zoë 春天", "--tag", "tracknumber=7", "--tag", "date=2026", "--tag", "genre=Speech"]
    command = ["synth", "Hello there. It is late.", "-o", out, "--format", format, *tags, "--tag", "artist=Anna", *FAST]
    rate = [] if format in ("ulaw", "alaw") else ["--sample-rate", "16000"]
    made = []
    for _ in range(2):
        assert run([*command, *rate]) == 0
        made.append(Path(out).read_bytes())
    assert made[0] == made[1]
    found = probed(out)
    expected = {"title": "Hello there. It is late.", "artist": "Anna", "album": "Zoë 春天", "track": "7"}
    expected |= {"date": "2026", "genre": "Speech", "codec": CODECS[format]}
    assert {name: found.get(name) for name in expected} == expected
    assert found["rate"] == (8_000 if format in ("ulaw", "alaw") else 48_000 if "opus" in found["codec"] else 16_000)


@pytest.mark.parametrize(("name", "encoding", "rate"), [("a.wav", "u-law", 8_000), ("a.flac", "FLAC", 16_000)])
def test_sox_reads_files_and_tags(name: str, encoding: str, rate: int) -> None:
    soxi = tool("soxi")
    more = ["--format", "ulaw"] if name == "a.wav" else ["--sample-rate", "16000"]
    assert run(["synth", "Hello there.", "-o", name, "--tag", "album=Tales", *more, *FAST]) == 0

    def told(option: str) -> str:
        return subprocess.run([soxi, option, name], capture_output=True, text=True, check=True).stdout.strip()

    assert (told("-e"), int(told("-r")), int(told("-s"))) == (encoding, rate, soundfile.info(name).frames)
    if name == "a.flac":  # sox does not read the tags of WAV
        assert told("-a").splitlines() == ["album=Tales", "title=Hello there."][::-1]


def test_a_cast_over_a_table_with_tags_and_names(capsys: pytest.CaptureFixture[str]) -> None:
    write_scene()
    command = ["batch", "scene.csv", "-o", "out", "--cast", "cast.yaml", *FAST, "--format", "flac"]
    command += ["--name-template", "{character}/{Scene} {id}_{take}", "--tag", "album={scene}", "--tag", "date=2026"]
    assert run([*command, "--join", "whole.mp3"]) == 0
    found = {path.relative_to("out").as_posix(): soundfile.SoundFile(path).copy_metadata() for path in flacs()}
    assert {name: (tags["title"], tags["artist"], tags["album"], tags["date"]) for name, tags in found.items()} == {
        "Guard/The gate 1_1.flac": ("Halt! Who goes there?", "Guard", "The gate", "2026"),
        "Anna/The gate 2_1.flac": ("It is me, Zoë 春天.", "Anna", "The gate", "2026"),
        "Old Bob/The hall 3_1.flac": ("So.", "Old Bob", "The hall", "2026"),
        "Guard/The hall 4_1.flac": ("Pass.", "Guard", "The hall", "2026"),
    }
    whole = soundfile.SoundFile("whole.mp3").copy_metadata()
    assert {name: tag for name, tag in whole.items() if tag} == {"title": "whole", "date": "2026"}
    assert "unknown" not in capsys.readouterr().err, "the columns that are used are known"
    assert run(command) == 0
    assert "4 lines done before and unchanged, 0 to speak" in capsys.readouterr().err
    samples = {path: soundfile.read(path)[0] for path in flacs()}
    assert run([*command, "--tag", "genre=Drama"]) == 0
    assert "4 to speak (4 settings changed)" in capsys.readouterr().err
    assert all(np.array_equal(soundfile.read(path)[0], sound) for path, sound in samples.items()), "only tags changed"


def flacs() -> list[Path]:
    return sorted(Path("out").rglob("*.flac"))


def test_names_are_safe_and_follow_an_id_that_a_line_gets(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"text": "One.", "who": "A/B:c"}, {"text": "Two.", "who": "Dr. Smith"}, {"text": "Three."}]
    command = ["batch", "lines.jsonl", "-o", "out", *FAST, "--name-template", "{who}/{id}-{text}"]
    Path("lines.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert run(command) == 0
    names = ["A_B_c/00001-One.wav", "Dr. Smith/00002-Two.wav", "_/00003-Three.wav"]
    assert sorted(path.relative_to("out").as_posix() for path in Path("out").rglob("*.wav")) == names
    Path("lines.jsonl").write_text("\n".join(map(json.dumps, [{"text": "New.", "who": "A/B:c"}, *rows])))
    capsys.readouterr()
    assert run(command) == 0
    assert "3 lines done before and unchanged, 1 to speak (1 new)" in capsys.readouterr().err
    assert Path("out/A_B_c/00005-New.wav").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--name-template", "{charakter}/{id}"], "no line has a field 'charakter', which --name-template names"),
        (["--tag", "album={book}"], "no line has a field 'book', which --tag names; there are character, id, line"),
        (["--name-template", "{character}"], "line 5: output 'Guard.wav' is already that of line 2"),
        (["--name-template", ""], "--name-template is empty: name a field in it, such as {id}"),
        (["--name-template", "{id}/"], "--name-template gives the file no name: '1/'; add a field such as {id}"),
        (["--name-template", "../{id}"], "out must be a path inside the output folder"),
        (["--name-template", "{id"], "--name-template: a brace is missing or left over in '{id'"),
        (["--tag", "license=CC0"], "line 2: wav files have no tag 'license', only title, artist, album"),
    ],
)
def test_what_can_not_be_is_one_message_before_anything_is_spoken(
    options: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("voxcli.engine.load.resolve_model", lambda *_: pytest.fail("a model was looked for"))
    Path("scene.csv").write_text(TABLE, encoding="utf-8")
    assert run(["batch", "scene.csv", "-o", "out", *options]) == 2
    assert message in capsys.readouterr().err
    assert not Path("out").exists()


def test_tags_need_a_file_and_a_model_here(capsys: pytest.CaptureFixture[str]) -> None:
    tag = ["--tag", "album=Tales"]
    assert run(["synth", "Hello.", "-o", "-", *tag]) == 2
    assert "--tag needs an audio file: name one with -o" in capsys.readouterr().err
    assert run(["synth", "Hello.", "-o", "a.wav", *tag, "--server", "http://127.0.0.1:9"]) == 2
    assert "--tag and --server exclude each other" in capsys.readouterr().err
    assert run(["synth", "Hello.", "-o", "a.wav", "--tag", "album={scene}"]) == 2
    assert "--tag: there is no field 'scene' here, only id and text" in capsys.readouterr().err
