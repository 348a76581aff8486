"""Requests added, cancelled, failed, preempted and stepped in any order, against a twin that runs each of them alone.

The short form runs with every test; `pytest -m long` runs it for as many steps as VOXCPM2_STATES says (100,000).
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

ROWS, PAGES = 5, 14  # fewer pages than five requests need: rows give way now and then
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


class Twin:
    """What is in flight and how each of it must end."""

    def __init__(self, model: VoxCPM2):
        self.kinds: dict[str, int | None] = {}  # of those in flight; None: its voice is NaN
        self.cancelled: set[str] = set()
        self.failed: set[str] = set()
        self.no_room: set[str] = set()  # there was none though they ran alone
        self.ended: Counter[str] = Counter()
        self._expected: dict[int, Clip] = {
            number: alone(model, [kind(model, number, "x")])["x"] for number in range(KINDS)
        }

    def ends(self, clip: Clip) -> None:
        name = clip.request_id
        number = self.kinds.pop(name)
        self.ended[clip.stop_reason] += 1
        if name in self.cancelled:
            assert clip.stop_reason == "cancelled"
        elif name in self.failed:
            assert clip.error == "RuntimeError: a kernel failed"
        elif name in self.no_room:
            assert clip.error == "OutOfMemoryError: no room"
        elif number is None:
            assert clip.error is not None and clip.error.startswith("the model gave no finite patch at step ")
        else:
            assert_same(clip, self._expected[number])
        self.cancelled.discard(name)
        self.failed.discard(name)
        self.no_room.discard(name)


class World:
    """An engine, its twin, and the actions that a random walk is made of."""

    def __init__(self, model: VoxCPM2, seed: int):
        self.model, self.rng, self.twin, self.added = model, random.Random(seed), Twin(model), 0
        self.steps = 0
        self.begin()

    def begin(self) -> None:
        tokens = self.rng.choice([5, 16, 200])
        self.engine = Engine(self.model, EngineConfig(max_batch=ROWS, pages=PAGES, prefill_tokens=tokens))
        self._decode = self.engine.runner.decode

    def add(self) -> None:
        if len(self.twin.kinds) > 3 * ROWS:
            return self.step()
        name, self.added = f"r{self.added}", self.added + 1
        if self.rng.random() < 0.1:
            voice = latents(self.model, 3, 1)
            voice[1] = float("nan")
            prompt = build_prompt(self.model.tokenizer, "hello", patch_shape=self.model.patch_shape, reference=voice)
            self.engine.add(Request(name, prompt, Sampling(seed=1)))
            self.twin.kinds[name] = None
        else:
            number = self.rng.randrange(KINDS)
            self.engine.add(kind(self.model, number, name))
            self.twin.kinds[name] = number

    def add_twice(self) -> None:
        for name in list(self.twin.kinds)[:1]:
            if name not in self.twin.cancelled:
                with pytest.raises(RequestError, match="already in use"):
                    self.engine.add(kind(self.model, 0, name))

    def cancel(self) -> None:
        name = self.rng.choice([*self.twin.kinds, "nobody"])
        known = name in self.twin.kinds and name not in self.twin.cancelled
        ended_already = any(clip.request_id == name for clip in self.engine._done)
        if ended_already:
            return
        assert self.engine.cancel(name) == known
        if known:
            self.twin.cancelled.add(name)

    def fail(self) -> None:
        """A kernel that fails whenever one row takes part, during one step."""
        running = [s for s in self.engine.scheduler.running if s.ready]
        if running:
            victim = self.rng.choice(running).request_id
            self.engine.runner.decode = partial(self._fails, victim)  # type: ignore[method-assign]
        self.step()

    def _fails(self, victim: str, rows: list[int], *rest: int) -> torch.Tensor:
        if self.engine.state.owned.get(victim) in rows:
            self.twin.failed.add(victim)
            raise RuntimeError("a kernel failed")
        return self._decode(rows, *rest)

    def run_out_of_memory(self) -> None:
        def no_room(rows: list[int], *rest: int) -> torch.Tensor:
            self.engine.runner.decode = self._decode  # type: ignore[method-assign]
            if len(self.engine.scheduler.running) == 1:  # the others have ended with this step's begin
                self.twin.no_room = {self.engine.scheduler.running[0].request_id}
            raise torch.OutOfMemoryError("no room")

        if len(self.engine.scheduler.running) > 1:
            self.engine.runner.decode = no_room  # type: ignore[method-assign]
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
            self.twin.ends(clip)

    def walk(self, actions: int) -> None:
        weights = {self.step: 12, self.add: 4, self.cancel: 1, self.fail: 1, self.preempt: 1, self.add_twice: 1}
        names, shares = [*weights, self.run_out_of_memory], [*weights.values(), 0.3]
        for action in self.rng.choices(names, shares, k=actions):
            action()
            if not self.engine.has_work and self.rng.random() < 0.05:
                self.begin()
        while self.engine.has_work:
            self.step()
        assert not self.twin.kinds, "every request has come back"
        assert self.engine.state.free == ROWS and self.engine.scheduler.pool.free == PAGES
        assert not self.engine._pending and not self.engine._ids and not len(self.engine.audio)


@pytest.mark.parametrize("seed", range(2))
def test_any_order_of_actions_gives_what_the_twin_gives(tiny_model: VoxCPM2, seed: int) -> None:
    world = World(tiny_model, seed)
    world.walk(220)
    assert world.twin.ended["stop"] + world.twin.ended["length"] >= 10
    assert world.twin.ended["error"] and world.twin.ended["cancelled"]
    assert world.engine.counters.preemptions


@pytest.mark.long
def test_a_hundred_thousand_steps(tiny_model: VoxCPM2) -> None:
    world = World(tiny_model, 99)
    wanted = int(os.environ.get("VOXCPM2_STATES", "100000"))
    actions = 0
    while world.steps < wanted:
        world.walk(2000)
        actions += 2000
        ended = dict(world.twin.ended)
        print(f"{world.steps:,} steps in {actions:,} actions, {world.added:,} requests: {ended}", flush=True)
