"""The environment of a recorded run: versions, SDK settings and revisions; no credentials, no paths, no host name.

``python -m itemledger.environment`` prints it as JSON, for continuous integration to keep beside its test report.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
from importlib import metadata
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from itemledger._version import __version__
from itemledger.core.evidence import SCHEMA

#: What is said of SDK settings that the caller's client leaves to the SDK's defaults and the process's environment.
UNSET = "caller's client, unset"

_SDKS = ("botocore", "boto3", "aiobotocore")


def environment(
    client: Any,
    *,
    policy: str | None,
    data_revision: str | None = None,
    fixture_revision: str | None = None,
    dependency_lock: str | None = None,
    account: str | None = None,
) -> dict[str, Any]:
    """What a run was made with, for the header of its evidence file.

    ``client`` may be None where there is none. What cannot be seen from here is given, or stays null: the revisions of
    data and fixtures, the hash of the dependency lock, the account (nobody is asked for it). ``policy`` is the name of
    the acceptance policy.
    """
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": f"{platform.system()} {platform.machine()}",
        "itemledger": __version__,
        "source_sha256": source_hash(),
        "fixture_revision": fixture_revision,
        "dependency_lock_sha256": dependency_lock,
        **{name: _version(name) for name in _SDKS},
        "sdk_retries": _sdk_retries(client),
        "region": _meta(client, "region_name"),
        "endpoint_host": urlsplit(_meta(client, "endpoint_url") or "").hostname,
        "account": account,
        "data_revision": data_revision,
        "policy": policy,
        "result_schema": SCHEMA,
    }


def source_hash() -> str:
    """SHA-256 over the package's Python files: path inside the package and content, in path order."""
    digest = hashlib.sha256()
    for path, content in sorted(_sources(files("itemledger"), "")):
        digest.update(f"{path}\n{len(content)}\n".encode() + content)
    return digest.hexdigest()


def _sources(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _sources(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".py"):
            found.append((prefix + entry.name, entry.read_bytes()))
    return found


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _sdk_retries(client: Any) -> dict[str, Any] | None:
    """The client's own setting. Without a number of attempts in it, defaults and environment variables decide."""
    if client is None:
        return None
    retries = getattr(_meta(client, "config"), "retries", None) or {}
    attempts = retries.get("total_max_attempts")
    return {
        "mode": retries.get("mode"),
        "total_max_attempts": attempts,
        "set_by": UNSET if attempts is None else "client configuration",
    }


def _meta(client: Any, name: str) -> Any:
    return getattr(getattr(client, "meta", None), name, None)


def main(arguments: list[str] | None = None) -> None:
    """Prints the environment of this Python as JSON, with the test runner's version."""
    parser = argparse.ArgumentParser(prog="python -m itemledger.environment", description=main.__doc__)
    parser.add_argument("--lock", type=Path, help="the dependency lock whose hash to record")
    parser.add_argument("--fixture-revision", help="revision of the test fixtures")
    parser.add_argument("--data-revision", help="revision of the data that is read")
    options = parser.parse_args(arguments)
    lock = hashlib.sha256(options.lock.read_bytes()).hexdigest() if options.lock else None
    told = environment(
        None,
        policy=None,
        data_revision=options.data_revision,
        fixture_revision=options.fixture_revision,
        dependency_lock=lock,
    )
    json.dump({**told, "pytest": _version("pytest")}, sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
