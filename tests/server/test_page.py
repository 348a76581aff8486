"""The page in a headless browser: heard while it is made, by keyboard alone, at two widths, without a complaint."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.artifacts import browser
from tests.artifacts.browser import Browser
from tests.server.servers import Served

TAB, ENTER = "\ue004", "\ue007"
STATUS = "document.getElementById('status').textContent"
FOCUS = "return document.activeElement.id || document.activeElement.tagName"


def test_it_needs_nothing_from_elsewhere_and_may_load_nothing(server: Served) -> None:
    answer = server.ask("GET", "/")
    assert answer.status == 200 and answer.headers["content-type"].startswith("text/html")
    page = answer.body.decode()
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!data:)|url\(|https?://|@import""", page)
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-") and "unsafe" not in policy


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    if not (browser.DRIVER and browser.BROWSER):
        pytest.skip(browser.MISSING)
    with Browser((1440, 900)) as opened:
        yield opened


@pytest.fixture
def page(window: Browser, server: Served) -> Iterator[Browser]:
    window.visit(server.url)
    window.wait("document.getElementById('model').textContent == 'demo voice on cpu, float32'", 30)
    yield window
    assert window.complaints() == []


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_nothing_is_wider_than_the_window(page: Browser, width: int, height: int) -> None:
    page.resize(width, height)
    assert page.run("return [innerWidth, document.documentElement.scrollWidth]") == [width, width]
    small = page.run(
        "return [...document.querySelectorAll('button, select, input, textarea, .file')]"
        ".filter((part) => part.offsetParent && part.type != 'file' && part.offsetHeight < 40).map((part) => part.id)"
    )
    assert small == [], "they can be touched"


def test_speech_is_heard_and_can_be_saved_by_keyboard_alone(page: Browser) -> None:
    stops = []
    for _ in range(6):
        page.press(TAB)
        stops.append(page.run(FOCUS))
    assert stops == ["text", "voice", "manner", "record", "file", "speak"]
    page.press(ENTER)
    page.wait(f"{STATUS}.startsWith('Speaking; the first audio came after ')", 120)
    page.wait("!document.getElementById('player').hidden", 120)
    assert re.fullmatch(r"\d+\.\d s of audio\.", page.run(f"return {STATUS}"))
    assert page.run("return document.getElementById('save').href").startswith("blob:")
    page.wait("document.getElementById('player').duration > 1", 10)


def test_it_can_be_stopped(page: Browser) -> None:
    page.run("document.getElementById('text').value = 'The wind came over the hill. '.repeat(40)")
    page.click("#speak")
    page.wait(f"{STATUS}.startsWith('Speaking')", 120)
    page.click("#stop")
    page.wait(f"{STATUS} == 'Stopped.'", 10)
    assert page.run("return document.getElementById('speak').disabled") is False


def test_an_error_is_shown_in_its_words(page: Browser) -> None:
    page.run("document.getElementById('text').value = '...'")
    page.click("#speak")
    page.wait(f"{STATUS} == 'the text has nothing to speak: no letter and no digit'", 30)
    assert page.run("return document.getElementById('status').getAttribute('role')") == "status"
    logged = [line for line in page.complaints() if "400" not in line]  # the browser's own line about the answer
    assert logged == []


def test_a_recording_is_made_shown_and_removed(page: Browser) -> None:
    page.click("#record")
    page.wait("document.getElementById('record').textContent == 'Stop recording'", 10)
    page.wait("(window.since ??= Date.now()) + 1500 < Date.now()", 10)
    page.click("#record")
    page.wait("document.getElementById('recording').textContent.startsWith('your recording, ')", 20)
    assert page.run("return document.getElementById('voice').disabled") is True
    page.click("#forget")
    assert page.run("return document.getElementById('recording').textContent") == ""
    assert page.run("return document.getElementById('voice').disabled") is False
