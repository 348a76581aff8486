"""`--lexicon` in all commands that speak: the spoken text changes, the shown text does not."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from voxcli.cli.main import run

LIMITS = ["--allow-truncated", "--max-seconds", "0.8", "--steps", "2", "--seed", "3"]
TABLE = "Siobhan\tShivawn\nnginx\tengine x\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_checkpoint: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOXCPM2_MODEL", str(tiny_checkpoint))
    Path("names.tsv").write_text(TABLE)
    return tmp_path


def batch(*more: str) -> dict[str, Any]:
    """Return results by id."""
    assert run(["batch", "lines.jsonl", "-o", "out", *LIMITS, *more]) == 0
    lines = Path("out/results.jsonl").read_text().splitlines()
    return {result["id"]: result for result in map(json.loads, lines)}


def manifest(*lines: dict[str, Any]) -> None:
    Path("lines.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_the_spoken_form_is_spoken_and_the_written_form_is_shown() -> None:
    manifest({"id": "a", "text": "Siobhan runs nginx."}, {"id": "b", "text": "Shivawn runs engine x."})
    found = batch("--lexicon", "names.tsv", "--subtitles", "srt")
    assert Path("out/a.wav").read_bytes() == Path("out/b.wav").read_bytes()
    assert found["a"]["text"] == "Siobhan runs nginx."
    assert [cue[2] for cue in found["a"]["cues"]] == ["Siobhan runs nginx."]
    assert "Siobhan runs nginx." in Path("out/a.srt").read_text()
    assert found["a"]["fingerprint"] == found["b"]["fingerprint"]


def test_a_changed_lexicon_changes_the_lines_with_its_words_and_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    manifest({"id": "a", "text": "Siobhan."}, {"id": "b", "text": "Nginx."}, {"id": "c", "text": "Anna."})
    batch("--lexicon", "names.tsv")
    capsys.readouterr()
    batch("--lexicon", "names.tsv")
    assert "3 lines done before and unchanged, 0 to speak" in capsys.readouterr().err
    Path("names.tsv").write_text(TABLE.replace("engine x", "engine ex"))
    batch("--lexicon", "names.tsv")
    assert "2 lines done before and unchanged, 1 to speak (1 text changed)" in capsys.readouterr().err


def test_a_line_its_manifest_and_the_defaults_may_name_one() -> None:
    Path("sub").mkdir()
    Path("sub/own.yaml").write_text("nginx: en jinx\n")
    Path("sub/defaults.yaml").write_text("lexicon: own.yaml\n")
    manifest({"id": "a", "text": "nginx", "lexicon": "sub/own.yaml"}, {"id": "b", "text": "nginx"})
    found = batch("--lexicon", "names.tsv")
    assert found["a"]["fingerprint"]["text"] != found["b"]["fingerprint"]["text"]
    manifest({"id": "a", "text": "nginx"}, {"id": "c", "text": "en jinx"})
    found = batch("--defaults", "sub/defaults.yaml")
    assert found["a"]["fingerprint"] == found["c"]["fingerprint"]


def test_synth_clone_and_the_stream_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    lexicon = ["--lexicon", "names.tsv", *LIMITS]
    assert run(["synth", "Siobhan.", "-o", "a.wav", *lexicon]) == 0
    assert run(["synth", "Shivawn.", "-o", "b.wav", *LIMITS]) == 0
    assert Path("a.wav").read_bytes() == Path("b.wav").read_bytes()
    soundfile.write("ref.wav", (0.3 * np.sin(np.arange(24_000) / 20)).astype(np.float32), 16_000)
    assert run(["clone", "Siobhan.", "--ref", "ref.wav", "-o", "c.wav", *lexicon]) == 0
    assert run(["clone", "Shivawn.", "--ref", "ref.wav", "-o", "d.wav", *LIMITS]) == 0
    assert Path("c.wav").read_bytes() == Path("d.wav").read_bytes()
    streams = []
    for text, options in (("Siobhan.", lexicon), ("Shivawn.", LIMITS)):
        sink = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(sink))
        assert run(["synth", text, "-o", "-", "--raw", *options]) == 0
        streams.append(sink.getvalue())
    assert streams[0] == streams[1] != b""


def test_an_invalid_lexicon_is_reported_before_anything_is_spoken(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.tsv").write_text("a b\n")
    manifest({"id": "a", "text": "Hello."}, {"id": "b", "text": "Hello.", "lexicon": "bad.tsv"})
    assert run(["batch", "lines.jsonl", "-o", "out", "--lexicon", "bad.tsv"]) == 2
    message = "lexicon bad.tsv, line 1: no tab between the word and its pronunciation: 'a b'\n"
    assert capsys.readouterr().err == f"voxcpm2: {message}"
    assert run(["batch", "lines.jsonl", "-o", "out"]) == 2
    assert capsys.readouterr().err == f"voxcpm2: lines.jsonl: line 2: {message}"
    assert not Path("out").exists()


def test_it_is_not_written_over(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.wav").write_text(TABLE)
    assert run(["synth", "Hello.", "-o", "a.wav", "--lexicon", "a.wav"]) == 2
    assert "a.wav would overwrite the lexicon" in capsys.readouterr().err
    Path("out").mkdir()
    Path("out/a.wav").write_text(TABLE)
    Path("d.yaml").write_text("lexicon: out/a.wav\n")
    manifest({"id": "a", "text": "Hello."})
    assert run(["batch", "lines.jsonl", "-o", "out", "--defaults", "d.yaml", "--force"]) == 2
    assert "output 'a.wav' is the lexicon" in capsys.readouterr().err
