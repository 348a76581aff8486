"""Check what is installed on this machine, what is missing, and the command that installs it."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from voxcli.errors import ModelError
from voxcli.extras import EXTRAS, install_hint, missing
from voxcli.memory import total_memory
from voxcli.model import hub as models
from voxcli.model.hub import FULL_MODEL, VARIABLE
from voxcli.terminal import counted

if TYPE_CHECKING:
    import torch

    from voxcli.model.voxcpm2 import VoxCPM2

State = Literal["ok", "note", "missing"]


@dataclass(frozen=True)
class Finding:
    """The result of one check. `remedy` is the command that installs what is missing."""

    what: str
    state: State
    detail: str
    remedy: str = ""


def examine(model: str | None = None) -> Iterator[Finding]:
    """Yield all findings in display order. Imports torch.

    model: a checkpoint folder or hub id to check; None: the default model.
    """
    yield Finding("voxcpm2", "ok", f"{_version('voxcpm2')} on Python {platform.python_version()}, {platform.system()}")
    yield from _torch()
    yield from _audio()
    yield from _extras()
    yield from _models(model)


def usable(findings: list[Finding]) -> bool:
    """Return True if speech can be made: torch and a model are available."""
    return not any(finding.state == "missing" for finding in findings)


def _torch() -> Iterator[Finding]:
    try:
        import torch
    except (ImportError, OSError) as error:
        yield Finding("torch", "missing", f"can't be imported: {error}", "pip install torch")
        return
    from voxcli.diagnostics.bench import device_name
    from voxcli.model.device import resolve_device, resolve_dtype

    built = f"CUDA {torch.version.cuda}" if torch.version.cuda else "CPU build"
    yield Finding("torch", "ok", f"{torch.__version__} ({built})")
    device = resolve_device("auto")
    dtype = str(resolve_dtype("auto", device)).removeprefix("torch.")
    yield Finding("device", "ok", f"{device}, {dtype}; {device_name(device)}")
    if device.type == "cpu" and _nvidia_driver() and not torch.version.cuda:
        yield Finding(
            "GPU", "note", "an NVIDIA driver is installed, but torch is a CPU build", "pip install --upgrade torch"
        )
    yield from _attention(device.type)


def _attention(device: str) -> Iterator[Finding]:
    """Report the attention backend that an engine would choose (see `voxcli.engine.runner.choose_attention`)."""
    if device != "cuda":
        yield Finding("attention", "ok", "torch (vLLM's kernels need a CUDA GPU)")
        return
    from voxcli.kernels.vllm_attention import VllmPagedAttention

    try:
        yield Finding("attention", "ok", f"vllm, FlashAttention {VllmPagedAttention.load().version}")
    except ImportError as error:
        yield Finding("attention", "note", f"torch; vLLM's kernels: {error}", install_hint("vllm"))


def _audio() -> Iterator[Finding]:
    try:
        import soundfile
    except (ImportError, OSError) as error:
        yield Finding("audio files", "missing", f"soundfile can't be imported: {error}", "pip install soundfile")
        return
    yield Finding("audio files", "ok", f"soundfile {soundfile.__version__}, {soundfile.__libsndfile_version__}")


def _extras() -> Iterator[Finding]:
    """Report the optional packages."""
    for extra, packages in EXTRAS.items():
        if extra == "vllm":  # reported with attention
            continue
        if lacking := missing(extra):
            yield Finding(extra, "note", f"optional; {', '.join(lacking)} not installed", install_hint(extra))
        else:
            yield Finding(extra, "ok", ", ".join(f"{package} {_version(package)}" for package in packages.values()))


def _models(model: str | None) -> Iterator[Finding]:
    speaking, chosen = "", None
    named = model or os.environ.get(VARIABLE)
    if named:
        label = "--model" if model else VARIABLE
        try:
            chosen = models.local_folder(named, label)
            speaking = named
            yield Finding(label, "ok", str(chosen))
        except ModelError as error:
            yield Finding(label, "missing", str(error))
            return
    folder = models.cached_folder(FULL_MODEL)
    problem = models.defect(folder) if folder else None
    if folder and not problem:
        yield Finding(FULL_MODEL, "ok", str(folder))
        speaking = speaking or FULL_MODEL
    else:
        detail = f"incomplete ({problem})" if folder else "not in the local cache"
        yield Finding(FULL_MODEL, "note", detail, "voxcpm2 download")
    demo = models.demo_folder()
    if demo:
        yield Finding("demo voice", "ok", str(demo))
        speaking = speaking or "the demo voice"
    else:
        yield Finding(
            "demo voice",
            "note",
            "not part of this installation",
            "reinstall from the project folder",
        )
    if speaking:
        chosen = chosen or (None if named else demo if speaking == "the demo voice" else folder)
        yield Finding("speaks with", "ok", speaking)
        if chosen:
            yield from _memory(chosen)
    else:
        yield Finding("speaks with", "missing", "no model is available", "voxcpm2 download")


def _memory(folder: Path) -> Iterator[Finding]:
    """Report the memory a model needs in each dtype, and whether this machine has enough."""
    try:
        from voxcli.model.config import read_config
        from voxcli.model.device import resolve_device, resolve_dtype
        from voxcli.model.size import GIB, OVERHEAD, count_parameters, empty_model, weight_bytes
        from voxcli.model.tokenizer import Tokenizer

        config = read_config(folder)
        Tokenizer.from_folder(folder, config.lm_config.vocab_size)
    except ModelError as error:
        yield Finding("tokenizer", "missing", str(error))
        return
    except (ImportError, OSError):  # torch; reported before
        return
    model, device, total = empty_model(config), resolve_device("auto"), total_memory()
    auto = resolve_dtype("auto", device, count_parameters(model))
    for dtype in ("float32", "bfloat16"):
        need = weight_bytes(model, resolve_dtype(dtype, device)) + OVERHEAD
        used = " (--dtype auto)" if str(auto) == f"torch.{dtype}" else ""
        fits = device.type != "cpu" or total is None or need <= total
        here = "" if total is None or device.type != "cpu" else f", {total / GIB:.1f} GiB in total"
        yield Finding("memory", "ok" if fits else "note", f"{need / GIB:.1f} GiB in {dtype}{used}{here}")
    yield _same_bytes(model, device, auto)


def _same_bytes(model: VoxCPM2, device: torch.device, dtype: torch.dtype) -> Finding:
    """Report whether a line that is spoken again gets the same bytes on this machine."""
    import torch

    from voxcli.engine.exactness import examine, same_with_any_threads

    if device.type != "cpu":
        return Finding(
            "same bytes", "note", "not guaranteed on a GPU: the last bits depend on the other lines in the batch"
        )
    exactness = examine(model.to(dtype))
    if not exactness.holds:
        wider = dtype != torch.float32 and examine(model.float()).holds
        return Finding("same bytes", "note", str(exactness), "--dtype float32" if wider else "")
    threads = "any number of threads" if same_with_any_threads(model) else counted(exactness.threads, "thread")
    return Finding("same bytes", "ok", f"{exactness}; with {threads}")


def _nvidia_driver() -> bool:
    on_windows = sys.platform == "win32" and find_spec("pynvml") is not None
    return os.path.exists("/proc/driver/nvidia/version") or on_windows


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed as a package)"
