from __future__ import annotations

from pathlib import Path

import pytest

from voxcli.errors import InputError, ManifestError
from voxcli.inputs.cast import read_cast
from voxcli.inputs.document import AS_IT_IS, InputOptions
from voxcli.inputs.manifest import LineDefaults, read_manifest
from voxcli.jobs.job import Job
from voxcli.jobs.settings import DEFAULTS, Settings
from voxcli.voices.store import voice_path

CAST = """
Guard: {ref: guard.wav, control: gruff, steps: 6}
Anna: {voice: anna, pause_after: 0.25}
Bob: {voice: bob.safetensors}
"""


@pytest.fixture
def cast(tmp_path: Path) -> Path:
    (tmp_path / "voices").mkdir()
    path = tmp_path / "voices" / "cast.yaml"
    path.write_text(CAST)
    return path


def jobs(cast: Path, table: str, options: InputOptions = AS_IT_IS, common: Settings = DEFAULTS) -> list[Job]:
    source = cast.parents[1] / "lines.csv"
    source.write_text(table)
    defaults = LineDefaults(common, control="calm", cast=read_cast(cast))
    return read_manifest(str(source), source.parent / "out", defaults, None, options).jobs


def problems(cast: Path, table: str) -> list[str]:
    with pytest.raises(ManifestError) as caught:
        jobs(cast, table)
    return [str(problem) for problem in caught.value.problems]


def test_each_character_has_its_voice_manner_and_settings(cast: Path) -> None:
    found = jobs(
        cast, "Character,text\nGuard,Halt!\nAnna,It is me.\nBob,So.\n,Nobody.\nGuard,Pass.\n", common=Settings(cfg=3.0)
    )
    guard, anna, bob, nobody, again = found
    assert guard.ref == again.ref == cast.parent / "guard.wav"
    assert (guard.control, guard.settings) == ("gruff", Settings(cfg=3.0, steps=6))
    assert (anna.voice, anna.ref, anna.control, anna.pause_after) == (voice_path("anna"), None, "calm", 0.25)
    assert bob.voice == cast.parent / "bob.safetensors"
    assert (nobody.voices, nobody.control, nobody.settings) == ((), "calm", Settings(cfg=3.0))
    assert guard.extra == {"Character": "Guard"}


def test_the_fields_of_a_line_override_those_of_its_character(cast: Path) -> None:
    table = "character,text,ref,steps,control,preset,voice\n"
    table += "Guard,One.,own.wav,8,,,\nGuard,Two.,,,soft,fast,\nGuard,Three.,,,,,anna\nAnna,Four.,own.wav,,,,\n"
    one, two, three, four = jobs(cast, table)
    assert (one.ref, one.settings.steps, one.control) == (cast.parents[1] / "own.wav", 8, "gruff")
    assert (two.ref, two.control, two.settings.solver) == (cast.parent / "guard.wav", "soft", "ab2")
    assert two.settings.steps == 6  # of the preset fast
    assert (three.ref, three.voice) == (None, voice_path("anna"))
    assert (four.ref, four.voice) == (cast.parents[1] / "own.wav", None)


def test_an_unknown_character_is_one_problem(cast: Path) -> None:
    table = "character,text\nGuard,One.\nGard,Two.\nGard,Three.\nZoe,Four.\n"
    assert problems(cast, table) == [
        f"line 3: no character 'Gard' in {cast} (in 2 lines); did you mean 'Guard'?",
        f"line 5: no character 'Zoe' in {cast}; there are 'Guard', 'Anna', 'Bob'",
    ]


def test_a_manifest_without_characters_is_refused(cast: Path) -> None:
    for table in ("id,text\na,One.\n", "character,text\n,One.\n"):
        assert problems(cast, table) == ["no line has a value in the column 'character', which --cast needs"]


def test_the_column_is_known_to_strict_readers(cast: Path) -> None:
    strict = InputOptions(strict=True)
    assert jobs(cast, "Character,text\nGuard,One.\n", strict)[0].control == "gruff"
    assert jobs(cast, '{"text": "One.", "character": "Guard"}\n', strict)[0].control == "gruff"
    with pytest.raises(InputError, match="unknown column 'mood'"):
        jobs(cast, "Character,mood,text\nGuard,calm,One.\n", strict)
    with pytest.raises(ManifestError, match="unknown field 'mood'"):
        jobs(cast, '{"text": "One.", "character": "Guard", "mood": "calm"}\n', strict)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the cast {path} is no list of characters, such as: Guard: {{ref: guard.wav}}"),
        ("- Guard", "the cast {path} is no list of characters, such as: Guard: {{ref: guard.wav}}"),
        ("Guard: gruff", "the cast {path}: 'Guard' has no fields: write Guard: {{voice: gruff}}"),
        ("Guard: {stepz: 3}", "the cast {path}: 'Guard': unknown field 'stepz': did you mean 'steps'?"),
        ("Guard: {steps: 1}", "the cast {path}: 'Guard': steps must be from 2 to 1000, not 1"),
        ("Guard: {id: a}", "the cast {path}: 'Guard': unknown field 'id'"),
        ("Guard: {ref: a.wav, voice: anna}", "the cast {path}: 'Guard': voice excludes ref and prompt_audio"),
        ("Guard: {voice: a/b}", "the cast {path}: 'Guard': a voice name consists of letters"),
    ],
)
def test_a_cast_that_can_not_be_used(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "cast.yaml"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        read_cast(path)
    assert str(caught.value).startswith(message.format(path=path))


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("guard.wav", "ref: guard.wav"),
        ("anna", "voice: anna"),
        ("guard.safetensors", "voice: guard.safetensors"),
        ("[1]", "ref: guard.wav"),
        ("0", "ref: guard.wav"),
    ],
)
def test_a_character_without_fields_gets_an_example(tmp_path: Path, value: str, meant: str) -> None:
    path = tmp_path / "cast.yaml"
    path.write_text(f"Guard: {value}\n")
    with pytest.raises(InputError) as caught:
        read_cast(path)
    assert str(caught.value) == f"the cast {path}: 'Guard' has no fields: write Guard: {{{meant}}}"
