"""Determines whether a clip has the same bytes in any batch on this CPU, and stores the results.

When an engine starts, each operation of the model is tried (see `voxcli.kernels.exact`). The results are stored in the
user's cache folder for each processor, build of torch, number of threads and configuration of the libraries, so that
later starts are fast. They are reproducible: without the file the trials give the same results.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import nn

from voxcli.files.read import read_regular
from voxcli.files.user_dirs import cache_folder
from voxcli.kernels import exact
from voxcli.kernels.attention import decode_strategy
from voxcli.kernels.exact import PLAIN, Strategy
from voxcli.kernels.processor import identity
from voxcli.kernels.torch_ops import local_strategy, product_holds, product_strategy
from voxcli.model.transformer import QKVLinear, Transformer
from voxcli.model.voxcpm2 import VoxCPM2

FILE_NAME = "exact.json"
FORMAT = 1
MAX_BYTES, MAX_MACHINES = 1 << 20, 32
LIBRARIES = "MKL_", "ATEN_", "ONEDNN_", "DNNL_"  # prefixes of environment variables that configure the libraries
NONE = "none"
NAMES = {str(strategy): strategy for strategy in exact.STRATEGIES} | {NONE: None}
MAX_RECHECK_SIZE = 2**20  # values; the largest weight for which a start repeats a trial
THREADS = 1, 2, 3


@dataclass(frozen=True)
class Exactness:
    """The results for a model.

    strategies: for each operation, by task name; None if no strategy is exact.
    threads:    number of threads of torch.
    """

    strategies: Mapping[str, Strategy | None]
    threads: int
    dtype: torch.dtype = exact.EXACT

    @property
    def holds(self) -> bool:
        """Whether a clip has the same bytes in any batch."""
        return self.dtype == exact.EXACT and None not in self.strategies.values()

    def __str__(self) -> str:
        """Describe the result in one line."""
        counts = Counter(map(str, self.strategies.values()))
        if self.dtype != exact.EXACT:
            return f"last bits depend on the rest of the batch (in {str(self.dtype).removeprefix('torch.')})"
        if not self.holds:
            return f"last bits depend on the rest of the batch ({counts['None']} of {len(self.strategies)} operations)"
        slower = [f"{count} {strategy}" for strategy, count in counts.items() if strategy != str(PLAIN)]
        how = f", {', '.join(slower)} of {len(self.strategies)} operations" if slower else ""
        return f"alone and in any batch{how}"


def examine(model: VoxCPM2) -> Exactness:
    """Return the results for all operations of a model, which may be on the meta device, without weights."""
    threads, dtype = torch.get_num_threads(), model.dtype
    if dtype != exact.EXACT:
        return Exactness({}, threads, dtype)
    products = _products(model)
    before = exact.found(threads)
    if not all(exact.task_name(("product", *shape, dtype)) in before for shape in products):
        path, key = cache_folder() / FILE_NAME, _machine(threads)
        machines = _read(path)
        known = _parsed(machines.get(key))
        trusted = _still_holds(known, products, dtype)
        exact.remember(known if trusted else {}, threads)
        strategies = _run_trials(model, products)
        if trusted and not strategies.keys() <= known.keys():
            _write(path, machines, key, known | strategies)
    return Exactness(_run_trials(model, products), threads)


def same_with_any_threads(model: VoxCPM2) -> bool:
    """Return whether the products of a model have the same bits with one, two and three threads."""
    threads = torch.get_num_threads()
    try:
        return len({_digest(model, count) for count in THREADS}) == 1
    finally:
        torch.set_num_threads(threads)


def _digest(model: VoxCPM2, threads: int) -> str:
    torch.set_num_threads(threads)
    digest = hashlib.sha256()
    for columns, width in _products(model):
        rows = exact.trial_inputs(22, width, seed=3, spread=True).to(model.dtype)
        weight = exact.trial_inputs(columns, width, seed=2, spread=True).to(model.dtype)
        product = product_strategy(columns, width, model.dtype).apply(
            partial(nn.functional.linear, weight=weight), rows
        )
        digest.update(product.float().numpy().data)
    return digest.hexdigest()


# -- the operations of a model ------------------------------------------------------------------------------------
def _products(model: VoxCPM2) -> list[tuple[int, int]]:
    """Return the shapes, [columns, width], of all weights that rows are multiplied by."""
    shapes: dict[tuple[int, int], None] = {}
    for module in model.modules():
        if isinstance(module, nn.Linear):
            columns, width = module.weight.shape
            shapes[columns, width] = None
        if isinstance(module, QKVLinear):  # its two parts, used if only some tokens are kept
            queries, *keys = module.rows
            shapes |= {(queries, width): None, (sum(keys), width): None}
    return list(shapes)


def _attentions(model: VoxCPM2) -> Iterator[Callable[[], Strategy]]:
    patch, dtype = model.config.patch_size, model.dtype
    for causal in (model.base_lm, model.residual_lm):
        yield partial(decode_strategy, *_heads(causal), dtype)
    for local, tokens, kept in (
        (model.feat_encoder.encoder, patch + 1, 1),
        (model.feat_decoder.estimator.decoder, 2 * patch + 3, patch),
    ):
        kv_heads, groups, dim = _heads(local)
        for queries in (tokens, kept):
            yield partial(local_strategy, kv_heads, queries * groups, dim, tokens, dtype)


def _heads(transformer: Transformer) -> tuple[int, int, int]:
    """Return the number of kv heads, the query heads per kv head, and the head dimension."""
    config = transformer.config
    return config.num_kv_heads, config.num_heads // config.num_kv_heads, config.head_dim


def _run_trials(model: VoxCPM2, products: list[tuple[int, int]]) -> dict[str, Strategy | None]:
    """Try operations without a result. Returns all results for this number of threads, including other models'."""
    for shape in products:
        product_strategy(*shape, model.dtype)
    for attention in _attentions(model):
        attention()
    return exact.found(torch.get_num_threads())


