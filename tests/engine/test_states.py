"""Random sequences of adds, cancels, failures, preemptions and steps, compared with each request run alone.

The default suite contains a short version; `pytest -m long` runs VOXCPM2_STATES steps (default 100,000).
"""

from __future__ import annotations

import os
import random
from collections import Counter
from functools import partial

import pytest
import torch

from tests.engine.helpers import LAYOUTS, TEXTS, alone, assert_same, latents, request
from tests.engine.test_batching import poison_free
from voxcli.engine.config import EngineConfig
from voxcli.engine.engine import Engine
from voxcli.engine.request import Clip, Request, Sampling
from voxcli.errors import RequestError
from voxcli.model.prompt import build_prompt
from voxcli.model.voxcpm2 import VoxCPM2

ROWS, PAGES = 5, 14  # fewer pages than five requests need, so that there are preemptions
KINDS = 16


def kind(model: VoxCPM2, number: int, name: str) -> Request:
    return request(
        model,
        name,
        TEXTS[number % len(TEXTS)],
        layout=LAYOUTS[number // 2 % 4],
        voice=number,
        seed=number,
        steps=2 + number % 2,
        min_len=number % 5,
        max_len=6 + 2 * number,
        ratio=1.0 if number % 4 == 3 else 6.0,  # some are bad cases and run again
    )


class Expectations:
    """The requests in the engine and the expected result of each."""

    def __init__(self, model: VoxCPM2):
        self.kinds: dict[str, int | None] = {}  # kind of each request in the engine; None: its voice is NaN
        self.cancelled: set[str] = set()
        self.failed: set[str] = set()
        self.no_memory: set[str] = set()  # memory ran out although they ran alone
        self.ended: Counter[str] = Counter()
        self._expected: dict[int, Clip] = {
            number: alone(model, [kind(model, number, "x")])["x"] for number in range(KINDS)
        }

    def check(self, clip: Clip) -> None:
        name = clip.request_id
        number = self.kinds.pop(name)
        self.ended[clip.stop_reason] += 1
        if name in self.cancelled:
            assert clip.stop_reason == "cancelled"
        elif name in self.failed:
            assert clip.error == "RuntimeError: a kernel failed"
        elif name in self.no_memory:
            assert clip.error == "OutOfMemoryError: no memory"
        elif number is None:
            assert clip.error is not None and clip.error.startswith(
                "the model produced a patch that is not finite at step "
            )
        else:
            assert_same(clip, self._expected[number])
        self.cancelled.discard(name)
        self.failed.discard(name)
        self.no_memory.discard(name)


class World:
    """An engine, its model, and the actions of a random walk."""

    def __init__(self, model: VoxCPM2, seed: int):
        self.model, self.rng, self.expected, self.added = model, random.Random(seed), Expectations(model), 0
        self.steps = 0
        self.begin()

    def begin(self) -> None:
        tokens = self.rng.choice([5, 16, 200])
        self.engine = Engine(self.model, EngineConfig(max_batch=ROWS, pages=PAGES, prefill_tokens=tokens))
        self._decode = self.engine.runner.decode

    def add(self) -> None:
        if len(self.expected.kinds) > 3 * ROWS:
            return self.step()
        name, self.added = f"r{self.added}", self.added + 1
        if self.rng.random() < 0.1:
            voice = latents(self.model, 3, 1)
            voice[1] = float("nan")
            prompt = build_prompt(self.model.tokenizer, "hello", patch_shape=self.model.patch_shape, reference=voice)
            self.engine.add(Request(name, prompt, Sampling(seed=1)))
            self.expected.kinds[name] = None
        else:
            number = self.rng.randrange(KINDS)
            self.engine.add(kind(self.model, number, name))
            self.expected.kinds[name] = number

    def add_twice(self) -> None:
        for name in list(self.expected.kinds)[:1]:
            if name not in self.expected.cancelled:
                with pytest.raises(RequestError, match="already in use"):
                    self.engine.add(kind(self.model, 0, name))

    def cancel(self) -> None:
        name = self.rng.choice([*self.expected.kinds, "unknown"])
        known = name in self.expected.kinds and name not in self.expected.cancelled
        ended_already = any(clip.request_id == name for clip in self.engine._done)
        if ended_already:
            return
        assert self.engine.cancel(name) == known
        if known:
            self.expected.cancelled.add(name)

    def fail(self) -> None:
        """Run a step in which a kernel fails for every batch that contains one of the rows."""
        running = [s for s in self.engine.scheduler.running if s.ready]
        if running:
            victim = self.rng.choice(running).request_id
            self.engine.runner.decode = partial(self._fails, victim)  # type: ignore[method-assign]
        self.step()

    def _fails(self, victim: str, rows: list[int], *rest: int) -> torch.Tensor:
        if self.engine.state.owned.get(victim) in rows:
            self.expected.failed.add(victim)
            raise RuntimeError("a kernel failed")
        return self._decode(rows, *rest)

    def run_out_of_memory(self) -> None:
        def fails(rows: list[int], *rest: int) -> torch.Tensor:
            self.engine.runner.decode = self._decode  # type: ignore[method-assign]
            if len(self.engine.scheduler.running) == 1:  # the others finished at the start of this step
                self.expected.no_memory = {self.engine.scheduler.running[0].request_id}
            raise torch.OutOfMemoryError("no memory")

        if len(self.engine.scheduler.running) > 1:
            self.engine.runner.decode = fails  # type: ignore[method-assign]
        self.step()
        self.engine.scheduler.max_running = self.engine.runner.largest = ROWS

    def preempt(self) -> None:
        ready = [s for s in self.engine.scheduler.running if s.ready]
        if ready:
            self.engine._preempt(self.rng.choice(ready))
            self.engine.check_integrity()

    def step(self) -> None:
        poison_free(self.engine)
        self.steps += 1
        clips = self.engine.step()
        self.engine.runner.decode = self._decode  # type: ignore[method-assign]
        self.engine.check_integrity()
        for clip in clips:
            self.expected.check(clip)

    def walk(self, actions: int) -> None:
        weights = {self.step: 12, self.add: 4, self.cancel: 1, self.fail: 1, self.preempt: 1, self.add_twice: 1}
        names, shares = [*weights, self.run_out_of_memory], [*weights.values(), 0.3]
        for action in self.rng.choices(names, shares, k=actions):
            action()
            if not self.engine.has_work and self.rng.random() < 0.05:
                self.begin()
        while self.engine.has_work:
            self.step()
        assert not self.expected.kinds, "every request has ended"
        assert self.engine.state.free == ROWS and self.engine.scheduler.pool.free == PAGES
        assert not self.engine._pending and not self.engine._ids and not len(self.engine.audio)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_random_actions_give_the_expected_results(tiny_model: VoxCPM2, seed: int) -> None:
    world = World(tiny_model, seed)
    world.walk(220)
    assert world.expected.ended["stop"] + world.expected.ended["length"] >= 10
    assert world.expected.ended["error"] and world.expected.ended["cancelled"]
    assert world.engine.counters.preemptions


@pytest.mark.long
def test_a_hundred_thousand_steps(tiny_model: VoxCPM2) -> None:
    world = World(tiny_model, 99)
    wanted = int(os.environ.get("VOXCPM2_STATES", "100000"))
    actions = 0
    while world.steps < wanted:
        world.walk(2000)
        actions += 2000
        ended = dict(world.expected.ended)
        print(f"{world.steps:,} steps in {actions:,} actions, {world.added:,} requests: {ended}", flush=True)
