"""A directory and a service of its own for each page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli import proxy
from tests.docs.service import Service
from tests.engines.launch import Engine


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the page's code runs; it starts empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def service(moto: Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """moto behind a proxy, where the SDK and the command line go by themselves."""
    with proxy.running(moto.endpoint_url) as running:
        monkeypatch.setenv("AWS_ENDPOINT_URL", moto.endpoint_url)
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", running.endpoint_url)
        made = Service(moto.client(), running)
        yield made
        made.close()
