"""``python -m tests.simulation.run SEED`` runs one seed again and prints every step of it and what breaks."""

from __future__ import annotations

import sys
import traceback

from itemledger.ledger.memory import MemoryStore
from tests.simulation.world import World


def main(seed: int) -> int:
    world = World(seed, lambda clock: MemoryStore(clock=clock))
    try:
        world.run()
    except AssertionError:
        traceback.print_exc(file=sys.stdout)
        return 1
    finally:
        print("\n".join(world.lines))
        print(world.kind, world.policy, world.trace)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1])))
