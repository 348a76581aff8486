from __future__ import annotations

import re
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from tests.artifacts.browser import BROWSER, DRIVER, MISSING, Browser
from voxcli.artifacts.page import BARS, render, write_page
from voxcli.audio.peaks import peaks
from voxcli.errors import AudioError
from voxcli.jobs.job import Job
from voxcli.jobs.result import Result

RATE = 16_000
HOSTILE = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">&amp; ' \" </td>"


def line(folder: Path, identity: str, text: str, seconds: float = 0.0, **values: Any) -> tuple[Job, Result]:
    """Make a finished line with its file, or a failed one without."""
    out = folder / "speech" / f"{identity}.wav"
    shown = f"speech/{identity}.wav"
    if not seconds:
        return Job(identity, text, out), Result(identity, shown, text, "failed", error="no voice <b>")
    out.parent.mkdir(exist_ok=True)
    tone = 0.5 * np.sin(np.arange(round(seconds * RATE)) / 10) * np.linspace(0, 1, round(seconds * RATE))
    soundfile.write(out, tone, RATE)
    values = {"seed": 7, "rtf": 0.5, "attempts": 1, "stop_reason": "stop", **values}
    return Job(identity, text, out), Result(identity, shown, text, "ok", seconds, **values)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    lines = [
        line(tmp_path, "b #1 '&", "Banana.", 2.0, seed=2**62, rtf=0.25),
        line(tmp_path, "a", HOSTILE, 0.8, rtf=0.5),
        line(tmp_path, "c", "Cherry. " * 100, 10.0, rtf=1.5),
        line(tmp_path, "bad", HOSTILE),
        line(tmp_path, "again", "Apple.", 1.0, attempts=3, warnings=("quiet voice",)),
    ]
    write_page(tmp_path / "report.html", HOSTILE, lines)
    return tmp_path / "report.html"


def test_peaks_of_equal_parts(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.array([0.1, -0.5, 0.25, 0.0, -0.75]), RATE, subtype="FLOAT")
    assert peaks(tmp_path / "a.wav", 3) == [0.5, 0.25, 0.75]
    assert peaks(tmp_path / "a.wav", 100) == pytest.approx([0.1, 0.5, 0.25, 0.0, 0.75])
    (tmp_path / "b.wav").write_text("not sound")
    for name in ("b.wav", "none.wav"):
        with pytest.raises(AudioError, match=f"{name}: its sound can't be read"):
            peaks(tmp_path / name, 3)


def test_failures_come_first_then_lines_with_remarks(page: Path) -> None:
    shown = page.read_text(encoding="utf-8")
    assert re.findall(r'<tr class="(\w+)">.*?<b>(\d)</b>', shown) == [
        ("failed", "4"),
        ("remarked", "5"),
        ("fine", "1"),
        ("fine", "2"),
        ("fine", "3"),
    ]
    assert "<p dir=auto>3 attempts</p><p dir=auto>quiet voice</p>" in shown
    assert "<b>13.8 s</b><span>of audio</span>" in shown
    assert "<b>0.500</b><span>median RTF of a line</span>" in shown


def test_texts_are_escaped_and_the_page_is_self_contained(page: Path) -> None:
    shown = page.read_text(encoding="utf-8")
    assert shown.count("<script") == 1 and shown.count("</script") == 1
    assert "<img" not in shown and "<b>" not in shown.split("no voice ")[1][:10]
    assert "no voice &lt;b&gt;" in shown
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", shown)
    assert 'href="speech/b%20%231%20%27%26.wav"' in shown
    # the link of a file whose name has special characters works
    assert (page.parent / "speech" / "b #1 '&.wav").is_file()


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    job, result = line(tmp_path, "a", "Hello.", 1.0)
    job.out.unlink()
    shown = render("title", [(job, result)], tmp_path)
    assert "the file is missing or damaged" in shown
    assert "data-src" not in shown.split("<script>")[0]


