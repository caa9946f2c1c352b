"""What a user installs is whole, and the locks are what the Makefile promises of them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.engines.launch import ROOT

PACKAGE = ROOT / "src" / "itemledger"
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    target = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(target)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (path,) = target.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


def test_the_wheel_carries_every_file_of_the_package(wheel: zipfile.ZipFile) -> None:
    files = (path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    expected = {path.relative_to(ROOT / "src").as_posix() for path in files}

    assert "itemledger/py.typed" in expected
    assert set() == expected - set(wheel.namelist())


def test_the_wheel_carries_the_licence(wheel: zipfile.ZipFile) -> None:
    (licence,) = (name for name in wheel.namelist() if name.endswith("licenses/LICENSE"))

    assert "Apache License" in wheel.read(licence).decode()


def locked(path: Path) -> dict[str, str]:
    """Each requirement of a lock with all that belongs to it."""
    text = re.sub(r"\\\n\s*", "", path.read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {line.split()[0]: line for line in lines}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_a_lock_pins_and_hashes_everything_and_names_no_host(lock: Path) -> None:
    requirements = locked(lock)

    assert requirements
    assert [] == [line for pin, line in requirements.items() if "==" not in pin or "--hash=sha256:" not in line]
    assert "://" not in lock.read_text(encoding="utf-8")


def test_the_lock_of_the_javascript_engine_checks_everything_and_names_no_registry() -> None:
    lock = json.loads((ROOT / "tests" / "engines" / "node" / "package-lock.json").read_text(encoding="utf-8"))
    packages = {name: package for name, package in lock["packages"].items() if name}

    assert packages
    assert [] == [name for name, package in packages.items() if "resolved" in package or "integrity" not in package]


def test_both_ends_of_the_supported_sdk_range_are_locked() -> None:
    (sdk,) = (Requirement(text) for text in PROJECT["dependencies"])
    floor = next(part.version for part in sdk.specifier if part.operator == ">=")

    newest = next(
        pin.removeprefix("boto3==") for pin in locked(ROOT / "requirements/dev.txt") if pin.startswith("boto3==")
    )
    assert f"boto3=={floor}" in locked(ROOT / "requirements/oldest.txt")
    assert newest in sdk.specifier
