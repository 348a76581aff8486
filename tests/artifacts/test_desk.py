"""The report page in a headless browser: a desk to listen, choose takes, and save verdicts, by keyboard alone."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.artifacts.browser import BROWSER, DRIVER, MISSING, Browser
from tests.artifacts.lines import HOSTILE, five, line, page, take
from voxcli.jobs.job import Job
from voxcli.jobs.result import Result, Review, skipped

TAB, ENTER, ESCAPE, END, HOME = "\ue004", "\ue007", "\ue00c", "\ue010", "\ue011"
LEFT, UP, RIGHT, DOWN, PAGE_DOWN = "\ue012", "\ue013", "\ue014", "\ue015", "\ue00f"
SIZES = [(1440, 900), (1200, 800), (1100, 800), (1000, 800), (700, 800), (390, 844), (320, 640)]
NUMBERS = "return [...document.querySelectorAll('.row')].map(row => row.querySelector('.number').textContent).join('')"
ACTIVE = "return document.querySelector('.row[aria-selected=true] .id').textContent"
SAID = "return document.getElementById('said').textContent"

# buttons, waveforms and texts that are not within their row
OUTSIDE = """
const outside = (row) => [...row.querySelectorAll("button, .seek, .note, .words")].filter((part) => {
  const a = row.getBoundingClientRect(), b = part.getBoundingClientRect();
  return part.offsetParent && (b.left < a.left || b.right > a.right || b.top < a.top || b.bottom > a.bottom);
});
return [...document.querySelectorAll(".row")].flatMap((row) => outside(row).map((part) => part.outerHTML));
"""
COLOURS = """
const names = [".seek path", ".seek path.heard", "body", ".row[aria-selected=true]", "#list"];
const styles = names.map((name) => getComputedStyle(document.querySelector(name)));
return styles.map((style, place) => place < 2 ? style.stroke : style.backgroundColor);
"""
# the active line, that of the focus, and whether nothing covers it
IN_SIGHT = """
const row = document.activeElement, box = row.getBoundingClientRect();
const { top, bottom } = list.window();
return [list.active, row.dataset.place, box.top >= top - 1, box.bottom <= bottom + 1];
"""
WIDTHS = """
const part = (row) => row.querySelector("svg").getBoundingClientRect().width / row.querySelector(".seek").clientWidth;
return [...document.querySelectorAll(".row")].slice(0, 6).map(part);
"""


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    if not (DRIVER and BROWSER):
        pytest.skip(MISSING)
    with Browser((1440, 900)) as opened:
        yield opened


@pytest.fixture
def desk(window: Browser, tmp_path: Path) -> Iterator[Browser]:
    """The page of five lines, as on a large screen."""
    window.resize(1440, 900)
    window.open(page(tmp_path, five(tmp_path)))
    yield window
    assert window.complaints() == []


def shown(browser: Browser) -> str:
    return str(browser.run(NUMBERS))


def saved(browser: Browser) -> Any:
    return json.loads(browser.run("return reviewText()"))


def text_of(browser: Browser, name: str) -> str:
    return str(browser.run(f"return document.getElementById('{name}').textContent"))


def with_takes(folder: Path) -> list[tuple[Job, Result]]:
    """Make a line of three takes, and one of a single take."""
    first = line(folder, "fog", "A thick fog.", 1.0)
    takes = [take(first, number, take=number) for number in (1, 2, 3)]
    return [*takes, line(folder, "sun", "The sun is rising.", 1.0, seed=2**62 + 1)]


def test_problems_come_first_and_columns_sort(desk: Browser) -> None:
    assert shown(desk) == "45123"
    desk.click(".sound button:not(.play)")
    assert shown(desk) == "31524"  # longest first; a line without a sound last
    assert desk.run("return document.querySelector('#heads .sound').ariaSort") == "descending"
    assert desk.run(SAID) == "Sorted by sound, descending"
    desk.click("#heads .sound button")
    assert shown(desk) == "25134"
    desk.click("#heads .line button")
    assert shown(desk) == "12345"
    desk.click("#heads .text button")
    assert shown(desk) == "51324"  # Apple, Banana, Cherry, <script>
    desk.click("#heads .who button")
    assert shown(desk) == "23145"  # Anna, Guard, the voice joe, none
    assert desk.run("return document.querySelectorAll('#heads [aria-sort]').length") == 1


def test_a_phone_sorts_too(desk: Browser) -> None:
    desk.resize(390, 844)
    desk.run("sort.value = 'text'; sort.dispatchEvent(new Event('change'))")
    assert shown(desk) == "51324"
    desk.click("#direction")
    assert shown(desk) == "24315"  # 2 and 4 have the same text
    assert desk.run("return direction.getAttribute('aria-label')") == "Descending; sort ascending"


def test_what_is_found_is_announced(desk: Browser) -> None:
    assert desk.run("return document.getElementById('count').getAttribute('role')") == "status"
    desk.type("#search", "banana B")
    assert (shown(desk), text_of(desk, "count")) == ("1", "1 of 5 lines")
    desk.type("#search", "zzz")
    assert (shown(desk), text_of(desk, "count")) == ("", "0 of 5 lines")
    assert desk.run("return nothing.hidden") is False
    desk.run("search.value = 'quiet'; search.dispatchEvent(new Event('input'))")
    assert shown(desk) == "5"
    desk.run("search.value = ''; search.dispatchEvent(new Event('input'))")
    assert (shown(desk), text_of(desk, "count")) == ("45123", "5 lines")


def test_filters_by_state_verdict_voice_and_character(desk: Browser) -> None:
    assert [text_of(desk, f"only-{name}") for name in ("failed", "warned", "open")] == ["Failed1", "Warnings1", "Open4"]
    desk.click("#only-failed")
    assert shown(desk) == "4"
    desk.click("#only-warned")
    assert shown(desk) == "45"
    assert desk.run("return document.querySelectorAll('#chips [aria-pressed=true]').length") == 2
    desk.click("#only-failed")
    desk.click("#only-warned")
    desk.press("a")  # the line that was listed last is still the active one
    assert desk.run(SAID) == "again approved"
    desk.click("#only-approved")
    assert shown(desk) == "5"
    desk.click("#only-approved")
    desk.run("character.value = 'Anna'; character.dispatchEvent(new Event('change'))")
    assert shown(desk) == "2"
    assert desk.run("return voice.hidden") is True  # there is one voice only


def test_it_plays_pauses_and_seeks_by_keyboard(desk: Browser) -> None:
    desk.run("focusRow()")
    desk.press(END)  # line 3, of 10 s
    assert desk.run(ACTIVE) == "c"
    label = "document.querySelector('.row[aria-selected=true] .play').getAttribute('aria-label')"
    assert desk.run(f"return {label}") == "Play c"
    desk.press(" ")
    desk.wait(f"!sound.paused && sound.currentTime > 0.1 && {label} == 'Pause c'")
    desk.press(" ")
    desk.wait(f"sound.paused && {label} == 'Play c'")
    before = desk.run("return sound.currentTime")
    desk.press(RIGHT, RIGHT, RIGHT, LEFT)
    desk.wait("!sound.seeking")
    assert desk.run("return sound.currentTime") == pytest.approx(before + 2, abs=0.1)
    seek = "document.querySelector('.row[aria-selected=true] .seek')"
    desk.wait(f"Math.abs({seek}.getAttribute('aria-valuenow') - sound.currentTime) < 0.1")
    assert desk.run(f"return {seek}.getAttribute('aria-valuetext')").endswith(" of 10.0 s")
    desk.run(f"{seek}.focus()")
    desk.press(END)
    desk.wait("sound.currentTime > 9.9")
    desk.press(HOME)
    desk.wait("sound.currentTime == 0")


def test_a_click_on_the_waveform_plays_from_there(desk: Browser) -> None:
    desk.run("go(4)")
    desk.click(".row[aria-selected=true] svg")
    desk.wait("!sound.paused && sound.currentTime > 4.9 && sound.currentTime < 7")
    assert desk.run("return document.querySelectorAll('.playing').length") == 1
    assert desk.run("return document.activeElement.className.includes('row')") is True
    desk.press("k")  # while a sound plays, moving plays the next line
    desk.wait("playing.line.id == 'a' && sound.currentTime > 0")


def test_the_next_line_is_played_automatically(desk: Browser) -> None:
    desk.click("#on")
    desk.run("go(3); focusRow()")
    desk.press(" ")
    desk.wait("playing && playing.line.id == 'c' && !sound.paused", 10)
    assert desk.run(ACTIVE) == "c"


def test_pauses_stay_among_the_lines(window: Browser, tmp_path: Path) -> None:
    pause = Job("2", "* * *", tmp_path / "2.wav")
    lines = [line(tmp_path, name, "Hello.", 0.2) for name in ("1", "3")]
    window.resize(1440, 900)
    window.open(page(tmp_path, [lines[0], (pause, skipped(pause, 1.5, tmp_path).result), lines[1]]))
    assert shown(window) == "123"
    assert window.run("return [...document.querySelectorAll('.time')].map(each => each.textContent)") == [
        "0.2 s",
        "pause of 1.5 s",
        "0.2 s",
    ]
    assert text_of(window, "only-open") == "Open2"


def test_lines_without_a_sound_are_not_played_nor_judged(desk: Browser) -> None:
    desk.run("go(0); focusRow()")
    desk.press(" ", "a", "r")
    assert desk.run("return [playing, verdictOf(list.line())]") == [None, "open"]
    assert desk.run("return document.querySelector('.row[aria-selected=true] .time').textContent") == "no file"
    assert saved(desk) == {"version": 1, "lines": {}}


def test_keys_move_between_lines(desk: Browser) -> None:
    desk.run("focusRow()")
    places = []
    for key in ("j", DOWN, "k", UP, UP, END, HOME, PAGE_DOWN):
        desk.press(key)
        places.append(desk.run(ACTIVE))
    assert places == ["again", "b #1 '&", "again", "bad", "bad", "c", "bad", "c"]
    assert desk.run("return document.activeElement.getAttribute('aria-selected')") == "true"


def test_tab_stops_at_one_line_only(window: Browser, tmp_path: Path) -> None:
    window.resize(1440, 900)
    window.open(page(tmp_path, [line(tmp_path, f"n{n}", "Hello.", 0.2) for n in range(30)]))
    window.run("document.querySelector('#heads .note button').focus()")
    stops = []
    for _ in range(9):
        window.press(TAB)
        stops.append(window.run("return document.activeElement.className || document.activeElement.tagName"))
    row = ["row fine single", "play", "seek", "approve", "reject", "words"]
    assert stops[:6] == row and not {*row} & {*stops[6:]}
    assert window.run(ACTIVE) == "n0"


def test_keys_do_nothing_while_words_are_written_and_can_be_switched_off(desk: Browser) -> None:
    desk.run("go(4); focusRow()")
    desk.press("n", *"rain ja", ENTER)
    assert desk.run("return [list.line().id, list.line().review.note, verdictOf(list.line())]") == [
        "c",
        "rain ja",
        "open",
    ]
    assert desk.run("return document.activeElement.className.startsWith('row')") is True
    desk.press("/", "j", ESCAPE)
    assert desk.run("return [document.getElementById('search').value, list.line()?.id]") == [
        "j",
        "c",
    ]  # the note has a j
    desk.press("?")
    assert desk.run("return find('keys').open") is True
    desk.run("find('letters').checked = false; find('close').click(); focusRow()")
    desk.press("a")
    assert desk.run("return verdictOf(list.line())") == "open"
    desk.press(DOWN)


def test_takes_are_chosen_approved_and_rejected(window: Browser, tmp_path: Path) -> None:
    window.resize(1440, 900)
    window.open(page(tmp_path, with_takes(tmp_path)))
    window.run("focusRow()")
    assert window.run(ACTIVE) == "fog"
    window.press("2", "r", "3", "a")
    assert window.run(SAID) == "fog approved, take 3"
    assert saved(window)["lines"] == {"fog": {"verdict": "approved", "take": 3, "seeds": [200]}}
    labels = (
        "return [...document.querySelectorAll('.row[aria-selected=true] .takes button')].map(each => each.ariaLabel)"
    )
    assert window.run(labels) == ["Take 1 of fog", "Take 2 of fog, rejected", "Take 3 of fog, approved"]
    window.press("1", "r", "9")  # another take is rejected: the approved one stays; there is no ninth
    assert saved(window)["lines"]["fog"] == {"verdict": "approved", "take": 3, "seeds": [200, 100]}
    window.press("3", "r")
    assert saved(window)["lines"]["fog"] == {"verdict": "rejected", "take": 3, "seeds": [200, 100, 300]}
    window.press("r")  # again: undone
    assert saved(window)["lines"]["fog"] == {"verdict": "rejected", "take": 1, "seeds": [200, 100]}
    window.press("1", "r", "2", "r")
    assert saved(window)["lines"] == {}
    window.press("j", "r", "n", *'too "fast"', ENTER)
    assert window.run("return reviewText()").endswith(
        '"sun": {"verdict": "rejected", "take": 1, "seeds": [4611686018427387905], "note": "too \\"fast\\""}\n}}\n'
    )


def test_the_best_take_is_shown_until_it_is_rejected(window: Browser, tmp_path: Path) -> None:
    made = line(tmp_path, "fog", "A thick fog.", 1.0)
    takes = [take(made, 1, status="doubtful", reason="noise"), take(made, 2), take(made, 3, warnings=("quiet",))]
    window.open(page(tmp_path, takes))
    assert window.run("return [takeOf(lines[0]).number, lines[0].state]") == [2, "fine"]
    window.run("decide(lines[0], reject)")
    window.open(page(tmp_path, takes))
    assert window.run("return takeOf(lines[0]).number") == 1


def test_verdicts_stay_in_the_browser_and_a_new_take_is_open(window: Browser, tmp_path: Path) -> None:
    lines = with_takes(tmp_path)
    made = page(tmp_path, lines)
    window.open(made)
    window.run("focusRow()")
    window.press("2", "r", "j", "a")
    window.open(made)
    assert window.run("return lines.map(verdictOf)") == ["rejected", "approved"]
    assert window.run("return document.querySelector('.row').getAttribute('aria-label')").startswith("1 fog, rejected")
    redone = [(job, replace(result, seed=9 if result.seed == 200 else result.seed)) for job, result in lines]
    window.open(page(tmp_path, redone))  # the rejected take was spoken again
    assert window.run("return lines.map(verdictOf)") == ["open", "approved"]
    assert "spoken again since it was rejected" in text_of(window, "desk-remarks")
    assert saved(window)["lines"]["fog"] == {"seeds": [200]}
    (tmp_path / "elsewhere").mkdir()
    other = [line(tmp_path / "elsewhere", "fog", "A thick fog.", 1.0)]
    window.open(page(tmp_path / "elsewhere", other))
    assert window.run("return lines.map(verdictOf)") == ["open"]  # another run


def test_a_take_with_the_same_seed_and_other_words_is_open(window: Browser, tmp_path: Path) -> None:
    lines = [(job, replace(result, sha256=f"{result.seed:064x}"[::-1])) for job, result in with_takes(tmp_path)]
    window.open(page(tmp_path, lines))
    window.run("focusRow()")
    window.press("2", "r", "1", "a", "j", "a")
    approved, rejected, sun = (lines[place][1].sha256 for place in (0, 1, 3))
    review = saved(window)
    assert review["lines"] == {
        "fog": {"verdict": "approved", "take": 1, "seeds": [200], "sha256": [approved[:16], rejected[:16]]},
        "sun": {"verdict": "approved", "take": 1, "sha256": [sun[:16]]},
    }
    redone = [
        (job, replace(result, sha256=f"{result.take}" * 64) if result.id == "fog" else result) for job, result in lines
    ]
    window.open(page(tmp_path, redone))
    assert window.run("return lines.map(verdictOf)") == ["open", "approved"]
    assert "spoken again since it was approved" in text_of(window, "desk-remarks")
    window.run("choose(lines[0], 2); decide(lines[0], approve)")
    assert window.run("return [verdictOf(lines[0]), isRejected(lines[0], lines[0].takes[1])]") == ["approved", False]


def test_a_recorded_review_holds_in_any_browser_and_can_be_taken_back(window: Browser, tmp_path: Path) -> None:
    made = line(tmp_path, "fog", "A thick fog.", 1.0)
    takes = [take(made, 1, take=1, review=Review("rejected", "better", (100,)))]
    takes.append(take(made, 2, take=2, review=Review("approved", "better", (100,))))
    window.open(page(tmp_path, takes))
    assert window.run("return [verdictOf(lines[0]), takeOf(lines[0]).number]") == ["approved", 2]
    assert saved(window)["lines"] == {"fog": {"verdict": "approved", "take": 2, "seeds": [100], "note": "better"}}
    window.run("decide(lines[0], approve); choose(lines[0], 0); decide(lines[0], reject); note(lines[0], '')")
    window.open(page(tmp_path, takes))
    assert saved(window)["lines"] == {"fog": {"note": ""}}  # it takes back what the results record


def test_review_json_is_saved_and_loaded(window: Browser, tmp_path: Path) -> None:
    window.allow_downloads(tmp_path)
    window.open(page(tmp_path, with_takes(tmp_path)))
    window.run("focusRow()")
    window.press("3", "r", "j", "a", "n", *"good", ENTER)
    window.click("#save")
    file = tmp_path / "review.json"
    window.wait("document.getElementById('said').textContent == '2 reviewed lines saved'")
    window.until(file.is_file)
    review = {
        "version": 1,
        "lines": {
            "fog": {"verdict": "rejected", "take": 3, "seeds": [300]},
            "sun": {"verdict": "approved", "take": 1, "note": "good"},
        },
    }
    assert json.loads(file.read_text()) == review

    review["lines"] |= {"gone": {"verdict": "approved", "take": 1}}  # type: ignore[operator]
    review["lines"] |= {"sun": {"verdict": "rejected", "take": 1, "seeds": [2**62 + 1]}}  # type: ignore[operator]
    file.write_text(json.dumps(review))
    window.type("#file", str(file))
    window.wait("document.getElementById('count').textContent == '2 reviewed lines loaded; 1 not in this run'")
    del review["lines"]["gone"]  # type: ignore[attr-defined]
    assert saved(window) == review
    for wrong in ("[]", "{", '{"version": 2, "lines": {}}', '{"version": 1, "lines": {"sun": {"seeds": ["x"]}}}'):
        file.write_text(wrong)
        window.type("#file", str(file))
        window.wait("document.getElementById('count').textContent == 'review.json is not a review.json'")
        assert saved(window) == review
        window.run("find('count').textContent = ''")
    assert window.complaints() == []


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_nothing_is_wider_than_the_window_and_all_buttons_can_be_touched(
    window: Browser, tmp_path: Path, width: int, height: int
) -> None:
    window.resize(width, height)
    window.open(page(tmp_path, [*five(tmp_path), *with_takes(tmp_path)]))
    assert window.run("return [innerWidth, document.documentElement.scrollWidth]") == [width, width]
    small = window.run(
        "return [...document.querySelectorAll('button, select, input, .seek')].filter(part => part.offsetParent"
        " && part.type != 'checkbox' && (part.offsetHeight < 44 || part.offsetWidth < 44)).map(part => part.outerHTML)"
    )
    assert small == []
    outside = window.run(OUTSIDE)
    assert outside == []


@pytest.mark.parametrize("dark", [False, True])
def test_waveforms_stand_out_and_are_to_scale(dark: bool, tmp_path: Path) -> None:
    if not (DRIVER and BROWSER):
        pytest.skip(MISSING)
    lines = [line(tmp_path, f"{n}", "Hello.", float(n)) for n in range(1, 21)]
    with Browser((1440, 900), dark=dark) as browser:
        browser.open(page(tmp_path, lines))
        wave, heard, paper, chosen, card = map(rgb, browser.run(COLOURS))
        assert all(contrast(bar, back) >= 3 for bar in (wave, heard) for back in (chosen, card))
        assert (sum(paper) < 3 * 40) is dark
        assert browser.run(WIDTHS) == pytest.approx([n / 19 for n in range(1, 7)], abs=0.01)


def rgb(colour: str) -> tuple[int, ...]:
    return tuple(map(int, colour.partition("(")[2].rstrip(")").split(",")[:3]))


def contrast(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """Return the contrast ratio of WCAG 2.2."""

    def luminance(colour: tuple[int, ...]) -> float:
        parts = [part / 255 for part in colour]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_paper_has_all_lines_and_columns(desk: Browser) -> None:
    desk.run("go(1); decide(list.line(), reject); note(list.line(), 'slower'); dispatchEvent(new Event('beforeprint'))")
    rows = desk.run("return [...paper.rows].map(row => [...row.cells].map(cell => cell.textContent))")
    assert rows[0] == ["Line", "Character", "Text", "Length", "Take", "Verdict", "Note", "Remarks"]
    assert rows[1] == ["4 bad", "", HOSTILE, "", "1", "", "", "failed; no voice <b>"]
    assert rows[2] == ["5 again", "", "Apple.", "1.0 s", "1", "rejected", "slower", "warning; 3 attempts; quiet voice"]
    assert rows[5][1:4] == ["Guard, gruff", ("Cherry. " * 100), "10.0 s"]
    desk.emulate_print()
    assert desk.run("return ['tools', 'desk', 'list', 'paper'].map(name => find(name).offsetParent !== null)") == [
        False,
        False,
        False,
        True,
    ]
    desk.emulate_print(False)


def test_wrong_words_of_doubtful_lines_are_marked(window: Browser, tmp_path: Path) -> None:
    check = {"missing": [[0, "The"]], "repeated": [[4, "old"], [4, "old"]], "changed": [[8, "clock"]]}
    values = {"status": "doubtful", "reason": "words are repeated: old", "check": check}
    doubtful = line(tmp_path, "a", "The old clock <b>stopped.", 1.0, **values)
    window.resize(1440, 900)
    window.open(page(tmp_path, [line(tmp_path, "b", "Hello.", 1.0), doubtful]))
    assert shown(window) == "21"
    assert window.run("return document.querySelector('.row .words').innerHTML") == (
        '<mark class="missing" title="missing">The</mark> <mark class="repeated" title="repeated">old old </mark>'
        'old <mark class="changed" title="changed">clock</mark> &lt;b&gt;stopped.'
    )
    window.click("#only-doubtful")
    assert (shown(window), text_of(window, "desk-remarks")) == ("2", "words are repeated: old")


@pytest.fixture(scope="module")
def long_list(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of 20,000 lines."""
    folder = tmp_path_factory.mktemp("long")
    job, result = line(folder, "n", "The sun is rising.", 0.2)
    return page(folder, [(job, replace(result, id=f"n{n}", text=f"Text {n % 7}")) for n in range(20_000)])


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1000, 800), (390, 844)])
def test_a_long_list_has_few_elements_and_all_its_lines(
    window: Browser, long_list: Path, width: int, height: int
) -> None:
    window.resize(width, height)
    window.open(long_list)
    assert window.run("return document.querySelectorAll('.row').length") < 40
    window.run("focusRow()")
    for key, place in ((END, 19_999), (UP, 19_998), (HOME, 0), (PAGE_DOWN, None)):
        window.press(key)
        found = window.run(IN_SIGHT)
        assert found[2:] == [True, True]
        assert place is None or found[:2] == [place, str(place)]
    # taller than a browser allows: a pixel of scrolling stands for several of the list
    window.run("list.height = 2000; list.measure = () => {}; find('rows').style.height = '15000000px'; go(19999)")
    assert window.run("return document.activeElement.dataset.place") == "19999"
    assert window.run("return document.activeElement.getBoundingClientRect().top < innerHeight") is True


AXE = os.environ.get("AXE_CORE", "")
RULES = "{runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}"

SHORT = (
    "(found) => JSON.stringify([found.violations.map((rule) => [rule.id, rule.nodes[0].html]), found.passes.length])"
)


@pytest.mark.skipif(not AXE, reason="AXE_CORE does not name the file axe.min.js of the package axe-core")
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing(dark: bool, tmp_path: Path) -> None:
    if not (DRIVER and BROWSER):
        pytest.skip(MISSING)
    with Browser((1440, 900), dark=dark) as browser:
        for width, height in SIZES:
            browser.resize(width, height)
            browser.open(page(tmp_path, [*five(tmp_path), *with_takes(tmp_path)]))
            browser.evaluate(Path(AXE).read_text(encoding="utf-8"))
            for state in (
                "",
                "go(1); decide(list.line(), approve); choose(list.line(), 0)",
                "find('keys').showModal()",
            ):
                browser.run(state)
                found = browser.evaluate(
                    f"axe.run({RULES}).then(r => JSON.stringify(r.violations.map(v => [v.id, v.nodes[0].html])))"
                )
                assert json.loads(found) == [], f"at {width} pixels, after {state}"