def test_the_picture_is_the_waveform(tmp_path: Path) -> None:
    shown = render("title", [line(tmp_path, "a", "Hello.", 4.0)], tmp_path)
    ((first, last),) = [(bars[0], bars[-1]) for bars in [re.findall(r"M[\d.]+ ([\d.]+)V([\d.]+)", shown)]]
    assert len(re.findall(r"M[\d.]+ [\d.]+V", shown)) == BARS
    heights = [float(bar[1]) - float(bar[0]) for bar in (first, last)]
    assert heights[0] < 3 and heights[1] > 15  # it grows louder


needs_browser = pytest.mark.skipif(not (DRIVER and BROWSER), reason=MISSING)


def first_cells(browser: Browser) -> str:
    script = "return [...document.querySelectorAll('tbody tr')].filter(row => !row.hidden)"
    return "".join(browser.run(script + ".map(row => row.querySelector('b').textContent)"))


@needs_browser
def test_sorting_searching_and_playing_in_a_browser(page: Path) -> None:
    with Browser() as browser:
        browser.open(page)
        assert browser.run("return document.title") == HOSTILE
        assert first_cells(browser) == "45123"
        browser.click("th.duration button")
        assert first_cells(browser) == "31524"  # longest first; lines without a duration last
        browser.click("th.duration button")
        assert first_cells(browser) == "25134"
        assert browser.run("return document.querySelector('th.duration').ariaSort") == "ascending"
        browser.click("th.line button")
        assert first_cells(browser) == "12345"
        browser.click("th.text button")
        assert first_cells(browser)[-3:] == "513"  # Apple, Banana, Cherry
        browser.click("th.line button")

        browser.type("#search", "banana B")
        assert first_cells(browser) == "1"
        browser.run("search.value = ''; search.dispatchEvent(new Event('input'))")
        assert first_cells(browser) == "12345"

        browser.click(".play")
        browser.wait("current && !sound.paused && sound.currentTime > 0.2")
        assert browser.run("return sound.duration") == pytest.approx(2.0, abs=0.01)
        assert browser.run("return document.querySelectorAll('.playing').length") == 1
        browser.click(".play")
        browser.wait("sound.paused && !document.querySelector('.playing')")
        browser.click("tbody tr:nth-child(3) svg")  # click on its middle
        browser.wait("!sound.paused && sound.currentTime > 4.9 && sound.currentTime < 7")
        assert browser.complaints() == []


@pytest.mark.slow
@needs_browser
def test_a_thousand_lines_in_a_browser_light_and_dark_at_any_width(tmp_path: Path) -> None:
    lines = [line(tmp_path, f"n{n}", "The sun is rising. " * (n % 7 + 1), 0.2 if n % 20 else 0.0) for n in range(1000)]
    write_page(tmp_path / "report.html", "A thousand", lines)
    paper = {}
    for dark, width in ((False, 1400), (True, 1400), (False, 500)):
        with Browser((width, 900), dark=dark) as browser:
            browser.open(tmp_path / "report.html")
            assert len(first_cells(browser)) == sum(len(str(n)) for n in range(1, 1001))
            assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
            took = browser.run(
                "const t = performance.now(); document.querySelector('th.text button').click();"
                "document.body.offsetHeight; return performance.now() - t"
            )
            assert took < 3000
            paper[dark, width] = corner(browser.screenshot())
    assert min(paper[False, 1400]) > 230 and max(paper[True, 1400]) < 40 and min(paper[False, 500]) > 230


def corner(png: bytes) -> tuple[int, ...]:
    """Return red, green and blue of the first pixel."""
    data, place = b"", 8
    while place < len(png):
        (size,) = struct.unpack(">I", png[place : place + 4])
        data += png[place + 8 : place + 8 + size] if png[place + 4 : place + 8] == b"IDAT" else b""
        place += size + 12
    return tuple(zlib.decompress(data)[1:4])
