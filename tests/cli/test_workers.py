"""Batches on Ray with real worker processes; workers and the driver are killed. Skipped without Ray."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import soundfile

from tests import children
from tests.cluster.pools import busiest, workers_of
from voxcli import faults
from voxcli.cli.main import run
from voxcli.cluster import options as cluster_options
from voxcli.errors import ModelNotFound

pytest.importorskip("ray", reason="needs the extra `ray`")
pytestmark = pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="looks for processes in /proc")

LINES = "lines.jsonl"
COUNT = 40
TIMES = {"wall_s": 0, "rtf": 0, "finished": 0}
WORDS = "the river ran under an old stone bridge and nobody could remember when it had been built"


def write_lines(folder: Path, count: int = COUNT) -> None:
    for name, pitch in (("low", 20.0), ("high", 9.0)):
        tone = 0.3 * np.sin(np.arange(16_000 * 2) / pitch).astype(np.float32)
        soundfile.write(folder / f"{name}.wav", tone, 16_000)
    rows: list[dict[str, Any]] = []
    for n in range(count):
        row: dict[str, Any] = {"id": f"line-{n}", "text": f"{' '.join(WORDS.split()[: 2 + n % 9])} {n}.", "seed": n}
        row |= [{}, {"ref": "low.wav"}, {}, {"prompt_audio": "high.wav", "prompt_text": "So it says."}][n % 4]
        rows.append(row | {"steps": 2, "max_seconds": 1.0})
    (folder / LINES).write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, tiny_checkpoint: Path) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Files and results, by id, of a batch in this process, without workers."""
    folder = tmp_path_factory.mktemp("plain")
    write_lines(folder)
    arguments = ["batch", str(folder / LINES), "-o", str(folder / "out"), "--allow-truncated"]
    assert run([*arguments, "--model", str(tiny_checkpoint)]) == 0
    return files(folder / "out"), results(folder / "out")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repository: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(repository))
    write_lines(tmp_path)


def files(out: Path) -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in out.rglob("*.wav")}


def results(out: Path) -> dict[str, Any]:
    """Results by id. An incomplete last line is ignored: the file may be in the middle of a write."""
    found: dict[str, Any] = {}
    path = out / "results.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []:
        if line.endswith("\n"):
            result = json.loads(line)
            assert result["id"] not in found, "each line is recorded once"
            found[result["id"]] = result | TIMES
    return found


def start(model: Path, *options: str, **environment: str) -> subprocess.Popen[str]:
    command = [*children.VOXCPM2, "batch", LINES, "-o", "out", "--allow-truncated", *options]
    values = os.environ | {"VOXCPM2_MODEL": str(model)} | environment
    return children.start(command, stderr=subprocess.PIPE, env=values)


def finish(process: subprocess.Popen[str], code: int = 0) -> str:
    err = process.communicate(timeout=300)[1]
    assert process.returncode == code, err
    assert "Traceback" not in err and "raylet" not in err
    return err


def wait_for(count: int, process: subprocess.Popen[str]) -> None:
    while process.poll() is None and len(results(Path("out"))) < count:
        time.sleep(0.002)


