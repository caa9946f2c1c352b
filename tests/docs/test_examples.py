"""The example scripts run as they are, and print what they are there to show."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

EXAMPLES = ROOT / "examples"
GIVE_UP_S = 60.0
PRINTED = {
    "read.py": """\
A-1 returned 10
A-2 returned 20
A-3 returned 30
Z-9 processed_not_returned -
pass 1: asked 4, left over 1
pass 2: asked 1, left over 0
accept: caller, use the items
""",
    "resume.py": """\
first: passes_exhausted, unresolved ['A-2', 'A-4'], retry
rest:  complete, returned ['A-2', 'A-4'], accept
5 items from observations 1 and 2
""",
    "stream.py": """\
complete: 300 keys in 3 calls
sum of totals 313750, 50 not visible to this read
""",
    "several_tables.py": """\
Orders: ['A-1', 'A-2'] returned, [] not
Customers: ['c-1'] returned, ['c-3'] not
calls: 1
""",
    "list_adapter.py": """\
['A-3', 'A-1']
no list: retry, unresolved ['A-1']
""",
    "write_table.py": """\
60 of 60 succeeded, 25 of them by a look-up
row 26: planned, dispatched, lost, found
accept: 60 items in the table after 4 calls
the same items again: 0 new, 60 there already
""",
    "send_messages.py": """\
review: 2 succeeded, 10 wait for a person: hold
decided: 12 succeeded, 12 messages in the queue
at least once: 12 succeeded, 10 of them possibly twice: accept
22 messages in the queue
""",
    "own_worker.py": """\
no answer: {'pending': 1, 'succeeded': 1, 'reconcile': 1}
looked up: {'same': 1}
r-1 succeeded -
r-2 succeeded -
r-3 terminal over the limit
""",
    "cursors_fastapi.py": """\
first page:  ['ada-1', 'ada-3', 'ada-5']
second page: ['ada-7'] next: None
altered: 400 the cursor is not valid for this request; leave it out to begin with the first page
of another query: 400 the cursor is not valid for this request; leave it out to begin with the first page
of somebody else: 400 the cursor is not valid for this request; leave it out to begin with the first page
""",
    "cursors_flask.py": """\
server 1: ['grace-1', 'grace-2'] more
server 2: ['grace-3', 'grace-4'] more
server 3: ['grace-5', 'grace-6'] more
server 4: ['grace-7'] end
old key gone: 400 the cursor is not valid for this request; leave it out to begin with the first page
""",
    "with_asyncio.py": """\
A-1 returned
A-2 returned
Z-9 processed_not_returned
accept after 2 passes
""",
}


@pytest.mark.parametrize(
    "script",
    [pytest.param(s, marks=[pytest.mark.aio] if s == "with_asyncio.py" else []) for s in PRINTED],
)
def test_an_example_prints_what_it_is_there_to_show(script: str, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, str(EXAMPLES / script)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=GIVE_UP_S,
    )
    assert (PRINTED[script], "") == (ended.stdout, ended.stderr)
    assert 0 == ended.returncode
    assert [] == list(tmp_path.iterdir())


def test_every_example_is_run_and_listed() -> None:
    scripts = {path.name for path in EXAMPLES.glob("*.py")} - {"orders.py", "order_table.py", "services.py"}
    assert set(PRINTED) == scripts
    assert [] == [name for name in scripts if f"[{name}]({name})" not in (EXAMPLES / "README.md").read_text()]
