"""What came out about exactness is kept, is the same without being kept, and is not believed where it is wrong."""

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
from voxcli.kernels.exact import AS_THEY_ARE, WAYS, Way
from voxcli.model.voxcpm2 import VoxCPM2
from voxcli.model.weights import load_model


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of its own, and nothing found in this process."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(exact, "_found", {})
    monkeypatch.setattr(exact, "_remembered", {})
    yield tmp_path / "voxcpm2" / FILE_NAME


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> list[Way]:
    """The ways that are tried, in order."""
    tried: list[Way] = []
    holds = exact.holds

    def counted(way: Way, *values: object, **named: object) -> bool:
        tried.append(way)
        return holds(way, *values, **named)  # type: ignore[arg-type]

    for module in (exact, torch_ops.exact, attention.exact):
        monkeypatch.setattr(module, "holds", counted)
    return tried


def again() -> None:
    """As in another process."""
    exact.forget()


def test_every_product_and_attention_of_the_model_is_asked_about(tiny_model: VoxCPM2) -> None:
    ways = examine(tiny_model).ways
    assert set(exact.found(torch.get_num_threads())) == set(ways)
    clips = run(Engine(tiny_model), [request(tiny_model, "r", "hello", layout="both", seed=1, max_len=4)])
    assert clips["r"].audio is not None
    assert set(exact.found(torch.get_num_threads())) == set(ways), "an operation was not known before it ran"


def test_what_came_out_is_kept_and_only_one_answer_is_tried_again(
    tiny_model: VoxCPM2, file: Path, trials: list[Way]
) -> None:
    first = examine(tiny_model)
    assert len(trials) >= len(first.ways)
    again()
    trials.clear()
    assert examine(tiny_model) == first
    assert len(trials) == 1
    trials.clear()
    assert examine(tiny_model) == first, "in the same process"
    assert not trials
    assert [path.name for path in file.parent.iterdir()] == [FILE_NAME]


def test_without_the_file_the_same_comes_out(tiny_model: VoxCPM2, file: Path) -> None:
    first = examine(tiny_model)
    file.unlink()
    again()
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
    ids=["empty", "torn", "no text", "a list", "deep", "no machines", "machines in a list", "of later", "huge"],
)
def test_a_broken_file_is_ignored_and_replaced(tiny_model: VoxCPM2, file: Path, content: bytes) -> None:
    expected = examine(tiny_model)
    file.write_bytes(content)
    again()
    assert examine(tiny_model) == expected
    assert json.loads(file.read_bytes())["format"] == 1


@pytest.mark.parametrize("answers", [None, 7, {"product 2 3": "sideways"}, {"product 2 3": 4}])
def test_answers_that_are_none_are_ignored(tiny_model: VoxCPM2, file: Path, answers: object) -> None:
    expected = examine(tiny_model)
    content = json.loads(file.read_bytes())
    content["machines"] = dict.fromkeys(content["machines"], answers)
    file.write_text(json.dumps(content))
    again()
    assert examine(tiny_model) == expected


