import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voxcli.audio.join import FADE_S, join
from voxcli.audio.levels import active_rms

RATE = 48_000


def noise(seconds: float, level: float = 0.1, seed: int = 0) -> np.ndarray:
    return (level * np.random.default_rng(seed).standard_normal(round(seconds * RATE))).astype(np.float32)


def tone(seconds: float, level: float = 0.3, phase: float = 1.0) -> np.ndarray:
    return (level * np.sin(phase + 2 * np.pi * 220 * np.arange(round(seconds * RATE)) / RATE)).astype(np.float32)


def test_the_length_is_that_of_clips_and_pauses() -> None:
    clips = [noise(0.5), noise(0.25), noise(1.0)]
    out = join(clips, [0.3, 0.1, 0.2], RATE)
    assert out.dtype == np.float32
    assert len(out) == 112_800  # 2.35 s
    assert not out[24_000 : 24_000 + 14_400].any()
    assert not out[-9_600:].any()


def test_a_single_clip_keeps_its_samples_except_at_the_fades() -> None:
    clip = noise(1.0)
    out = join([clip], [0.0], RATE)
    fade = round(FADE_S * RATE)
    assert np.array_equal(out[fade:-fade], clip[fade:-fade])
    assert out[0] == out[-1] == 0.0


@pytest.mark.parametrize("pause_s", [0.0, 0.05, 0.3])
def test_no_click_at_the_borders(pause_s: float) -> None:
    """The step between two samples is no larger at a joint than elsewhere.

    The clips begin and end at full amplitude with the worst phases: without fades the step is many times too large.
    """
    clips = [tone(0.3, phase=phase) for phase in (1.57, -1.57, 0.8, 3.0)]
    out = join(clips, [pause_s] * len(clips), RATE)
    steps = np.abs(np.diff(out))
    borders = np.cumsum([len(clip) + round(pause_s * RATE) for clip in clips])[:-1]
    near = np.zeros(len(steps), bool)
    for border in (0, *borders, *(borders - round(pause_s * RATE)), len(steps)):
        near[max(0, border - 480) : border + 480] = True
    assert steps[near].max() <= steps[~near].max()
    assert np.abs(np.diff(np.concatenate(clips))).max() > 5 * steps.max()
    assert abs(out[0]) <= steps[~near].max() and abs(out[-1]) <= steps[~near].max()


def test_levels_are_equalized() -> None:
    clips = [noise(1.0, 0.1), noise(1.0, 0.15, 1), noise(1.0, 0.075, 2)]
    out = join(clips, [0.0] * 3, RATE)
    assert [active_rms(part, RATE) for part in np.split(out, 3)] == pytest.approx([0.1] * 3, rel=0.02)


def test_a_whisper_is_raised_by_up_to_six_decibels() -> None:
    clips = [noise(1.0, 0.1), noise(1.0, 0.1, 1), noise(1.0, 0.01, 2)]
    out = join(clips, [0.0] * 3, RATE)
    assert active_rms(out[-RATE:], RATE) == pytest.approx(0.02, rel=0.02)


def test_raising_does_not_clip() -> None:
    quiet = noise(1.0, 0.1, 1)
    quiet[1000] = 0.9
    out = join([noise(1.0, 0.2), noise(1.0, 0.2, 2), quiet], [0.0] * 3, RATE)
    assert np.abs(out).max() == pytest.approx(0.99, abs=1e-4)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2000), st.floats(0, 1), st.floats(0, 0.05)), max_size=5),
    st.sampled_from([8_000, 16_000, 48_000]),
)
def test_any_clips(clips: list[tuple[int, float, float]], rate: int) -> None:
    waves = [np.full(length, level, np.float32) for length, level, _ in clips]
    out = join(waves, [pause_s for *_, pause_s in clips], rate)
    assert len(out) == sum(length + round(pause_s * rate) for length, _, pause_s in clips)
    assert np.isfinite(out).all()
    assert np.abs(out).max(initial=0.0) <= 1.0


def test_the_input_is_not_changed() -> None:
    clip = noise(0.1)
    before = clip.copy()
    join([clip, noise(0.1, 0.3)], [0.0, 0.0], RATE)
    assert np.array_equal(clip, before)


def test_each_clip_needs_its_pause() -> None:
    with pytest.raises(ValueError, match="2 clips need as many pauses, not 1"):
        join([noise(0.1), noise(0.1)], [0.0], RATE)
