"""Results about exactness are stored, are reproducible without the file, and are not used if they are wrong."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.engine.helpers import request, run
from voxcli.engine import exactness
from voxcli.engine.engine import Engine, EngineConfig
from voxcli.engine.exactness import FILE_NAME, examine, same_with_any_threads
from voxcli.kernels import attention, exact, torch_ops
from voxcli.kernels.exact import PLAIN, STRATEGIES, Strategy
from voxcli.model.voxcpm2 import VoxCPM2
from voxcli.model.weights import load_model


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A separate cache folder, without results of this process."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(exact, "_found", {})
    monkeypatch.setattr(exact, "_remembered", {})
    yield tmp_path / "voxcpm2" / FILE_NAME


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> list[Strategy]:
    """The strategies that are tried, in order."""
    tried: list[Strategy] = []
    holds = exact.holds

    def counted(strategy: Strategy, *values: object, **named: object) -> bool:
        tried.append(strategy)
        return holds(strategy, *values, **named)  # type: ignore[arg-type]

    for module in (exact, torch_ops.exact, attention.exact):
        monkeypatch.setattr(module, "holds", counted)
    return tried


def restart() -> None:
    """Discard the results, as if in a new process."""
    exact.reset()


def test_every_product_and_attention_of_the_model_is_tried(tiny_model: VoxCPM2) -> None:
    strategies = examine(tiny_model).strategies
    assert set(exact.found(torch.get_num_threads())) == set(strategies)
    clips = run(Engine(tiny_model), [request(tiny_model, "r", "hello", layout="both", seed=1, max_len=4)])
    assert clips["r"].audio is not None
    assert set(exact.found(torch.get_num_threads())) == set(strategies), "an operation was not tried before it ran"


def test_results_are_stored_and_a_start_repeats_only_one_trial(
    tiny_model: VoxCPM2, file: Path, trials: list[Strategy]
) -> None:
    first = examine(tiny_model)
    assert len(trials) >= len(first.strategies)
    restart()
    trials.clear()
    assert examine(tiny_model) == first
    assert len(trials) == 1
    trials.clear()
    assert examine(tiny_model) == first, "in the same process"
    assert not trials
    assert [path.name for path in file.parent.iterdir()] == [FILE_NAME]


def test_results_are_the_same_without_the_file(tiny_model: VoxCPM2, file: Path) -> None:
    first = examine(tiny_model)
    file.unlink()
    restart()
    assert examine(tiny_model) == first


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"[" * 100_000,
        b'{"format": 1}',
        b'{"format": 1, "machines": []}',
        b'{"format": 2, "machines": {}}',
        b"x" * (2 << 20),
    ],
    ids=["empty", "truncated", "not text", "a list", "deep", "no machines", "a list of machines", "newer", "huge"],
)
def test_a_damaged_file_is_ignored_and_replaced(tiny_model: VoxCPM2, file: Path, content: bytes) -> None:
    expected = examine(tiny_model)
    file.write_bytes(content)
    restart()
    assert examine(tiny_model) == expected
    assert json.loads(file.read_bytes())["format"] == 1


@pytest.mark.parametrize("stored", [None, 7, {"product 2 3": "sideways"}, {"product 2 3": 4}])
def test_invalid_results_are_ignored(tiny_model: VoxCPM2, file: Path, stored: object) -> None:
    expected = examine(tiny_model)
    content = json.loads(file.read_bytes())
    content["machines"] = dict.fromkeys(content["machines"], stored)
    file.write_text(json.dumps(content))
    restart()
    assert examine(tiny_model) == expected


def test_a_cache_folder_that_can_not_be_created_is_no_error(
    tiny_model: VoxCPM2, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a file"))
    assert examine(tiny_model).strategies


def test_other_settings_have_results_of_their_own(
    tiny_model: VoxCPM2, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    examine(tiny_model)
    monkeypatch.setenv("MKL_SOMETHING", "else")
    restart()
    examine(tiny_model)
    assert len(json.loads(file.read_bytes())["machines"]) == 2


def test_the_file_keeps_a_limited_number_of_machines(tiny_model: VoxCPM2, file: Path) -> None:
    file.parent.mkdir()
    old = {f"machine {n}": {"product 2 3 torch.float32": "as they are"} for n in range(500)}
    file.write_text(json.dumps({"format": 1, "machines": old}))
    examine(tiny_model)
    machines = list(json.loads(file.read_bytes())["machines"])
    assert len(machines) == exactness.MAX_MACHINES
    assert machines[:-1] == list(old)[-exactness.MAX_MACHINES + 1 :]


def depends_on_rows(strategy: Strategy, columns: int, width: int, dtype: torch.dtype) -> bool:
    return strategy.blocks


def test_results_that_are_wrong_in_this_process_are_neither_used_nor_stored(
    tiny_model: VoxCPM2, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a program that used MKL before it imported the package, and thereby before the environment was set."""
    before = examine(tiny_model)
    stored = file.read_bytes()
    products = {name for name in before.strategies if name.startswith("product")}
    restart()
    for module in (exactness, torch_ops):
        monkeypatch.setattr(module, "product_holds", depends_on_rows)
    expected = {name: next(strategy for strategy in STRATEGIES if strategy.blocks) for name in products}
    strategies = examine(tiny_model).strategies
    assert {name: strategies[name] for name in products} == (
        expected if PLAIN in before.strategies.values() else {name: before.strategies[name] for name in products}
    )
    assert file.read_bytes() == stored


