from __future__ import annotations

import os
from pathlib import Path

import pytest

from voxcli.errors import InputError
from voxcli.inputs.defaults import read_defaults
from voxcli.inputs.presets import load_preset
from voxcli.inputs.yamlfile import read_yaml


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mine.yaml"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("seed: 2020-99-99", "month must be in 1..12"),
        ("seed: " + "9" * 100_000, "a number of too many digits"),
        ("seed: 0x" + "f" * 10_000, "a number of too many digits"),
        ("seed: 1" + ":1" * 200_000, "a number of too many digits"),
        ("cfg: 1" + ":1" * 5_000 + ".5", "a number of too many digits"),
        ('seed: !!int "abc"', "invalid literal for int"),
        ('normalize: !!bool "abc"', "abc"),
        ('seed: !!timestamp "abc"', "groupdict"),
        ("[" * 2_000, "nested too deeply"),
        ('control: "\\ud800"', "surrogates not allowed"),
        ("a: &a [x]\nb: *a", "*a: aliases are not used here"),
        ("a: &a {x: 1}\nb: {<<: [*a, *a]}", "*a: aliases are not used here"),
        ("seed: \ufffe", "special characters are not allowed"),
    ],
)
def test_what_the_library_falls_over_is_told_in_one_line(path: Path, text: str, reason: str) -> None:
    path.write_text(text, encoding="utf-8")
    for read in (read_defaults, lambda path: load_preset(str(path))):
        with pytest.raises(InputError) as caught:
            read(path)
        assert "mine.yaml is not YAML that can be used: " in str(caught.value)
        assert reason in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("steps: 5\nseed: 1\nsteps: 6\n", "line 3: 'steps' stands twice, first in line 1"),
        ("a: 1\nb: {c: 1, 'c': 2}\n", "line 2: 'c' stands twice, first in line 2"),
        ("- {1: x}\n- {1: x,\n  '1': y}\n", "line 3: '1' stands twice, first in line 2"),
    ],
)
def test_a_key_that_stands_twice_is_refused(path: Path, text: str, reason: str) -> None:
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_yaml(path, "the file")
    assert str(caught.value) == f"the file {path} is not YAML that can be used: {reason}"


def test_what_is_no_text_is_told(path: Path) -> None:
    path.write_bytes(b"seed: \xff")
    with pytest.raises(InputError, match=r"the preset .*mine\.yaml is not YAML that can be used: 'utf-8' codec"):
        read_yaml(path, "the preset")


def test_a_pipe_and_a_giant_are_not_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(path)
    with pytest.raises(InputError, match=r"can't read the preset .*mine\.yaml: not a regular file"):
        load_preset(str(path))
    with pytest.raises(InputError, match=r"can't read the defaults file .*mine\.yaml: not a regular file"):
        read_defaults(path)
    path.unlink()
    path.write_text("a: 1 # " + "x" * (1 << 20))
    with pytest.raises(InputError, match=r"mine\.yaml: it is larger than 1,048,576 bytes"):
        read_yaml(path, "the preset")


def test_values_are_those_of_yaml(path: Path) -> None:
    path.write_text("a: 1\nb: 0x10\nc: 1.5\nd: é\ne: yes\nf: -1_000\ng: .5\nh: 2020-01-02\n# end\n", encoding="utf-8")
    values = read_yaml(path, "it")
    assert [values[name] for name in "abcdefg"] == [1, 16, 1.5, "é", True, -1000, 0.5]
    assert str(values["h"]) == "2020-01-02"
