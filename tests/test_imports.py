"""Rooms (subpackages) import only rooms below them:

    {cli -> {server, cluster, diagnostics}, api}; server -> cluster -> run; api -> run; diagnostics -> jobs
    run -> {artifacts, inputs, check} -> jobs -> voices -> engine -> model -> kernels

text, audio, files, terminal, interrupts, memory, errors, extras and faults are leaves for all rooms, with exceptions:
model and engine do not import text and audio, and kernels imports only errors. The lengths of files and of parameter
lists are limited, and no modules import each other.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "voxcli"

LEAVES = {"text", "audio", "files", "terminal", "interrupts", "memory", "errors", "extras", "faults"}
# leaves that the engine's rooms and other leaves may import
BELOW = {"errors", "extras", "faults", "files", "interrupts", "memory", "terminal"}
KERNELS = {"kernels", "errors"}
MODEL = {"model", *KERNELS, *BELOW}
ENGINE = {"engine", *MODEL}
VOICES = {"voices", *ENGINE, *LEAVES}
JOBS = {"jobs", *VOICES}
RUN = {"run", "artifacts", "inputs", "check", *JOBS}
ALLOWED = {
    "cli": {"cli", "server", "cluster", "diagnostics", *RUN},
    "api": {"api", *RUN},
    "server": {"server", "cluster", *RUN},
    "cluster": {"cluster", *RUN},
    "diagnostics": {"diagnostics", *JOBS},
    "run": RUN,
    "artifacts": {"artifacts", *JOBS},
    "inputs": {"inputs", *JOBS},
    "check": {"check", *JOBS},
    "jobs": JOBS,
    "voices": VOICES,
    "engine": ENGINE,
    "model": MODEL,
    "kernels": KERNELS,
    "text": {"text", "errors", "extras"},
    "audio": {"audio", *BELOW},
    "files": {"files", *BELOW},
    "terminal": {"errors"},
    "errors": set(),
    "extras": set(),
    "faults": set(),
    "interrupts": set(),
    "memory": set(),
    "__main__": {"cli", "interrupts"},
    "__init__": {"api", "check", "engine", "model", "errors"},
}
HEAVY = {"torch", "vllm", "triton", "safetensors", "tokenizers", "transformers", "huggingface_hub"}
WITHOUT_TORCH = {"inputs", "artifacts", *LEAVES}


ROOMS = {"voxcli", *(f"voxcli.{path.parent.name}" for path in PACKAGE.glob("*/__init__.py"))}


def sources() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "demo_voice" not in path.parts)


def imports(source: str) -> Iterator[tuple[str, int]]:
    """Yield the full names of imported modules with their lines, including imports inside functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import"
            if node.module in ROOMS:
                yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)
            elif node.module:
                yield node.module, node.lineno


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def wrong_edges(part: str, source: str) -> list[str]:
    wrong = []
    for module, line in imports(source):
        top, _, rest = module.partition(".")
        target = rest.partition(".")[0]
        allowed = ALLOWED[part]
        if top == "voxcli" and target and target not in allowed:
            wrong.append(f"line {line}: {part} imports {module}")
        if top in HEAVY and part in WITHOUT_TORCH:
            wrong.append(f"line {line}: {part} imports {module}")
    return wrong


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_rooms_import_only_rooms_below(path: Path) -> None:
    assert wrong_edges(part_of(path), path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("part", "source", "wrong"),
    [
        ("text", "import torch", ["line 1: text imports torch"]),
        ("audio", "def f():\n    from torch import nn", ["line 2: audio imports torch"]),
        ("model", "from voxcli.engine.engine import Engine", ["line 1: model imports voxcli.engine.engine"]),
        ("engine", "from voxcli import run", ["line 1: engine imports voxcli.run"]),
        ("artifacts", "from voxcli.inputs import schema", ["line 1: artifacts imports voxcli.inputs.schema"]),
        ("inputs", "from voxcli.run import session", ["line 1: inputs imports voxcli.run.session"]),
        ("inputs", "from voxcli.run.session import Session", ["line 1: inputs imports voxcli.run.session"]),
        ("inputs", "from voxcli.jobs.job import Job\nfrom voxcli.jobs import settings", []),
        ("run", "import torch\nfrom voxcli.model.prompt import Prompt", []),
    ],
)
def test_a_wrong_import_is_found(part: str, source: str, wrong: list[str]) -> None:
    assert wrong_edges(part, source) == wrong