def ended(process: int) -> bool:
    """Return True if a process has ended or is a zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def check(plain: tuple[dict[str, bytes], dict[str, Any]], *besides: str) -> None:
    out = Path("out")
    assert files(out) == plain[0]
    found = results(out)
    assert {name: found[name] for name in plain[1]} == plain[1]
    assert found.keys() - plain[1].keys() == set(besides)
    there = {path.name for path in out.rglob("*") if path.is_file()}
    assert there == {"results.jsonl", *(f"{name}.wav" for name in plain[0])}, "no temporary file is left"


def test_two_workers_one_of_which_is_killed_make_the_files_of_one_process(
    plain: tuple[dict[str, bytes], dict[str, Any]], tiny_checkpoint: Path
) -> None:
    with start(tiny_checkpoint, "--workers", "2", "--max-batch", "4") as process:
        wait_for(4, process)
        os.kill(busiest(process.pid), signal.SIGKILL)
        err = finish(process)
    check(plain)
    lines = err.splitlines()
    assert "voxcpm2: 2 workers with 1 thread each" in lines[:3]
    (died,) = [line for line in lines if " died: " in line]
    assert died.startswith("voxcpm2: worker ") and "its process ended; its " in died
    assert any(line.startswith(f"{COUNT} of {COUNT} lines done, 0 failed") for line in lines)
    assert f"{tiny_checkpoint} on cpu, float32, 2 workers)" in err


@pytest.mark.slow
def test_two_workers_keep_the_voice_of_a_batch(tiny_checkpoint: Path, tmp_path: Path) -> None:
    """The first line long enough is spoken by one of them; the others get its voice, also after a kill."""
    rows = [{"id": f"{n}", "text": f"{' '.join(WORDS.split()[: 2 + n % 12])} {n}.", "seed": n} for n in range(16)]
    (tmp_path / LINES).write_text("\n".join(json.dumps(row | {"steps": 2, "max_seconds": 1.0}) for row in rows))
    options = ["--same-voice", "--allow-truncated", "--model", str(tiny_checkpoint)]
    assert run(["batch", LINES, "-o", "one", *options]) == 0
    with start(tiny_checkpoint, "--same-voice", "--workers", "2", "--max-batch", "2") as process:
        wait_for(6, process)
        process.kill()
    for path in Path("out").glob(".voxcpm2-*.part"):
        os.utime(path, (0, 0))
    with start(tiny_checkpoint, "--workers", "2", "--max-batch", "2") as process:
        finish(process)
    assert files(Path("out")) == files(Path("one")) and len(files(Path("one"))) == 16
    assert Path("out/voice.safetensors").read_bytes() == Path("one/voice.safetensors").read_bytes()
    assert {result["voice"] for result in results(Path("out")).values()} == {"voice.safetensors"}


@pytest.mark.slow
def test_a_worker_that_hangs_is_replaced(plain: tuple[dict[str, bytes], dict[str, Any]], tiny_checkpoint: Path) -> None:
    with start(tiny_checkpoint, "--workers", "2", "--max-batch", "4", "--hang-timeout", "5") as process:
        wait_for(4, process)
        hung = busiest(process.pid)
        os.kill(hung, signal.SIGSTOP)
        err = finish(process)
    check(plain)
    (died,) = [line for line in err.splitlines() if " died: " in line]
    assert f"(process {hung} on " in died and "it made no progress for 5 s; its " in died
    while not ended(hung):  # pytest-timeout ends a test that hangs here
        time.sleep(0.01)


class Cluster(NamedTuple):
    """process: the one that started it.  cache: the model cache of its machines."""

    address: str
    process: int
    cache: Path


CLUSTER = """
import logging, os, sys, warnings
warnings.simplefilter("ignore")
os.environ["RAY_AUTH_MODE"] = "disabled"  # newer versions of Ray would accept connections from this process only
import ray
ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.CRITICAL,
         object_store_memory=100 << 20)
