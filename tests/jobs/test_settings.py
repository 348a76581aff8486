from __future__ import annotations

import math
from typing import Any

import pytest

from voxcli.engine.request import Sampling
from voxcli.errors import InputError
from voxcli.jobs.settings import DEFAULTS, SettingError, Settings


def test_the_defaults_are_those_of_the_engine() -> None:
    engine = Sampling()
    for name in ("seed", "cfg", "steps", "solver"):
        assert getattr(DEFAULTS, name) == getattr(engine, name)


def test_an_update_changes_fields_that_are_not_none() -> None:
    base = Settings(seed=1, cfg=1.0)
    assert base.updated({"cfg": 3.0, "steps": None}) == Settings(seed=1, cfg=3.0)
    assert base.updated({"cfg": None}) is base


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cfg", math.nan),
        ("cfg", math.inf),
        ("cfg", -0.1),
        ("steps", 1),
        ("steps", 1001),
        ("solver", "heun"),
        ("seed", 2**63),
        ("min_seconds", 0.0),
        ("min_seconds", 86_401.0),
        ("max_seconds", math.nan),
        ("max_seconds", 1e-6),
        ("max_seconds", 1e300),
        ("max_chars", 19),
        ("sample_rate", 4000),
        ("level", -3.0),
        ("level", math.nan),
        ("loudness", -4.0),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"^{name} must be"):
        Settings(**{name: value})


@pytest.mark.parametrize(("name", "value"), [("cfg", 0.0), ("steps", 2), ("seed", 0), ("seed", 2**63 - 1)])
def test_ranges_include_their_limits(name: str, value: Any) -> None:
    assert getattr(Settings(**{name: value}), name) == value


def test_level_and_loudness_replace_each_other() -> None:
    assert Settings(level=-20.0).updated({"loudness": -23.0}) == Settings(loudness=-23.0)
    assert Settings(loudness=-23.0).updated({"level": -20.0, "loudness": None}) == Settings(level=-20.0)
    with pytest.raises(SettingError, match=r"^loudness and level exclude each other: both set how loud a file is$"):
        Settings().updated({"level": -20.0, "loudness": -23.0})


@pytest.mark.parametrize(("written", "tag"), [("de", "de"), ("EN-us", "en"), ("zh_Hans", "zh"), ("nb", "no")])
def test_a_language_is_its_primary_tag(written: str, tag: str) -> None:
    assert Settings().updated({"language": written}).language == tag


@pytest.mark.parametrize(
    ("written", "guess"),
    [("German", "; did you mean de (German)?"), ("jp", "; did you mean ja (Japanese)?"), ("x-y", "")],
)
def test_unknown_languages_are_rejected(written: str, guess: str) -> None:
    with pytest.raises(SettingError) as refused:
        Settings().updated({"language": written})
    assert str(refused.value) == f"language must be a language tag such as en, de or zh, not {written!r}{guess}"
    assert refused.value.name == "language"
