"""Generate the tables of the READMEs from the code. `python -m tests.readme` writes them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

from voxcli.cli.main import EXIT_CODES
from voxcli.inputs.presets import preset_folder, read_preset
from voxcli.inputs.schema import LineFields, Row, SettingFields
from voxcli.jobs.result import Result
from voxcli.jobs.settings import PAUSE_AFTER

ROOT = Path(__file__).parent.parent
MARKED = re.compile(r"<!-- table: (\w+) -->\n.*?<!-- end -->", re.DOTALL)


def rows(head: tuple[str, ...], body: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *body]
    return "\n".join(f"| {' | '.join(cells)} |".replace("| --- ", "|---").replace("--- |", "---|") for cells in lines)


def manifest() -> str:
    own = [name for name in Row.model_fields if name not in LineFields.model_fields]
    common = [name for name in LineFields.model_fields if name not in SettingFields.model_fields]
    names = [*own, *common, *SettingFields.model_fields]
    return rows(("field", "meaning"), ((f"`{name}`", _description(name)) for name in names))


def _description(name: str) -> str:
    description = Row.model_fields[name].description
    return f"{description}; default: {PAUSE_AFTER}" if name == "pause_after" else f"{description}"


def results() -> str:
    text = inspect.getdoc(Result) or ""
    described = dict(re.findall(r"^(\w+): +(.+)\.$", text, re.MULTILINE))
    return rows(
        ("field", "meaning"), ((f"`{name}`", described[name]) for name in (field.name for field in fields(Result)))
    )


def presets() -> str:
    def row(path: Path) -> tuple[str, ...]:
        preset = read_preset(str(path))
        values = ", ".join(f"`{name}` {str(value).lower()}" for name, value in preset.values().items())
        return f"`{path.stem}`", values, preset.description

    return rows(("preset", "sets", "why"), map(row, sorted(preset_folder().glob("*.yaml"))))


def exits() -> str:
    return rows(("code", "meaning"), ((str(code), meaning) for code, meaning in EXIT_CODES.items()))


TABLES = {"manifest": manifest, "results": results, "presets": presets, "exits": exits}
DOCUMENTS = {
    "README.md": ["exits"],
    "samples/README.md": ["manifest", "results"],
    "presets/README.md": ["presets"],
}


def regenerated(text: str) -> str:
    """Return a README with regenerated tables."""
    return MARKED.sub(lambda found: f"<!-- table: {found[1]} -->\n{TABLES[found[1]]()}\n<!-- end -->", text)


if __name__ == "__main__":
    for name in DOCUMENTS:
        path = ROOT / name
        path.write_text(regenerated(path.read_text(encoding="utf-8")), encoding="utf-8")
