from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voxcli.errors import InputError
from voxcli.text.clean import clean, is_speakable
from voxcli.text.script import SCENE_PAUSE_S, Script, ScriptOptions, SpokenSegment, read_script
from voxcli.text.split import PARAGRAPH_PAUSE_S, WORD_PAUSE_S


def spoken(script: Script) -> list[tuple[str, float]]:
    return [(segment.text, segment.pause_s) for segment in script.segments]


def test_a_plain_text_is_one_segment() -> None:
    assert read_script("Hello there.") == Script(
        (SpokenSegment("Hello there.", 0.0, "Hello there."),), body="Hello there."
    )


@pytest.mark.parametrize(
    "mark", ["[pause 1.5s]", '<break time="1500ms"/>', "[pause 1s][pause 0.5s]", "[pause 1500 ms]"]
)
def test_a_pause_separates_segments_and_is_not_spoken(mark: str) -> None:
    assert spoken(read_script(f"Wait here. {mark} Now run!")) == [("Wait here.", 1.5), ("Now run!", 0.0)]


def test_a_pause_inside_a_sentence_does_not_end_it() -> None:
    assert spoken(read_script("He came [pause] and left")) == [("He came,", 0.5), ("and left.", 0.0)]


def test_pauses_before_and_after_all_words() -> None:
    script = read_script("[pause 2s] Hello. [pause 3s]")
    assert script.lead_s == 2.0
    assert script.segments == (SpokenSegment("Hello.", 3.0, "Hello."),)
    assert script.body == "Hello."


def test_a_pause_replaces_that_of_a_paragraph_or_a_scene() -> None:
    assert spoken(read_script("One.\n\n[pause 0.2s]\n\nTwo."))[0] == ("One.", 0.2)
    assert spoken(read_script("One.\n\n***\n\n[pause 3s]\n\nTwo."))[0] == ("One.", 3.0)


def test_scene_breaks_are_silence_between_words() -> None:
    script = read_script("***\n\nOne.\n\n* * *\n\nTwo.\n\n---")
    assert (script.lead_s, spoken(script)) == (0.0, [("One.", SCENE_PAUSE_S), ("Two.", 0.0)])


@pytest.mark.parametrize("text", ["***", "* * *", "---", "\u2026", "\U0001f600", "?!", "", "[pause 2s]", "<break/>"])
def test_a_text_without_words_has_no_segments(text: str) -> None:
    assert read_script(text).segments == ()


def test_the_silence_of_a_text_without_words() -> None:
    assert read_script("[pause 2s] ... [pause 1s]").lead_s == 3.0
    assert read_script("***").lead_s == 0.0


def test_pauses_have_a_maximum() -> None:
    with pytest.raises(InputError, match=r"^a pause of 61 s; the maximum is 60 s$"):
        read_script("Hi. [pause 61s]")
    with pytest.raises(InputError, match=r"^its pauses add up to more than 1,800 s: split the text$"):
        read_script("Hi. " + "[pause 60s] Ho. " * 31)
    assert len(read_script("Hi. " + "[pause 60s] Ho. " * 30).segments) == 31


def test_a_sentence_cut_between_words_gets_no_full_stop() -> None:
    text = "nobody saw them go because everyone was still asleep in the warm houses"
    script = read_script(text, options=ScriptOptions(max_chars=40))
    assert spoken(script) == [
        ("nobody saw them go because everyone,", WORD_PAUSE_S),
        ("was still asleep in the warm houses.", 0.0),
    ]
    assert [segment.written for segment in script.segments] == [
        "nobody saw them go because everyone",
        "was still asleep in the warm houses",
    ]


def test_brackets_are_a_description_or_spoken() -> None:
    script = read_script("(a warm voice)Hello.")
    assert (script.description, script.own, spoken(script)) == (
        "a warm voice",
        "a warm voice",
        [("(a warm voice)Hello.", 0.0)],
    )
    script = read_script("(a warm voice)Hello.", options=ScriptOptions(descriptions=False))
    assert (script.description, spoken(script)) == ("", [("a warm voice. Hello.", 0.0)])
    script = read_script("(She never came back.) The door stayed open.", "slow")
    assert spoken(script) == [("(slow)She never came back. The door stayed open.", 0.0)]
    assert script.segments[0].written == "(She never came back.) The door stayed open."


def test_an_uncertain_description_gets_a_warning() -> None:
    assert read_script("(Sichuan dialects)Hello.").warnings == (
        "(Sichuan dialects) was taken as a description of the voice and is not spoken",
    )
    assert read_script("(a warm voice)Hello.").warnings == ()


def test_markup_left_out_is_reported() -> None:
    script = read_script('<emphasis level="strong">Run</emphasis> to <y> now.[1]')
    assert script.warnings == ("tags left out: emphasis", "tags are left in the text: <y>")
    assert script.note_marks == 1


def test_segments_keep_their_written_form() -> None:
    pytest.importorskip("wetext")
    script = read_script("It costs $5.20.\n\n- It is 3 km", options=ScriptOptions(normalize=True))
    assert script.segments[0] == SpokenSegment(
        "It costs five dollars and twenty cents.", PARAGRAPH_PAUSE_S, "It costs $5.20."
    )
    assert script.segments[1].written == "It is 3 km"


def test_spoken_forms_keep_the_limit() -> None:
    pytest.importorskip("wetext")
    text = "Take $1,234,567.89 and $7,654,321.98 and $2,345,678.91 to them"
    script = read_script(text, options=ScriptOptions(max_chars=120, normalize=True))
    assert all(len(segment.text) <= 120 for segment in script.segments)
    assert " ".join(segment.written for segment in script.segments) == text


TEXTS = st.lists(
    st.sampled_from(
        [
            *("The lamp", "went", "out.", "\n", "\n\n", "* * *", "- milk", "(aside)", "(She left.)", "3. Mai", "z. B."),
            *("\u597d\u3002", 'said: "No."', "# One", "light-\nhouse"),
        ]
    ),
    max_size=12,
).map(" ".join)


@given(TEXTS, st.integers(20, 60))
def test_the_words_spoken_are_the_words_written(text: str, bound: int) -> None:
    """Compares letters and digits in their order. Nothing in these texts is left out."""
    script = read_script(text, options=ScriptOptions(max_chars=bound, descriptions=False))
    assert not script.warnings and not script.note_marks
    expected = "".join(filter(str.isalnum, clean(text)))
    assert "".join(filter(str.isalnum, "".join(segment.text for segment in script.segments))) == expected
    assert "".join(filter(str.isalnum, "".join(segment.written for segment in script.segments))) == expected
    assert all(is_speakable(segment.text) and max(segment.text) < "\ue000" for segment in script.segments)


def test_audible_line_ends_stay_in_the_written_form() -> None:
    (segment,) = read_script("You need:\n- two eggs\n- milk").segments
    assert (segment.text, segment.written) == ("You need: two eggs; milk.", "You need:\ntwo eggs\nmilk")


@given(st.text("aB 1,.!?-:;\u00e9\u597d\u3002()", max_size=40))
def test_simple_texts_have_the_same_script_without_the_shortcut(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("voxcli.text.script._is_simple", lambda text, options: False)
        expected = read_script(text)
    assert read_script(text) == expected