# -- stored results -----------------------------------------------------------------------------------------------
def _machine(threads: int) -> str:
    """Return a digest of everything that the results depend on."""
    settings = sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith(LIBRARIES))
    parts = [identity(), torch.__version__, torch.__config__.show(), *settings, threads, exact.COUNTS, list(NAMES)]
    return hashlib.sha256("\n".join(map(str, parts)).encode(errors="surrogateescape")).hexdigest()[:16]


def _still_holds(known: Mapping[str, Strategy | None], products: list[tuple[int, int]], dtype: torch.dtype) -> bool:
    """Repeat one trial to check that the stored results are valid in this process.

    They are not in a program that used MKL before it imported this package, because MKL was configured then.
    """
    small = [shape for shape in products if shape[0] * shape[1] <= MAX_RECHECK_SIZE]
    columns, width = max(small or products, key=lambda shape: (shape[1], shape[0]))
    strategy = known.get(exact.task_name(("product", columns, width, dtype)))
    return strategy is None or product_holds(strategy, columns, width, dtype)


def _read(path: Path) -> dict[str, object]:
    """Return the stored results by machine; empty if the file is missing, damaged or in another format."""
    with suppress(OSError, ValueError, RecursionError):
        content = json.loads(read_regular(path, MAX_BYTES))
        if isinstance(content, dict) and content.get("format") == FORMAT and isinstance(content.get("machines"), dict):
            return content["machines"]
    return {}


def _parsed(stored: object) -> dict[str, Strategy | None]:
    """Return the stored results of one machine; empty if they are invalid."""
    if not isinstance(stored, dict) or not all(isinstance(name, str) and name in NAMES for name in stored.values()):
        return {}
    return {task: NAMES[name] for task, name in stored.items()}


def _write(path: Path, machines: dict[str, object], key: str, strategies: Mapping[str, Strategy | None]) -> None:
    """Store results. A failure is not reported: the trials are repeated by the next start."""
    machines.pop(key, None)
    machines[key] = {
        task: str(strategy) if strategy is not None else NONE for task, strategy in sorted(strategies.items())
    }
    latest = dict(list(machines.items())[-MAX_MACHINES:])
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=FILE_NAME, suffix=".part")
        try:
            with open(descriptor, "w", encoding="utf-8") as file:
                json.dump({"format": FORMAT, "machines": latest}, file, indent=1)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
