"""A run with many workers, from the side that drives it: lines out, results in, dead workers made anew.

It waits for one thing at a time: whatever a worker or a reader of voices has finished comes as an event. What becomes
of lines is decided in `dispatch`, where workers live is known to a `Fleet`; results are noted here, and nowhere else.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from voxcli.cluster.collector import Landing
from voxcli.cluster.dispatch import Dispatch, Line
from voxcli.cluster.messages import Hello, Order, Report
from voxcli.cluster.options import Crew
from voxcli.cluster.pool import Fleet, Lost, Member
from voxcli.cluster.voices import SharedVoices, Unencoded
from voxcli.errors import DeviceError, SynthesisError, VoxError, in_one_line
from voxcli.interrupts import cleanup, interruptible
from voxcli.jobs.plan import Utterance
from voxcli.jobs.result import Outcome, failure
from voxcli.run.batch import BatchRun
from voxcli.run.profile import MODEL
from voxcli.terminal import counted
from voxcli.voices.source import EncodedVoice

FRUITLESS = 12  # deaths in a row, or four of each worker, without one line spoken: then it is not the lines
LATE_S = 30.0  # after that no share of the lines is kept for a worker that has not loaded
ENCODES = 2  # voices that one worker encodes at once
PATIENCE_S = 10.0  # for workers to finish the files they are at, when a run ends before its time


class Conductor:
    """Runs utterances, longest first, on a fleet.

    run:         its folder, in which all files lie, its log, display and timer.
    options:     how often a line is retried, and when a worker counts as hung.
    rate:        of the model's voice encoder in Hz, and `encoder` gives its identity.
    poll_s:      how long a worker waits for a result before it answers that there is none.
    """

    def __init__(
        self,
        fleet: Fleet,
        utterances: Iterable[Utterance],
        run: BatchRun,
        *,
        options: Crew,
        rate: int,
        encoder: Callable[[], str],
        poll_s: float = 10.0,
    ):
        self.fleet, self.batch, self.out, self.say = fleet, run, run.out, run.display.say
        self.dispatch = Dispatch(options.max_retries)
        self._hang_s = options.hang_s
        self._poll_s = min(poll_s, options.hang_s / 3)  # one that works must have answered several times by then
        self._utterances = [_seeded(utterance) for utterance in utterances]
        self._left = len(self._utterances)
        self._members: dict[str, Member] = {}
        self._fruitless = 0
        self._ending = False
        self._looked = time.monotonic()  # for those that are late
        self._events: SimpleQueue[tuple[Callable[[Future[Any]], None], Future[Any]]] = SimpleQueue()
        self._outcomes: list[Outcome] = []
        self._landing = Landing(run.out, run.log, run.timer)
        self._voices = SharedVoices(
            self._utterances,
            rate=rate,
            identity=encoder,
            share=fleet.share,
            events=self,
            say=self.say,
        )

    def run(self) -> Iterator[Outcome]:
        """Outcomes as they land. Raises VoxError when a worker can't load, or when they die and nothing is spoken."""
        with cleanup(), self._landing, self._voices, self._workers(), interruptible():
            self.dispatch.add(each for each in self._utterances if not each.job.voices)
            while self._left:
                self._give_work()
                with self.batch.timer(MODEL):
                    self._hear(1.0)
                while self._outcomes:
                    yield self._outcomes.pop(0)

    @contextmanager
    def _workers(self) -> Iterator[None]:
        try:
            for number in range(self.fleet.size):
                self._start(f"{number + 1}")
            yield
        finally:
            self._end()

    def ready(self, utterances: list[Utterance]) -> None:
        """Their voices are there."""
        self.dispatch.add(utterances)

    # -- events -------------------------------------------------------------------------------------------------
    def when(self, future: Future[Any], then: Callable[[Future[Any]], None]) -> None:
        """Have `then` called with the future when that is done, by the thread that runs."""
        future.add_done_callback(lambda done: self._events.put((then, done)))

    def _hear(self, wait_s: float) -> None:
        """The next event, and all that are there with it."""
        with suppress(Empty):
            then, future = self._events.get(timeout=wait_s)
            then(future)
            for _ in range(self._events.qsize()):
                then, future = self._events.get()
                then(future)

    def _give_work(self) -> None:
        self._voices.begin(idle=not self.dispatch.unfinished)
        for member in self._members.values() if self._voices.unencoded else ():
            while member.hello is not None and member.encoding < ENCODES and (todo := self._voices.to_encode()):
                member.encoding += 1
                asked = member.handle.ask("encode", todo.voice, todo.source.use)
                self.when(asked, partial(self._encoded, member, todo))
        for name, lines in self.dispatch.hand_out().items():
            self._hand(self._members[name], lines)
        while (asked_back := self.dispatch.steal()) is not None:
            name, count = asked_back
            member = self._members[name]
            self.when(member.handle.ask("give_back", count), partial(self._given_back, member))
        if (since := time.monotonic() - self._looked) > 1.0:
            self._looked += since
            for member in self._members.values():  # while nobody listened here (Ctrl-Z, a slow disk) nobody hung
                member.moved += max(0.0, since - 2.0)
            self._look_for_late_ones()
            self._look_for_hung_ones()

    def _look_for_late_ones(self) -> None:
        unloaded = [member for member in self._members.values() if member.hello is None]
        late = [member for member in unloaded if not member.late and self._looked - member.since > LATE_S]
        for member in late:
            member.late = True
            self.dispatch.lost(member.name)
        if late:
            loaded = len(self._members) - len(unloaded)
            self.say(
                f"{loaded} of {counted(len(self._members), 'worker')} loaded; the others load or wait for the cluster"
            )

    def _look_for_hung_ones(self) -> None:
        """Those that answer nothing, or make no step though they have lines."""
        for member in list(self._members.values()):
            if member.hello is not None and self._looked - member.moved > self._hang_s:
                self._died(member, Lost(f"nothing has moved there for {self._hang_s:.0f} s"), hung=True)

    def _hand(self, member: Member, lines: Sequence[Line]) -> None:
        places: dict[object, int] = {}
        voices: list[object] = []
        orders = []
        for line in lines:
            mine = []
            for source, shared in self._voices.of(line.utterance):
                if source not in places:
                    places[source] = len(voices)
                    voices.append(shared)
                mine.append(places[source])
            job = line.utterance.job
            there = replace(line.utterance, job=replace(job, out=job.out.relative_to(self.out)))
            orders.append(Order(there, tuple(mine)))
        self.when(member.handle.ask("put", orders, *voices), partial(self._handed, member))

    # -- workers ------------------------------------------------------------------------------------------------
    def _start(self, name: str, again: bool = False) -> None:
        member = self._members[name] = Member(name, self.fleet.start(), time.monotonic(), again)
        self.dispatch.expect(name)
        self.when(member.handle.ask("load"), partial(self._loaded, member))

    def _here(self, member: Member) -> bool:
        """Whether an event is of a worker that is still one of the crew."""
        return self._members.get(member.name) is member

    def _loaded(self, member: Member, future: Future[Hello]) -> None:
        if not self._here(member):
            return
        error = future.exception()
        if isinstance(error, Lost):
            self._died(member, error)
            return
        if isinstance(error, Exception) and member.again and len(self._members) > 1:
            self._given_up(member, error)
            return
        if isinstance(error, VoxError):
            raise error
        if error is not None:
            raise SynthesisError(f"a worker could not start: {in_one_line(error)}") from error  # type: ignore[arg-type]
        member.hello = hello = future.result()
        member.moved = time.monotonic()
        if all(other is member or other.hello is None for other in self._members.values()):
            workers = counted(self.fleet.size, "worker")
            self.batch.display.speaking(f"{hello.name}, {workers}", hello.patch_s)
        if member.late:  # until now no share was kept for it
            self.dispatch.expect(member.name)
        self.dispatch.join(member.name, hello.rows)
        self._ask(member)

    def _given_up(self, member: Member, error: Exception) -> None:
        """Where it ran, none can be started any more, as on a GPU that is broken: the others go on."""
        del self._members[member.name]
        member.handle.kill()
        if member.name in self.dispatch.stations:
            self.dispatch.lost(member.name)
        self.say(f"{member} can't be started again: {in_one_line(error)}; {counted(len(self._members), 'worker')} left")

    def _ask(self, member: Member) -> None:
        member.polling = True
        self.when(member.handle.ask("take", self._poll_s), partial(self._reported, member))

    def _reported(self, member: Member, future: Future[Report]) -> None:
        member.polling = False
        if not self._here(member):
            return
        if (error := future.exception()) is not None:
            self._died(member, error)
            return
        report = future.result()
        if report.steps != member.steps or report.landed or not self.dispatch.has_lines(member.name):
            member.steps, member.moved = report.steps, time.monotonic()
        self._landed(member, report)
        if self._ending:
            return
        if report.ended is not None:
            self._died(member, Lost(report.ended))
            return
        if report.rows != self.dispatch.stations[member.name].rows:
            self.dispatch.join(member.name, report.rows)
        if report.patches:
            self.batch.display.running(report.patches)
        self._ask(member)

    def _handed(self, member: Member, future: Future[None]) -> None:
        if (error := future.exception()) is not None and self._here(member):
            self._died(member, error)

    def _given_back(self, member: Member, future: Future[list[str]]) -> None:
        if not self._here(member):
            return
        if (error := future.exception()) is not None:
            self._died(member, error)
        else:
            self.dispatch.given_back(member.name, future.result())

    def _encoded(self, member: Member, todo: Unencoded, future: Future[EncodedVoice]) -> None:
        member.encoding -= 1
        error = future.exception()
        if isinstance(error, Lost | DeviceError):
            self._voices.again(todo, self.dispatch.max_retries)
            if self._here(member):
                self._died(member, error)
        else:
            self._voices.encoded(todo.source, future)

    def _died(self, member: Member, error: BaseException, hung: bool = False) -> None:
        """Its unfinished lines run elsewhere, and another worker takes its place."""
        self.batch.last_death = time.time()
        member.stopped = True
        if self._ending:
            return
        member.handle.kill(member.hello if hung else None)  # whatever is left of it
        station = self.dispatch.stations.get(member.name)  # none of one that is late
        unfinished = len(station.lines) if station is not None else 0
        failed = self.dispatch.lost(member.name) if station is not None else []
        reason = str(error) if isinstance(error, Lost) else in_one_line(error)  # type: ignore[arg-type]
        left = unfinished - len(failed)
        again = (
            f"; its {left} unfinished lines run again"
            if left > 1
            else "; its unfinished line runs again"
            if left
            else ""
        )
        self.say(f"{member} died: {reason}{again}")
        for line in failed:
            deaths = counted(line.deaths, "time")
            self.fail(line.utterance, SynthesisError(f"its worker died {deaths} while it was spoken"))
        self._fruitless += 1
        if self._fruitless >= max(FRUITLESS, 4 * self.fleet.size):
            raise SynthesisError(
                f"workers died {self._fruitless} times in a row and no line was spoken, the last one: {reason}; "
                "the same command goes on with what is left"
            )
        self._start(member.name, again=True)

    # -- results ------------------------------------------------------------------------------------------------
    def _landed(self, member: Member, report: Report) -> None:
        """Note what came, once for each line: what another worker has by now is not this one's to end."""
        for remark in report.remarks:
            self.say(f"{member}: {remark}")
        mine = [
            (line.utterance, landed)
            for landed in report.landed
            if (line := self.dispatch.finish(member.name, landed.result.id)) is not None
        ]
        if mine:
            self._note(self._landing.placed(mine))

    def fail(self, utterance: Utterance, error: Exception) -> None:
        told = error if isinstance(error, VoxError) else SynthesisError(f"unexpected {in_one_line(error)}")
        self._note([(utterance, failure(utterance.job, told, self.out))])

    def _note(self, pairs: Sequence[tuple[Utterance, Outcome]]) -> None:
        self._landing.note([outcome for _, outcome in pairs])
        for utterance, outcome in pairs:
            self._left -= 1
            self._voices.ended(utterance)
            self._outcomes.append(outcome)
            if outcome.result.ok:
                self._fruitless = 0

    def _end(self) -> None:
        """All workers go. What they have finished by then is noted, what they are at is dropped."""
        self._ending = True
        waited = time.monotonic()
        loaded = [member for member in self._members.values() if member.hello is not None]
        for member in loaded:
            self.when(member.handle.ask("stop"), partial(self._stopped, member))
        with suppress(VoxError):  # a disk that is full, and was told: nothing more can be noted
            while time.monotonic() - waited < PATIENCE_S and not all(m.stopped and not m.polling for m in loaded):
                self._hear(0.1)
        for member in self._members.values():
            member.handle.kill()

    def _stopped(self, member: Member, future: Future[Report]) -> None:
        member.stopped = True
        if future.exception() is None:
            self._landed(member, future.result())


def _seeded(utterance: Utterance) -> Utterance:
    """With a seed, drawn here where it needs one: a line that is run again speaks the same."""
    if utterance.job.settings.seed is not None or utterance.seed is not None:
        return utterance
    return replace(utterance, seed=secrets.randbits(31))
