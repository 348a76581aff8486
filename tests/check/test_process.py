"""The listening process answers, survives its own death once, and ends with its user. With a stub for its model."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.check.stub import COMMAND, spelled
from voxcli.check.heard import HeardWord, Setup
from voxcli.check.process import ListeningProcess
from voxcli.errors import ModelError, SynthesisError


@pytest.fixture
def process() -> Iterator[ListeningProcess]:
    with ListeningProcess(Setup("stub", threads=2), COMMAND) as process:
        yield process


def test_words_and_their_times(process: ListeningProcess) -> None:
    heard = process.hear(spelled("good luck"))
    assert heard.text == " good luck"
    assert heard.words == (HeardWord(0.0, 0.1, " good"), HeardWord(0.1, 0.2, " luck"))
    assert heard.embedding is None
    assert not process.multilingual


def test_embeddings(process: ListeningProcess) -> None:
    heard = process.hear(spelled("a"), hear=False, embed=True)
    assert (heard.words, heard.embedding) == ((), (1.0, 0.0))


def test_many_at_once_get_their_own_answers(process: ListeningProcess) -> None:
    texts = [f"{chr(97 + number % 26)} b" for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda text: process.hear(spelled(text)).text.strip(), texts))
    assert answers == texts


def test_a_model_that_can_not_be_loaded() -> None:
    with (
        ListeningProcess(Setup("broken"), COMMAND) as process,
        pytest.raises(ModelError, match="the recognizer can't be loaded: RuntimeError: no weights"),
    ):
        process.hear(spelled("a"))


def test_an_error_with_one_clip(process: ListeningProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOXCPM2_FAULT", "listen:error:@bad")
    with ListeningProcess(Setup("stub"), COMMAND) as process:
        with pytest.raises(SynthesisError, match="the recognizer failed: RuntimeError: a fault at listen"):
            process.hear(spelled("a"), about="bad")
        assert process.hear(spelled("a"), about="good").text == " a"


def test_it_is_started_again_once_it_has_died(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOXCPM2_FAULT", "listen:sigkill:@deadly")
    with ListeningProcess(Setup("stub"), COMMAND) as process:
        with pytest.raises(SynthesisError, match="ended twice while it listened"):
            process.hear(spelled("a"), about="deadly")
        assert process.hear(spelled("b"), about="good").text == " b"


def test_it_ends_with_its_block() -> None:
    with ListeningProcess(Setup("stub"), COMMAND) as process:
        process.hear(spelled("a"))
        running = process._running
    assert running is not None
    assert running._process.poll() is not None
    with pytest.raises(SynthesisError, match="the recognizer was stopped"):
        process.hear(spelled("a"))


def test_a_command_that_is_no_listener() -> None:
    with (
        ListeningProcess(Setup("stub"), ("true",)) as process,
        pytest.raises(ModelError, match="ended while it loaded"),
    ):
        assert process.multilingual
