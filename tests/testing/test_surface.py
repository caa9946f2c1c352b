"""The kit's public names."""

from __future__ import annotations

import subprocess
import sys

import pytest

from itemledger import testing


@pytest.mark.parametrize("name", testing.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    text = getattr(testing, name).__doc__ or ""
    assert text
    assert not text.startswith(f"{name}(")  # what a dataclass without a docstring gets


def test_importing_the_kit_imports_neither_client_library() -> None:
    code = "import sys, itemledger.testing; print('aiobotocore' in sys.modules, 'boto3' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert "False False" == printed.strip()