def test_without_an_exact_strategy_one_message_reports_it_and_no_clip_is_exact(
    tiny_model: VoxCPM2, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch_ops, "product_holds", lambda *values: False)
    messages: list[str] = []
    engine = Engine(tiny_model, notify=messages.append)
    assert not engine.exact
    [message] = messages
    products = sum(name.startswith("product") for name in examine(tiny_model).strategies)
    assert message == (
        "the same seed gives the same speech on this machine, but its last bits depend on the rest of the batch "
        f"({products} of {len(examine(tiny_model).strategies)} operations)"
    )
    clips = run(engine, [request(tiny_model, "r", "hello", seed=1, max_len=4)])
    assert clips["r"].audio is not None
    assert not clips["r"].exact


def test_in_16_bit_no_clip_is_exact_and_nothing_is_tried(
    tiny_checkpoint: Path, file: Path, trials: list[Strategy]
) -> None:
    """In bfloat16 rows of products pass the trials, but clips still differ between batches."""
    model = load_model(tiny_checkpoint, device="cpu", dtype="bfloat16")
    messages: list[str] = []
    engine = Engine(model, notify=messages.append)
    assert messages == [
        "the same seed gives the same speech on this machine, "
        "but its last bits depend on the rest of the batch (in bfloat16)"
    ]
    clips = run(engine, [request(model, "r", "hello", seed=1, max_len=4)])
    assert clips["r"].audio is not None
    assert not clips["r"].exact
    assert {strategy for name, strategy in exact.found(torch.get_num_threads()).items() if "bfloat16" in name} == set()
    assert not file.exists()


def test_a_clip_is_exact_unless_it_was_preempted(tiny_model: VoxCPM2) -> None:
    requests = [request(tiny_model, f"r{n}", "hello world", seed=n, min_len=30, max_len=31) for n in range(3)]
    assert all(clip.exact for clip in run(Engine(tiny_model), requests).values())
    engine = Engine(tiny_model, EngineConfig(max_batch=3, pages=7))
    clips = run(engine, requests)
    assert engine.counters.preemptions
    assert {clip.exact for clip in clips.values()} == {True, False}
    assert clips["r0"].exact, "the oldest request is never preempted"


def test_description() -> None:
    blocks = Strategy(16, blocks=True)
    assert str(exactness.Exactness({"a": PLAIN}, 1)) == "alone and in any batch"
    assert str(exactness.Exactness({"a": blocks, "b": PLAIN, "c": blocks}, 1)) == (
        "alone and in any batch, 2 in blocks of 16 of 3 operations"
    )


def test_numbers_of_threads_are_compared_and_restored(tiny_model: VoxCPM2, monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_num_threads()
    strict = os.environ.get("MKL_CBWR") == "AUTO,STRICT"
    if strict:
        assert same_with_any_threads(tiny_model)
    monkeypatch.setattr(
        torch_ops.exact.Strategy, "apply", lambda strategy, run, rows: run(rows) + 1e-3 * torch.get_num_threads()
    )
    assert not same_with_any_threads(tiny_model)
    assert torch.get_num_threads() == before
