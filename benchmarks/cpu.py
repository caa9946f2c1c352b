"""CPU time per item: each contender in its own process, rounds interleaved, ratios taken inside a round."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from benchmarks.contenders import Contender
from benchmarks.processes import worker


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured: keys in a read, reads in a measurement, and rounds."""

    keys: int
    reads: int
    rounds: int


@dataclass(frozen=True, slots=True)
class Rounds:
    """CPU seconds per item, by contender, an entry per round."""

    seconds: dict[Contender, list[float]]

    def items_per_second(self, contender: Contender) -> float:
        return 1 / median(self.seconds[contender])

    def ratios(self, contender: Contender, baseline: Contender) -> list[float]:
        """CPU time beside the baseline's of the same round, smallest first; noise that lasts a round falls out."""
        pairs = zip(self.seconds[contender], self.seconds[baseline], strict=True)
        return sorted(mine / its for mine, its in pairs)


def measure(size: Size) -> Rounds:
    seconds: dict[Contender, list[float]] = {contender: [] for contender in Contender}
    for number in range(size.rounds):
        order = list(Contender) if number % 2 == 0 else list(reversed(Contender))
        for contender in order:
            measured = worker("cpu", contender.value, size.keys, size.reads)
            seconds[contender].append(measured["cpu_s"] / measured["items"])
    return Rounds(seconds)
