"""Whether a clip has the same bytes beside any others on this CPU, and what came out of that question here before.

The question is asked of each operation of a model (see `voxcli.kernels.exact`) when an engine starts. The answers are
kept in the user's cache folder for each processor, build of torch, number of threads and setting of the libraries, so
that they cost nothing later and are the same in every run. Without that file they come out the same again.
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
from voxcli.kernels.attention import decode_way
from voxcli.kernels.exact import AS_THEY_ARE, Way
from voxcli.kernels.processor import identity
from voxcli.kernels.torch_ops import local_way, product_holds, product_way
from voxcli.model.transformer import QKVLinear, Transformer
from voxcli.model.voxcpm2 import VoxCPM2

FILE_NAME = "exact.json"
FORMAT = 1
MAX_BYTES, MAX_MACHINES = 1 << 20, 32
LIBRARIES = "MKL_", "ATEN_", "ONEDNN_", "DNNL_"  # what their settings begin with, in the environment
NONE = "none"
NAMES = {str(way): way for way in exact.WAYS} | {NONE: None}
SENSITIVE = 2**20  # numbers in the largest weight that a start tries again
THREADS = 1, 2, 3


@dataclass(frozen=True)
class Exactness:
    """ways: for each operation of a model, by its name; None where no way holds.  threads: that torch has."""

    ways: Mapping[str, Way | None]
    threads: int
    dtype: torch.dtype = exact.EXACT

    @property
    def holds(self) -> bool:
        return self.dtype == exact.EXACT and None not in self.ways.values()

    def __str__(self) -> str:
        """For people, in a line."""
        counts = Counter(map(str, self.ways.values()))
        if self.dtype != exact.EXACT:
            return f"last bits depend on what is spoken beside it (in {str(self.dtype).removeprefix('torch.')})"
        if not self.holds:
            return f"last bits depend on what is spoken beside it ({counts['None']} of {len(self.ways)} operations)"
        slower = [f"{count} {way}" for way, count in counts.items() if way != str(AS_THEY_ARE)]
        how = f", {', '.join(slower)} of {len(self.ways)} operations" if slower else ""
        return f"alone and in any batch{how}"


def examine(model: VoxCPM2) -> Exactness:
    """Ask about every operation of a model, which may be without weights (on the meta device)."""
    threads, dtype = torch.get_num_threads(), model.dtype
    if dtype != exact.EXACT:
        return Exactness({}, threads, dtype)
    products = _products(model)
    before = exact.found(threads)
    if not all(exact.task_name(("product", *shape, dtype)) in before for shape in products):
        path, key = cache_folder() / FILE_NAME, _machine(threads)
        machines = _read(path)
        known = _ways(machines.get(key))
        trusted = _still_holds(known, products, dtype)
        exact.remember(known if trusted else {}, threads)
        ways = _ask(model, products)
        if trusted and not ways.keys() <= known.keys():
            _write(path, machines, key, known | ways)
    return Exactness(_ask(model, products), threads)


def same_with_any_threads(model: VoxCPM2) -> bool:
    """Whether the products of a model come out the same with one, two and three threads."""
    threads = torch.get_num_threads()
    try:
        return len({_digest(model, count) for count in THREADS}) == 1
    finally:
        torch.set_num_threads(threads)


def _digest(model: VoxCPM2, threads: int) -> str:
    torch.set_num_threads(threads)
    digest = hashlib.sha256()
    for columns, width in _products(model):
        rows = exact.numbers(22, width, seed=3, spread=True).to(model.dtype)
        weight = exact.numbers(columns, width, seed=2, spread=True).to(model.dtype)
        product = product_way(columns, width, model.dtype).apply(partial(nn.functional.linear, weight=weight), rows)
        digest.update(product.float().numpy().data)
    return digest.hexdigest()


# -- the operations of a model ------------------------------------------------------------------------------------
def _products(model: VoxCPM2) -> list[tuple[int, int]]:
    """Shapes of all weights that rows are multiplied by."""
    shapes: dict[tuple[int, int], None] = {}
    for module in model.modules():
        if isinstance(module, nn.Linear):
            columns, width = module.weight.shape
            shapes[columns, width] = None
        if isinstance(module, QKVLinear):  # its two parts, where only some of the tokens are wanted
            queries, *keys = module.rows
            shapes |= {(queries, width): None, (sum(keys), width): None}
    return list(shapes)


def _attentions(model: VoxCPM2) -> Iterator[Callable[[], Way]]:
    patch, dtype = model.config.patch_size, model.dtype
    for causal in (model.base_lm, model.residual_lm):
        yield partial(decode_way, *_heads(causal), dtype)
    for local, tokens, kept in (
        (model.feat_encoder.encoder, patch + 1, 1),
        (model.feat_decoder.estimator.decoder, 2 * patch + 3, patch),
    ):
        kv_heads, groups, dim = _heads(local)
        for queries in (tokens, kept):
            yield partial(local_way, kv_heads, queries * groups, dim, tokens, dtype)


def _heads(transformer: Transformer) -> tuple[int, int, int]:
    """Key heads, query heads that share one, and their width."""
    config = transformer.config
    return config.num_kv_heads, config.num_heads // config.num_kv_heads, config.head_dim


def _ask(model: VoxCPM2, products: list[tuple[int, int]]) -> dict[str, Way | None]:
    """All answers for this number of threads, those of other models included."""
    for shape in products:
        product_way(*shape, model.dtype)
    for attention in _attentions(model):
        attention()
    return exact.found(torch.get_num_threads())


# -- what came out before -----------------------------------------------------------------------------------------
def _machine(threads: int) -> str:
    """A digest of all that the answers depend on."""
    settings = sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith(LIBRARIES))
    parts = [identity(), torch.__version__, torch.__config__.show(), *settings, threads, exact.COUNTS, list(NAMES)]
    return hashlib.sha256("\n".join(map(str, parts)).encode(errors="surrogateescape")).hexdigest()[:16]


def _still_holds(known: Mapping[str, Way | None], products: list[tuple[int, int]], dtype: torch.dtype) -> bool:
    """Try one of the answers again: a program that multiplied before it imported this package has another MKL."""
    small = [shape for shape in products if shape[0] * shape[1] <= SENSITIVE]
    columns, width = max(small or products, key=lambda shape: (shape[1], shape[0]))
    way = known.get(exact.task_name(("product", columns, width, dtype)))
    return way is None or product_holds(way, columns, width, dtype)


def _read(path: Path) -> dict[str, object]:
    """What the file has on each machine; nothing where it is broken, for another version, or not there."""
    with suppress(OSError, ValueError, RecursionError):
        content = json.loads(read_regular(path, MAX_BYTES))
        if isinstance(content, dict) and content.get("format") == FORMAT and isinstance(content.get("machines"), dict):
            return content["machines"]
    return {}


def _ways(answers: object) -> dict[str, Way | None]:
    if not isinstance(answers, dict) or not all(isinstance(name, str) and name in NAMES for name in answers.values()):
        return {}
    return {task: NAMES[name] for task, name in answers.items()}


def _write(path: Path, machines: dict[str, object], key: str, ways: Mapping[str, Way | None]) -> None:
    """Nothing is reported where it can't be kept: it is found out again."""
    machines.pop(key, None)
    machines[key] = {task: str(way) if way is not None else NONE for task, way in sorted(ways.items())}
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
