"""A scan that is killed, anywhere and again and again: the same line goes on, and no page is lost or written twice."""

from __future__ import annotations

import gzip
import itertools
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import itemledger as il
from tests.engines.launch import Engine

ITEMS = 60
#: Kills that every run of the suite makes, and those of a soak.
POINTS = [
    (die, nth, after) for die, nth, after in itertools.product(("write", "fsync"), (1, 2, 3, 5, 8), (False, True))
]


@pytest.fixture(scope="module")
def table(moto: Engine) -> Iterator[str]:
    client, name = moto.client(), "scan-killed"
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "n", "AttributeType": "N"}],
        KeySchema=[{"AttributeName": "n", "KeyType": "HASH"}],
    )
    with il.batch_writer(client, name, key={"n": "N"}) as batch:
        for n in range(ITEMS):
            batch.put_item(Item={"n": n, "pad": "x" * 40})
    yield name
    client.delete_table(TableName=name)


class Scanning:
    """One scan, by as many processes as it takes."""

    def __init__(self, moto: Engine, table: str, directory: Path, *, name: str = "out.jsonl", handler: bool = False):
        self.to = directory / name
        self.kills = 0
        self._job = {
            "endpoint": moto.endpoint_url,
            "table": table,
            "to": str(self.to),
            "checkpoint": str(directory / "scan.ckpt"),
            "segments": 3,
            "limit": 4,
            "handler": handler,
        }

    def run(self, **die: Any) -> bool:
        """Whether it came to its end; a process that ends in another way than by the kill is a fault."""
        process = subprocess.run(
            [sys.executable, "-m", "tests.processes.scan_program", json.dumps({**self._job, **die})],
            capture_output=True,
            check=False,
            timeout=120,
        )
        assert process.returncode in (0, -9), process.stderr.decode()
        self.kills += process.returncode == -9
        return process.returncode == 0

    def run_for(self, seconds: float) -> bool:
        """The same, killed from outside after so long."""
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.processes.scan_program", json.dumps(self._job)], stderr=subprocess.PIPE
        )
        try:
            _, said = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.kills += 1
            return False
        assert 0 == process.returncode, said.decode()
        return True


def numbers(path: Path) -> Counter[int]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return Counter(json.loads(line)["n"] for line in data.splitlines())


EACH_ONCE = Counter(range(ITEMS))


@pytest.mark.parametrize("points", [POINTS[i::5] for i in range(5)], ids=str)
def test_killed_at_chosen_points_every_item_is_written_once(
    moto: Engine, table: str, tmp_path: Path, points: list[tuple[str, int, bool]]
) -> None:
    scanning = Scanning(moto, table, tmp_path, name=random.Random(str(points)).choice(["out.jsonl", "out.jsonl.gz"]))
    for die, nth, after in points:
        if scanning.run(die=die, nth=nth, after=after):
            break
    assert scanning.kills
    assert scanning.run()
    assert EACH_ONCE == numbers(scanning.to)


def test_a_callers_function_gets_each_page_again_under_its_number_until_it_is_behind(
    moto: Engine, table: str, tmp_path: Path
) -> None:
    scanning = Scanning(moto, table, tmp_path, handler=True)
    for nth, after in itertools.product((2, 3, 5), (False, True)):
        if scanning.run(die="fsync", nth=nth, after=after):
            break
    assert scanning.kills >= 3
    assert scanning.run()
    pages: dict[tuple[int, int], list[int]] = {}
    for line in scanning.to.read_text().splitlines():
        segment, number, found = json.loads(line)
        assert found == pages.setdefault((segment, number), found)
    assert EACH_ONCE == Counter(itertools.chain.from_iterable(pages.values()))


def kill_until_done(moto: Engine, table: str, directory: Path, seed: int) -> int:
    """Kills one scan at random moments until it has come to its end all the same; how often it was killed."""
    draw = random.Random(seed)
    scanning = Scanning(moto, table, directory, name=draw.choice(["out.jsonl", "out.jsonl.gz"]))
    for _ in range(40):
        if draw.random() < 0.5:
            done = scanning.run(die=draw.choice(["write", "fsync"]), nth=draw.randint(1, 12), after=draw.random() < 0.5)
        else:
            done = scanning.run_for(draw.uniform(0.3, 1.2))
        if done:
            break
    else:
        assert scanning.run()
    assert EACH_ONCE == numbers(scanning.to)
    return scanning.kills


@pytest.mark.soak
def test_five_hundred_kills(moto: Engine, table: str, tmp_path: Path) -> None:
    kills = 0
    for seed in itertools.count():
        (tmp_path / str(seed)).mkdir()
        kills += kill_until_done(moto, table, tmp_path / str(seed), seed)
        if kills >= 500:
            break
