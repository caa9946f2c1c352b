"""Targets are read member by member, and what is wrong is named as the option that is."""

from __future__ import annotations

from typing import Any

import pytest

from itemledger.apis.targets import check_choice, read_target
from itemledger.errors import ManifestError

REQUIRED = {"queue_url": str, "fifo": bool}
OPTIONAL = {"shards": int, "key": dict}


def test_members_come_back_in_the_order_of_the_tables() -> None:
    target = {"key": {"pk": "S"}, "shards": 2, "fifo": False, "queue_url": "q"}
    read = read_target("a.B", target, REQUIRED, OPTIONAL)
    assert target == read
    assert ["queue_url", "fifo", "shards", "key"] == list(read)


@pytest.mark.parametrize("target", [{"queue_url": "q", "fifo": True}, {"queue_url": "q", "fifo": True, "shards": None}])
def test_an_optional_member_that_is_absent_or_null_is_left_out(target: dict[str, Any]) -> None:
    assert {"queue_url": "q", "fifo": True} == read_target("a.B", target, REQUIRED, OPTIONAL)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({"fifo": True}, r"^a\.B needs queue_url= "),
        ({"queue_url": None, "fifo": True}, r"^a\.B needs queue_url= "),
        ({"queue_url": "", "fifo": True}, r"^a\.B: queue_url= is empty; give text$"),
        ({"queue_url": 7, "fifo": True}, r"^a\.B: queue_url= is a whole number; give text$"),
        ({"queue_url": "q", "fifo": 1}, r"^a\.B: fifo= is a whole number; give true or false$"),
        ({"queue_url": "q", "fifo": True, "shards": True}, r"^a\.B: shards= is true or false; give a whole number$"),
        ({"queue_url": "q", "fifo": True, "key": "pk"}, r"^a\.B: key= is text; give an object$"),
        ({"queue_url": b"q", "fifo": True}, r"^a\.B: queue_url= is of type bytes; give text$"),
        (
            {"queue_url": "q", "fifo": True, "queue": "q"},
            r"^a\.B knows no queue=; it takes queue_url=, fifo=, shards=, key=$",
        ),
    ],
)
def test_what_is_wrong_is_named_as_its_option(target: dict[str, Any], message: str) -> None:
    with pytest.raises(ManifestError, match=message):
        read_target("a.B", target, REQUIRED, OPTIONAL)


def test_an_api_without_a_target_takes_none() -> None:
    assert {} == read_target("a.B", {}, {})
    with pytest.raises(ManifestError, match=r"^a\.B knows no x=; it takes no target$"):
        read_target("a.B", {"x": 1}, {})


def test_a_choice_outside_the_list_is_named() -> None:
    check_choice("a.B", "action", "put", ("put", "delete"))
    with pytest.raises(ManifestError, match=r"^a\.B: action= is not one of put, delete$"):
        check_choice("a.B", "action", "update", ("put", "delete"))
