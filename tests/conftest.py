"""What every test gets: a sealed environment, the real engines, and markers that follow from what a test asks for."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import boto3
import botocore
import pytest
from hypothesis import settings

from tests.engines import launch
from tests.engines.launch import Engine
from tests.engines.tables import KeySchema, create_table, delete_table
from tests.network_guard import PROXY_ENVIRONMENT, NetworkGuard

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

ENGINE_FIXTURES = {"engine", "dynalite", "moto"}
# What decides elsewhere where the SDK, the smoke run and the command line go.
OUTSIDE_PREFIXES = ("AWS_", "DDB_", "ITEMLEDGER_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
SEALED_ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "sealed",
    "AWS_SECRET_ACCESS_KEY": "sealed",
    "AWS_REGION": launch.REGION,
    "AWS_DEFAULT_REGION": launch.REGION,
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    **PROXY_ENVIRONMENT,
}

# Time is never asserted, and no example database is left in the tree. With CI set, Hypothesis loads its own profile,
# which does the same and draws the same examples every time.
settings.register_profile("local", deadline=None, database=None)
settings.register_profile("soak", deadline=None, database=None, max_examples=5_000)
if not os.environ.get("CI"):
    settings.load_profile("local")

guard = NetworkGuard()
guard.install()

missing_engines: dict[str, str] = {}


class MakeTable(Protocol):
    """Makes a table that is deleted after the test; `key` holds the partition key and perhaps the sort key."""

    def __call__(self, target: Engine | DynamoDBClient, key: KeySchema = (("pk", "S"),)) -> str: ...


# ----------------------------------------------------------------------------------------------- a sealed environment


@pytest.fixture(scope="session", autouse=True)
def sealed_environment() -> Iterator[None]:
    """No credentials, regions, profiles, endpoints or tables of the machine that runs the suite."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [*os.environ]:
            if name.upper().startswith(OUTSIDE_PREFIXES):
                patch.delenv(name)
        for name, value in SEALED_ENVIRONMENT.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(autouse=True)
def loopback_only() -> Iterator[None]:
    """Fails a test that tried to leave this machine, even where the code under test swallowed the refusal."""
    guard.take_attempts()
    yield
    if attempts := guard.take_attempts():
        pytest.fail("tried to leave this machine: " + ", ".join(attempts), pytrace=False)


# -------------------------------------------------------------------------------------------------------- the engines


@pytest.fixture(scope="session")
def dynalite(sealed_environment: None) -> Iterator[Engine]:
    """dynalite, started at first use. Where it is not installed, the test is skipped; with CI=true it fails."""
    try:
        launch.dynalite_node()
    except launch.DynaliteMissingError as error:
        missing_engines["dynalite"] = str(error)
        if os.environ.get("CI") == "true":
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))
    with launch.dynalite() as engine:
        yield engine


@pytest.fixture(scope="session")
def moto(sealed_environment: None) -> Iterator[Engine]:
    """moto's server, started at first use."""
    with launch.moto() as engine:
        yield engine


@pytest.fixture(scope="session", params=["dynalite", "moto"])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine in turn; its process belongs to another fixture, or every change of parameter would restart it."""
    running = request.getfixturevalue(request.param)
    assert isinstance(running, Engine)
    return running


@pytest.fixture
def make_table() -> Iterator[MakeTable]:
    """A factory of tables with names of their own, deleted after the test."""
    with contextlib.ExitStack() as tables:

        def make(target: Engine | DynamoDBClient, key: KeySchema = (("pk", "S"),)) -> str:
            client = target.client() if isinstance(target, Engine) else target
            name = create_table(client, key)
            tables.callback(delete_table, client, name)
            return name

        yield make


# ------------------------------------------------------------------------------------- collection and what is reported


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks what runs on an engine, and leaves tests that need aiobotocore to the environment that has it."""
    for item in items:
        if ENGINE_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.engine)
    if importlib.util.find_spec("aiobotocore") is None:
        left_out = [item for item in items if item.get_closest_marker("aio")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("aio")]


def pytest_report_header() -> list[str]:
    """Which SDK this run proves something about."""
    asynchronous = importlib.util.find_spec("aiobotocore")
    return [
        f"sdk: boto3 {boto3.__version__}, botocore {botocore.__version__}"
        + ("" if asynchronous else "; no aiobotocore here, so tests marked aio are left to `make test-aio`")
    ]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """An engine that was not here is said last and loudly: a skip is easily overlooked."""
    for name, reason in missing_engines.items():
        terminalreporter.section(f"NOT TESTED ON {name}", sep="!", red=True, bold=True)
        terminalreporter.line(reason)
