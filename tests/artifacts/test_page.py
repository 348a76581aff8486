from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest

from tests.artifacts.lines import HOSTILE, data_of, five, page
from voxcli.artifacts.page import SCRIPTS, PageInfo


@pytest.fixture
def shown(tmp_path: Path) -> str:
    return page(tmp_path, five(tmp_path), HOSTILE).read_text(encoding="utf-8")


def test_words_of_lines_are_neither_markup_nor_script(shown: str) -> None:
    assert shown.count("<script") == 2 and shown.count("</script") == 2
    assert "<img" not in shown
    assert f"<title>{HOSTILE}</title>" not in shown and shown.count("&lt;script&gt;document.title") == 2
    assert data_of(shown)["lines"][1][:2] == ["a", HOSTILE]


def test_the_page_loads_nothing_and_runs_only_its_own_script(shown: str) -> None:
    assert not re.search(r"""(src|href)=["']?(https?:)?//|url\(|@import|\bfetch\(|XMLHttpRequest""", shown)
    policy = re.findall(r'Content-Security-Policy" content="([^"]*)"', shown)[0]
    style, script = shown.split("<style>")[1].split("</style>")[0], shown.split("<script>")[1].split("</script>")[0]
    digests = [base64.b64encode(hashlib.sha256(part.encode()).digest()).decode() for part in (style, script)]
    assert policy == (
        f"default-src 'none'; media-src 'self' file:; style-src 'sha256-{digests[0]}'; "
        f"script-src 'sha256-{digests[1]}'; base-uri 'none'; form-action 'none'"
    )


def test_verdicts_are_kept_by_the_folder_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    here = PageInfo("any", Path("speech")).identity
    assert here == PageInfo("other", tmp_path / "speech").identity == PageInfo("", Path("x/../speech")).identity
    assert here != PageInfo("any", Path("speech2")).identity
    assert re.fullmatch(r"[0-9a-f]{16}", here)
    text = page(tmp_path, five(tmp_path)).read_text(encoding="utf-8")
    assert data_of(text)["run"] == here
    assert str(tmp_path) not in text


def test_a_thousand_lines_are_less_than_a_third_of_a_megabyte(tmp_path: Path) -> None:
    made = five(tmp_path)[0]
    (empty,) = {len(page(tmp_path, [made]).read_bytes())}
    lines = [(made[0], type(made[1])(**{**vars(made[1]), "id": f"line {n}", "text": "x" * 80})) for n in range(1000)]
    assert (len(page(tmp_path, lines).read_bytes()) - empty) / 1000 < 330


def test_the_wheel_contains_the_parts_of_the_page(repository: Path) -> None:
    wheel = pytest.importorskip("hatchling.builders.wheel", reason="lists the files of the wheel")
    files = {found.distribution_path for found in wheel.WheelBuilder(str(repository)).recurse_included_files()}
    assert {f"voxcli/artifacts/desk/{name}" for name in ("page.html", "page.css", *SCRIPTS)} <= files