def test_a_folder_that_cannot_be_made_costs_nothing(
    tiny_model: VoxCPM2, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a file"))
    assert examine(tiny_model).ways


def test_other_settings_and_threads_are_other_machines(
    tiny_model: VoxCPM2, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    examine(tiny_model)
    monkeypatch.setenv("MKL_SOMETHING", "else")
    again()
    examine(tiny_model)
    assert len(json.loads(file.read_bytes())["machines"]) == 2


def test_the_file_stays_small(tiny_model: VoxCPM2, file: Path) -> None:
    file.parent.mkdir()
    old = {f"machine {n}": {"product 2 3 torch.float32": "as they are"} for n in range(500)}
    file.write_text(json.dumps({"format": 1, "machines": old}))
    examine(tiny_model)
    machines = list(json.loads(file.read_bytes())["machines"])
    assert len(machines) == exactness.MAX_MACHINES
    assert machines[:-1] == list(old)[-exactness.MAX_MACHINES + 1 :]


def depends_on_rows(way: Way, columns: int, width: int, dtype: torch.dtype) -> bool:
    return way.blocks


def test_what_no_longer_holds_is_neither_believed_nor_kept(
    tiny_model: VoxCPM2, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a program that multiplied before it imported the package: its MKL is set otherwise than the environment."""
    before = examine(tiny_model)
    kept = file.read_bytes()
    products = {name for name in before.ways if name.startswith("product")}
    again()
    for module in (exactness, torch_ops):
        monkeypatch.setattr(module, "product_holds", depends_on_rows)
    expected = {name: next(way for way in WAYS if way.blocks) for name in products}
    ways = examine(tiny_model).ways
    assert {name: ways[name] for name in products} == (
        expected if AS_THEY_ARE in before.ways.values() else {name: before.ways[name] for name in products}
    )
    assert file.read_bytes() == kept


def test_where_no_way_holds_one_line_says_so_and_no_clip_claims_it(
    tiny_model: VoxCPM2, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch_ops, "product_holds", lambda *values: False)
    remarks: list[str] = []
    engine = Engine(tiny_model, notify=remarks.append)
    assert not engine.exact
    [remark] = remarks
    products = sum(name.startswith("product") for name in examine(tiny_model).ways)
    assert remark == (
        "the same seed gives the same speech here, but its last bits depend on what is spoken beside it "
        f"({products} of {len(examine(tiny_model).ways)} operations)"
    )
    clips = run(engine, [request(tiny_model, "r", "hello", seed=1, max_len=4)])
    assert clips["r"].audio is not None
    assert not clips["r"].exact


def test_in_16_bit_nothing_is_claimed_and_nothing_tried(tiny_checkpoint: Path, file: Path, trials: list[Way]) -> None:
    """Rows of its products pass the trials, and clips still differ beside others."""
    model = load_model(tiny_checkpoint, device="cpu", dtype="bfloat16")
    remarks: list[str] = []
    engine = Engine(model, notify=remarks.append)
    assert remarks == [
        "the same seed gives the same speech here, but its last bits depend on what is spoken beside it (in bfloat16)"
    ]
    clips = run(engine, [request(model, "r", "hello", seed=1, max_len=4)])
    assert clips["r"].audio is not None
    assert not clips["r"].exact
    assert {way for name, way in exact.found(torch.get_num_threads()).items() if "bfloat16" in name} == set()
    assert not file.exists()


def test_a_clip_is_exact_unless_it_had_to_give_way(tiny_model: VoxCPM2) -> None:
    requests = [request(tiny_model, f"r{n}", "hello world", seed=n, min_len=30, max_len=31) for n in range(3)]
    assert all(clip.exact for clip in run(Engine(tiny_model), requests).values())
    engine = Engine(tiny_model, EngineConfig(max_batch=3, pages=7))
    clips = run(engine, requests)
    assert engine.counters.preemptions
    assert {clip.exact for clip in clips.values()} == {True, False}
    assert clips["r0"].exact, "the eldest never gives way"


def test_lines_for_people() -> None:
    blocks = Way(16, blocks=True)
    assert str(exactness.Exactness({"a": AS_THEY_ARE}, 1)) == "alone and in any batch"
    assert str(exactness.Exactness({"a": blocks, "b": AS_THEY_ARE, "c": blocks}, 1)) == (
        "alone and in any batch, 2 in blocks of 16 of 3 operations"
    )


def test_threads_are_compared_and_put_back(tiny_model: VoxCPM2, monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_num_threads()
    strict = os.environ.get("MKL_CBWR") == "AUTO,STRICT"
    if strict:
        assert same_with_any_threads(tiny_model)
    monkeypatch.setattr(torch_ops.exact.Way, "apply", lambda way, run, rows: run(rows) + 1e-3 * torch.get_num_threads())
    assert not same_with_any_threads(tiny_model)
    assert torch.get_num_threads() == before
