from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from voxcli.audio.formats import FORMATS, TAGS, tags_of
from voxcli.errors import InputError
from voxcli.jobs.job import Job
from voxcli.jobs.tags import MAX_TITLE, parse_tags, tags_of_whole

JOB = Job("a", "(a warm voice)Good night,\nmy friends.", Path("a.wav"), ref=Path("v/joe.wav"))


def test_title_and_artist_come_from_the_line() -> None:
    tags = parse_tags(["album=Tales", "Date = 2026 "])
    assert tags is not None
    found = tags.of(JOB, {})
    assert found == {"title": "Good night, my friends.", "artist": "joe", "album": "Tales", "date": "2026"}
    assert tags.of(replace(JOB, character="Guard"), {"title": "Chapter 1"}) == found | {
        "artist": "Guard",
        "title": "Chapter 1",
    }
    assert "artist" not in tags.of(replace(JOB, ref=None), {})
    long = tags.of(replace(JOB, text="word " * 100), {})["title"]
    assert MAX_TITLE - 10 < len(long) <= MAX_TITLE + 3


def test_a_command_overrides_them_and_an_empty_value_omits_one() -> None:
    tags = parse_tags(["title={id}: {scene}", "artist=", "comment=a\tb"])
    assert tags is not None and tags.fields == ("id", "scene")
    assert tags.of(JOB, {"id": "7", "scene": "The hall"}) == {"title": "7: The hall", "comment": "a\\tb"}
    assert parse_tags([]) is None


@pytest.mark.parametrize(
    ("named", "message"),
    [
        (["album"], "--tag needs NAME=TEXT, such as album=Tales, not 'album'"),
        (["albun=x"], "--tag: no tag 'albun'; did you mean album?"),
        (["mood=x"], f"--tag: no tag 'mood'; there are {', '.join(TAGS)}"),
        (["album=x", "Album=y"], "--tag names album twice"),
        (["album={x"], "--tag: a brace is missing or left over in '{x'; {{ is a brace"),
    ],
)
def test_invalid_tags_are_refused(named: list[str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_tags(named)
    assert str(caught.value) == message


def test_a_tag_that_a_format_lacks_is_named() -> None:
    tags = parse_tags(["license=CC0-1.0"])
    assert tags is not None
    lacking = {name for name in FORMATS if "license" not in tags_of(name)}
    assert lacking == {"wav", "wav24", "wavf", "ulaw", "alaw", "mp3"}
    for name in FORMATS:
        job = replace(JOB, format=name)
        if name in lacking:
            with pytest.raises(InputError, match=f"^{name} files have no tag 'license', only title, artist, album"):
                tags.of(job, {})
        else:
            assert tags.of(job, {})["license"] == "CC0-1.0"


def test_a_joined_file_has_what_its_files_have_in_common() -> None:
    tags = parse_tags(["album=Tales", "license=CC0-1.0"])
    assert tags is not None
    jobs = [replace(JOB, format="flac", text=text) for text in ("One.", "Two.")]
    jobs = [replace(job, tags=tags.of(job, {})) for job in jobs]
    whole = {"title": "my book", "artist": "joe", "album": "Tales"}
    assert tags_of_whole(Path("out/my book.mp3"), jobs, "mp3") == whole
    assert tags_of_whole(Path("my book.flac"), jobs, "flac") == whole | {"license": "CC0-1.0"}
    assert tags_of_whole(Path("book.wav"), [JOB], "wav") == {}
