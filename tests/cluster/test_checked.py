"""Workers check what they speak: results and choices are those of a single session with the same check."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.check.stub import use_stub
from tests.cluster.pools import ThreadPool, config
from tests.cluster.test_driver import drive, files, logged, plan_of
from voxcli.check.checker import Checker
from voxcli.check.models import CheckModel
from voxcli.check.options import CheckOptions
from voxcli.engine.load import ModelOptions, load_engine
from voxcli.errors import ModelError
from voxcli.run.results import ResultLog
from voxcli.run.session import Session

OPTIONS = CheckOptions(retries=1)


@pytest.fixture(autouse=True)
def stub(monkeypatch: pytest.MonkeyPatch) -> None:
    use_stub(monkeypatch)


def test_two_workers_choose_as_one_session_does(tiny_checkpoint: Path, tmp_path: Path) -> None:
    recording = tmp_path / "low.wav"
    soundfile.write(recording, 0.3 * np.sin(np.arange(16_000 * 2) / 20), 16_000)
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
    loaded = load_engine(ModelOptions(model=str(tiny_checkpoint), device="cpu"), print)
    with ResultLog(one) as log, Checker(OPTIONS, print) as checker:
        session = Session(loaded.engine, plan_of(one, [recording] * 2, 6).utterances, one, log=log, notify=print)
        session.checker = checker
        list(session.run())
    pool = ThreadPool(2, config(tiny_checkpoint, two, check=OPTIONS))
    outcomes = drive(pool, plan_of(two, [recording] * 2, 6), two)
    assert (files(two), logged(two)) == (files(one), logged(one))
    assert {outcome.result.status for outcome in outcomes.values()} == {"doubtful"}, "the stub hears random letters"
    assert all(result["check"]["takes"] == 2 for result in logged(two).values())


def test_a_recognizer_that_a_worker_can_not_load_ends_the_run(
    tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("voxcli.check.checker.resolve_check_model", lambda *_: CheckModel(Path("broken"), "broken"))
    pool = ThreadPool(1, config(tiny_checkpoint, tmp_path, check=OPTIONS))
    with pytest.raises(ModelError, match="the recognizer can't be loaded: RuntimeError: no weights"):
        drive(pool, plan_of(tmp_path, [tmp_path] * 2, 1), tmp_path)
