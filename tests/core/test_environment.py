"""The environment of a recorded run: what it tells, and what it must not."""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import boto3
import botocore
import pytest
from botocore.config import Config

import itemledger
from itemledger.environment import UNSET, environment, main, source_hash
from itemledger.testing import ScriptedClient

SOURCES = Path(itemledger.__file__).parent


def client(config: Config | None = None, endpoint_url: str | None = None) -> Any:
    return boto3.client(
        "dynamodb",
        region_name="eu-central-1",
        endpoint_url=endpoint_url,
        config=config,
        aws_access_key_id="AKIDTOLD",
        aws_secret_access_key="secret-told",
        aws_session_token="token-told",
    )


def test_it_names_the_versions_that_read() -> None:
    told = environment(client(), policy="all")
    assert f"CPython {platform.python_version()}" == told["python"]
    assert (botocore.__version__, boto3.__version__) == (told["botocore"], told["boto3"])
    assert (metadata.version("itemledger"), "itemledger/evidence/1") == (told["itemledger"], told["result_schema"])


def test_what_is_not_installed_is_null() -> None:
    installed = {distribution.name for distribution in metadata.distributions()}
    assert (environment(None, policy=None)["aiobotocore"] is None) == ("aiobotocore" not in installed)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            Config(retries={"mode": "standard", "total_max_attempts": 2}),
            {"mode": "standard", "total_max_attempts": 2, "set_by": "client configuration"},
        ),
        (
            Config(retries={"mode": "adaptive", "max_attempts": 0}),
            {"mode": "adaptive", "total_max_attempts": 1, "set_by": "client configuration"},
        ),
        (
            Config(retries={"mode": "legacy"}),
            {"mode": "legacy", "total_max_attempts": None, "set_by": "caller's client, unset"},
        ),
    ],
    ids=["total", "retries", "mode only"],
)
def test_the_sdk_retries_are_those_of_the_client(config: Config, expected: dict[str, Any]) -> None:
    assert expected == environment(client(config), policy="all")["sdk_retries"]


def test_a_client_that_sets_no_retries_is_told_as_unset() -> None:
    """Its mode and attempts are the SDK's defaults, or those of environment variables: no setting to rely on."""
    told = environment(client(), policy="all")["sdk_retries"]
    assert (None, UNSET) == (told["total_max_attempts"], told["set_by"])


def test_attempts_told_by_the_process_environment_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "7")
    assert 7 == environment(client(), policy="all")["sdk_retries"]["total_max_attempts"]


@pytest.mark.parametrize(
    ("endpoint_url", "host"),
    [
        (None, "dynamodb.eu-central-1.amazonaws.com"),
        ("http://user:password@localhost:4567/path", "localhost"),
        ("http://[::1]:8000", "::1"),
    ],
)
def test_the_endpoint_is_told_as_its_host_alone(endpoint_url: str | None, host: str) -> None:
    told = environment(client(endpoint_url=endpoint_url), policy="all")
    assert ("eu-central-1", host) == (told["region"], told["endpoint_host"])
    assert not [word for word in ("password", "4567", 'path"') if word in json.dumps(told)]


def test_what_cannot_be_seen_is_given_or_null() -> None:
    given = {
        "data_revision": "d-1",
        "fixture_revision": "f-1",
        "dependency_lock": "0" * 64,
        "account": "000000000000",
    }
    told = environment(None, policy="keys", **given)
    assert ("d-1", "f-1", "0" * 64, "000000000000", "keys") == (
        told["data_revision"],
        told["fixture_revision"],
        told["dependency_lock_sha256"],
        told["account"],
        told["policy"],
    )
    told = environment(None, policy=None)
    assert {None} == {
        told[name]
        for name in (
            "data_revision",
            "fixture_revision",
            "dependency_lock_sha256",
            "account",
            "policy",
            "sdk_retries",
            "region",
            "endpoint_host",
        )
    }


def test_it_holds_no_credentials_no_paths_and_no_host_name() -> None:
    text = json.dumps(environment(client(), policy="all"))
    forbidden = ["AKIDTOLD", "secret-told", "token-told", str(SOURCES), sys.prefix, str(Path.home()), platform.node()]
    assert not [word for word in forbidden if word and word in text]


def test_nobody_is_asked_for_anything() -> None:
    """Not for the account, and not for the table: a run's environment costs no call."""
    with ScriptedClient([]) as scripted:
        assert "scripted.invalid" == environment(scripted, policy="all")["endpoint_host"]
        assert [] == scripted.calls


def test_a_client_of_another_make_is_told_as_far_as_it_can_be_seen() -> None:
    told = environment(object(), policy="all")
    assert {"mode": None, "total_max_attempts": None, "set_by": UNSET} == told["sdk_retries"]
    assert (None, None) == (told["region"], told["endpoint_host"])


def test_the_source_hash_goes_over_every_python_file_of_the_package() -> None:
    digest = hashlib.sha256()
    for path in sorted(SOURCES.rglob("*.py"), key=lambda path: path.relative_to(SOURCES).as_posix()):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(SOURCES).as_posix()}\n{len(content)}\n".encode() + content)
    assert digest.hexdigest() == source_hash()


def test_the_module_prints_it_as_json_with_the_test_runner(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text("boto3==1\n")
    main(["--lock", str(lock), "--fixture-revision", "f-1", "--data-revision", "d-1"])
    told = json.loads(capsys.readouterr().out)
    assert (pytest.__version__, "f-1", "d-1") == (told["pytest"], told["fixture_revision"], told["data_revision"])
    assert hashlib.sha256(b"boto3==1\n").hexdigest() == told["dependency_lock_sha256"]


def test_it_runs_as_a_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "itemledger.environment"], capture_output=True, text=True, check=True, timeout=60
    )
    assert source_hash() == json.loads(done.stdout)["source_sha256"]
    assert "" == done.stderr
