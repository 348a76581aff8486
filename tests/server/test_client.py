"""`synth` and `clone` with --server: the files, lines and exit codes are those of the command that loads a model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.servers import LONG, SENTENCE, Served
from tests.server.test_app import JOE, Speak
from voxcli.cli.main import run
from voxcli.server.client import Server

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("name", ["a.wav", "a.mp3"])
def test_a_file_has_the_same_bytes(server: Served, speak: Speak, name: str) -> None:
    options = [SENTENCE, "--seed", "7", "--steps", "4", "--control", "a calm voice"]
    assert speak("synth", *options, "--server", server.url, name=name) == speak("synth", *options, name=name)


def test_a_clone_has_the_same_bytes_and_subtitles_are_written(
    server: Served, speak: Speak, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    options = ["One. And two.", "--ref", str(JOE), "--seed", "3", "--max-chars", "20", "--subtitles", "srt"]
    here = speak("clone", *options)
    subtitles = (tmp_path / "spoken.srt").read_bytes()
    (tmp_path / "spoken.srt").unlink()
    monkeypatch.setenv("VOXCPM2_SERVER", server.url)
    capsys.readouterr()
    assert speak("clone", *options) == here
    assert (tmp_path / "spoken.srt").read_bytes() == subtitles
    note, line = capsys.readouterr().err.splitlines()
    assert note == f"voxcpm2: {JOE}: 24 kHz mono -> 16 kHz mono"
    assert line.startswith(f"{tmp_path}/spoken.wav: ") and line.endswith(f", seed 3 ({server.url})")


def test_a_lexicon_goes_along(server: Served, speak: Speak, tmp_path: Path) -> None:
    lexicon = tmp_path / "lexicon.tsv"
    lexicon.write_text("sun\tmoon\n")
    with_it = speak("synth", SENTENCE, "--seed", "7", "--lexicon", str(lexicon), "--server", server.url)
    assert with_it == speak("synth", SENTENCE.replace("sun", "moon"), "--seed", "7")


def test_a_stream_has_the_same_bytes(server: Served, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    from tests.children import VOXCPM2, finished

    made = []
    for where in (["--server", server.url], []):
        options = [LONG, "--seed", "3", "--max-chars", "60", "--max-seconds", "3", "--allow-truncated", "-o", "-"]
        assert finished([*VOXCPM2, "synth", *options, "--raw", *where]).returncode == 0
        made.append(capfdbinary.readouterr())
    assert made[0].out == made[1].out and len(made[0].out) == 2 * 3 * 24_000
    assert b"cut off at 3.0 s of audio" in made[0].err and server.url.encode() in made[0].err


def test_speech_that_is_cut_off_exits_with_1(server: Served, tmp_path: Path) -> None:
    command = ["synth", LONG, "-o", str(tmp_path / "a.wav"), "--max-seconds", "1", "--server", server.url]
    assert run(command) == 1
    assert run([*command, "--allow-truncated"]) == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["..."], 2, "the text has nothing to speak: no letter and no digit"),
        (["Hi.", "--steps", "51"], 2, "steps must be at most 50 on a server, not 51"),
        (["Hi.", "--voice", "nobody"], 2, "no voice 'nobody'"),
        (["Hi.", "--model", "x"], 2, "--server and --model exclude each other: a server has its own model"),
        (["Hi.", "--ref", "none.wav"], 2, "none.wav: no such file"),
    ],
)
def test_what_the_server_refuses_has_its_words_and_the_usual_code(
    server: Served, tmp_path: Path, capsys: Capture, arguments: list[str], code: int, message: str
) -> None:
    assert run(["synth", *arguments, "-o", str(tmp_path / "a.wav"), "--server", server.url]) == code
    assert message in capsys.readouterr().err.splitlines()[-1]
    assert not list(tmp_path.iterdir())


def test_no_server_there_is_one_line(tmp_path: Path, capsys: Capture) -> None:
    assert run(["synth", "Hi.", "-o", str(tmp_path / "a.wav"), "--server", "http://127.0.0.1:1"]) == 1
    assert capsys.readouterr().err == (
        "voxcpm2: http://127.0.0.1:1 does not answer (Connection refused); is `voxcpm2 serve` running there?\n"
    )
    assert run(["synth", "Hi.", "-o", str(tmp_path / "a.wav"), "--server", "ftp://x"]) == 2
    assert "--server must be a URL such as http://127.0.0.1:8000, not 'ftp://x'" in capsys.readouterr().err


def test_a_model_that_is_named_is_loaded_although_the_environment_names_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("VOXCPM2_SERVER", "http://127.0.0.1:1")
    assert run(["synth", "Hi.", "-o", str(tmp_path / "a.wav"), "--model", "nowhere"]) == 3
    assert "nowhere" in capsys.readouterr().err


def test_the_name_of_the_model(server: Served) -> None:
    assert Server(server.url).model() == "demo voice on cpu, float32"


def test_the_client_loads_no_torch() -> None:
    code = "import sys, voxcli.server.remote; sys.exit('torch' in sys.modules or 'starlette' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_sentence_is_sent_without_slow_imports(server: Served, tmp_path: Path) -> None:
    code = (
        "import sys; from voxcli.cli.main import run\n"
        f"code = run(['synth', 'Hello there.', '--server', {server.url!r}, '-o', {str(tmp_path / 'a.wav')!r}])\n"
        "slow = {'torch', 'numpy', 'soundfile', 'yaml', 'rich', 'huggingface_hub', 'voxcli.jobs.plan'}\n"
        "sys.exit(code or ' '.join(slow & sys.modules.keys()) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.wav").stat().st_size > 1000