print(ray.get_runtime_context().gcs_address, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Iterator[Cluster]:
    """A cluster whose workers die at a line with the word poison and do not share the output folder."""
    environment = os.environ | {
        "PYTHONPATH": str(repository),
        "RAY_USAGE_STATS_ENABLED": "0",
        faults.VARIABLE: "line:sigkill:@poison,probe:enoent",
        "HF_HUB_CACHE": str(tmp_path_factory.mktemp("hub")),
        "HF_HUB_OFFLINE": "1",
    }
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with children.start([sys.executable, "-c", CLUSTER], env=environment, **pipes) as process:
        address = process.stdout.readline().strip()  # type: ignore[union-attr]
        yield Cluster(address, process.pid, Path(environment["HF_HUB_CACHE"]))
        process.communicate("")


@pytest.mark.slow
def test_a_poisonous_line_is_named_and_the_others_come_as_bytes(
    plain: tuple[dict[str, bytes], dict[str, Any]], tiny_checkpoint: Path, cluster: Cluster
) -> None:
    with open(LINES, "a", encoding="utf-8") as file:
        file.write('\n{"id": "bad", "text": "This line is poison."}')
    # a quarter of three rows is no row: after one death all lines run alone
    options = ("--ray-address", cluster.address, "--workers", "2", "--max-retries", "1", "--max-batch", "3")
    with start(tiny_checkpoint, *options) as process:
        err = finish(process, code=1)
    check(plain, "bad")
    assert f"voxcpm2: line {COUNT + 1} (bad): its worker died 2 times while it was spoken\n" in err
    assert results(Path("out"))["bad"]["status"] == "failed"
    assert err.count(" died: its process ended") == 2


@pytest.mark.slow
def test_a_driver_that_is_killed_or_terminated_goes_on_with_the_same_command(
    plain: tuple[dict[str, bytes], dict[str, Any]],
    tiny_checkpoint: Path,
    cluster: Cluster,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The last run uses no workers: results do not depend on what made them."""
    before = 0
    for end, code in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 143)):
        with start(tiny_checkpoint, "--ray-address", cluster.address, "--workers", "1", "--max-batch", "2") as process:
            wait_for(before + 5, process)
            process.send_signal(end)
            err = process.communicate(timeout=60)[1]
        assert process.returncode == code, err
        assert end == signal.SIGKILL or err.splitlines()[-1] == "voxcpm2: terminated"
        done = results(Path("out"))
        assert before + 5 <= len(done) < COUNT
        assert all(plain[0][name] == Path("out", f"{name}.wav").read_bytes() for name in done)
        before = len(done)
    for path in Path("out").glob(".voxcpm2-*.part"):
        os.utime(path, (0, 0))  # old enough to count as left by a killed run
    assert run(["batch", LINES, "-o", "out", "--allow-truncated", "--model", str(tiny_checkpoint)]) == 0
    assert f"{before} lines done before and unchanged, {COUNT - before} to speak" in capsys.readouterr().err
    check(plain)
    deadline = time.monotonic() + 30
    while (left := workers_of(cluster.process)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left, "workers end with their driver"


NODES = """
import sys, warnings
warnings.simplefilter("ignore")
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 100 << 20})
second = cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
cluster.wait_for_nodes()
print(cluster.address, flush=True)
sys.stdin.readline()
cluster.remove_node(second, allow_graceful=False)
print("gone", flush=True)
sys.stdin.read()
cluster.shutdown()
"""


@pytest.mark.long
def test_a_machine_that_is_lost_costs_nothing_but_time(
    plain: tuple[dict[str, bytes], dict[str, Any]], tiny_checkpoint: Path, repository: Path
) -> None:
    """A cluster of two nodes on this machine: one is removed together with its worker and not replaced."""
    environment = os.environ | {"PYTHONPATH": str(repository), "RAY_USAGE_STATS_ENABLED": "0"}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with children.start([sys.executable, "-c", NODES], env=environment, **pipes) as nodes:
        address = nodes.stdout.readline().strip()  # type: ignore[union-attr]
        with start(tiny_checkpoint, "--ray-address", address, "--workers", "2", "--max-batch", "2") as process:
            wait_for(6, process)
            nodes.stdin.write("\n")  # type: ignore[union-attr]
            nodes.stdin.flush()  # type: ignore[union-attr]
            assert nodes.stdout.readline() == "gone\n"  # type: ignore[union-attr]
            err = finish(process)
        nodes.communicate("")
    check(plain)
    assert err.count(" died: ") == 1


@pytest.mark.slow
def test_a_model_is_fetched_on_every_machine_that_lacks_it(tiny_checkpoint: Path, cluster: Cluster) -> None:
    kept = cluster.cache / "models--own--tiny"
    (kept / "refs").mkdir(parents=True)
    (kept / "refs" / "main").write_text("0" * 40)
    shutil.copytree(tiny_checkpoint, kept / "snapshots" / ("0" * 40))
    command = [*children.VOXCPM2, "download", "--ray-address", cluster.address, "own/tiny"]
    done = children.finished(command, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    machine, folder = done.stdout.strip().split(": ")
    assert folder == str(kept / "snapshots" / ("0" * 40))
    assert done.stderr == "voxcpm2: downloading own/tiny on 1 machine; machines that have it are skipped\n"
    assert machine


def test_machines_that_can_not_fetch_a_model_are_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from voxcli.cluster import ray_pool

    found = {"a (10.0.0.1)": Path("/cache/model"), "b (10.0.0.2)": ModelNotFound("no network")}
    monkeypatch.setattr(ray_pool, "fetch_everywhere", lambda address, model, notify: found)
    assert run(["download", "some/model", "--ray-address", "auto"]) == 3
    captured = capsys.readouterr()
    assert captured.out == "a (10.0.0.1): /cache/model\n"
    assert captured.err == "voxcpm2: b (10.0.0.2): no network\nvoxcpm2: 1 of 2 machines could not download some/model\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workers", "0"], "voxcpm2: --workers must be a number from 1 on, or auto, not '0'\n"),
        (["--workers", "many"], "voxcpm2: --workers must be a number from 1 on, or auto, not 'many'\n"),
        (["--ray-address", "ray://a:1"], "voxcpm2: --ray-address must be HOST:PORT or auto, on a machine of the"),
        (["--max-retries", "5"], "voxcpm2: --max-retries needs --workers or --ray-address"),
    ],
)
def test_invalid_worker_options_are_refused(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["batch", LINES, "-o", "out", *options]) == 2
    assert capsys.readouterr().err.startswith(message)


def test_a_cluster_that_does_not_answer_is_reported_in_one_line(tiny_checkpoint: Path) -> None:
    err = finish(start(tiny_checkpoint, "--ray-address", "127.0.0.1:1"), code=2)
    assert err.splitlines()[-1].startswith("voxcpm2: no Ray cluster answers at 127.0.0.1:1: ConnectionRefusedError: ")
    assert err.endswith("; `ray start --head` makes this machine one\n") and err.count("\n") == 3


def test_without_ray_one_line_says_how_to_get_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_options, "missing", lambda extra: ["ray"])
    for command in (["batch", LINES, "-o", "out", "--workers", "2"], ["download", "--ray-address", "auto"]):
        assert run(command) == 2
        assert capsys.readouterr().err == "voxcpm2: several workers need one more package: pip install ray\n"
    assert not Path("out").exists()