def circles(edges: Mapping[str, Set[str]]) -> list[str]:
    """Return the modules that import each other, directly or through others."""
    left = {name: set(targets) for name, targets in edges.items()}
    while True:
        imported = set().union(*left.values())
        kept = {name: targets & left.keys() for name, targets in left.items() if targets and name in imported}
        if kept == left:
            return sorted(left)
        left = kept


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def edges_of(source: str, modules: Set[str]) -> set[str]:
    """Return the modules that a source imports, also for its types only."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inner if inner & modules else {node.module}
    return found & modules


def test_no_modules_import_each_other() -> None:
    modules = {module_of(path): path.read_text(encoding="utf-8") for path in sources()}
    assert circles({name: edges_of(source, modules.keys()) for name, source in modules.items()}) == []


def test_circles_are_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": set()}) == circles({}) == []
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == ["b", "c"]
    source = "if TYPE_CHECKING:\n    from a import b\ndef f():\n    import c\nfrom a.d import E"
    assert edges_of(source, {"a", "a.b", "c", "a.d"}) == {"a.b", "c", "a.d"}


MAX_PARAMETERS, MAX_LINES, MAX_RUN_MODULES = 8, 450, 15


def too_long(path: Path, source: str) -> list[str]:
    """Return the violations of the limits: functions with too many parameters and a file with too many lines.

    Commands, which have the name of their module and whose parameters are options, and Triton kernels are exempt.
    """
    lines = source.count("\n")
    found = [f"{lines} lines"] if lines > MAX_LINES else []
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    for node in sorted(functions, key=lambda node: node.lineno):
        is_command = path.parent.name == "cli" and node.name == path.stem
        is_kernel = any(ast.unparse(decorator).startswith("triton.jit") for decorator in node.decorator_list)
        every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
        count = sum(each is not None and each.arg not in ("self", "cls") for each in every)
        if count > MAX_PARAMETERS and not is_command and not is_kernel:
            found.append(f"line {node.lineno}: {node.name} has {count} parameters")
    return found


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_functions_and_files_are_within_the_limits(path: Path) -> None:
    assert too_long(path, path.read_text(encoding="utf-8")) == []


def test_violations_of_the_limits_are_found() -> None:
    nine = "(a, b, c, /, d, *e, f, g, h, **i)"
    source = f"class A:\n    def f{nine}: ...\n\n    def g(self, a, b, c, d, e, f, g, h): ...\ndef batch{nine}: ...\n"
    kernel = f"@triton.jit(do_not_specialize=['a'])\ndef k{nine}: ...\n"
    found = ["line 2: f has 9 parameters"]
    assert too_long(PACKAGE / "cli" / "batch.py", source + kernel) == found
    assert too_long(PACKAGE / "run" / "batch.py", source) == [*found, "line 5: batch has 9 parameters"]
    assert too_long(PACKAGE / "cli" / "batch.py", "\n" * 451) == ["451 lines"]
    assert too_long(PACKAGE / "cli" / "batch.py", "\n" * 450) == []


def test_the_number_of_modules_in_run_is_limited() -> None:
    modules = {path.stem for path in (PACKAGE / "run").glob("*.py")} - {"__init__"}
    assert len(modules) <= MAX_RUN_MODULES, sorted(modules)


@pytest.mark.parametrize(
    "module",
    [
        "voxcli",
        "voxcli.cli.main",
        "voxcli.errors",
        "voxcli.text.clean",
        "voxcli.audio.read",
        "voxcli.audio.write",
        "voxcli.inputs.manifest",
        "voxcli.jobs.plan",
        "voxcli.run.batch",
    ],
)
def test_these_modules_do_not_import_torch(module: str) -> None:
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PACKAGE.parent)


def test_help_imports_nothing_slow() -> None:
    code = (
        "import sys\nfrom voxcli.cli.main import run\nrun(['--help'])\n"
        "slow = {'torch', 'numpy', 'pydantic', 'rich', 'yaml', 'soundfile', 'huggingface_hub'} & sys.modules.keys()\n"
        "sys.exit(f'loaded {slow}, {len(sys.modules)} modules' if slow or len(sys.modules) > 250 else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PACKAGE.parent, stdout=subprocess.DEVNULL)
