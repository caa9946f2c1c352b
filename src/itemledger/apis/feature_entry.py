"""A caller's Feature Store entry, checked against the service model and put into its one spelling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from itemledger.apis.feature_records import features_of, group_name
from itemledger.core.keys import is_mapping
from itemledger.errors import ManifestError

_STORES = ("OnlineStore", "OfflineStore")
_UNITS = ("Seconds", "Minutes", "Hours", "Days", "Weeks")
_MEMBERS = ("Record", "TargetStores", "TtlDuration", "FeatureGroupName", "Id")
_FEATURE_MEMBERS = {"FeatureName", "ValueAsString", "ValueAsStringList"}


def read_entry(
    value: object, position: int, *, group: str, identifying: tuple[str, str]
) -> tuple[str | None, dict[str, Any]]:
    """The caller's own item id, if any, and the entry's payload: features and stores sorted, since their order means
    nothing to the service. Raises ManifestError for what could never be sent."""

    def unfit(problem: str) -> ManifestError:
        return ManifestError(f"item at position {position} {problem}", positions=(position,))

    if not is_mapping(value):
        raise unfit(f"is of type {type(value).__name__}; give an object with a Record")
    for member in value:
        if member not in _MEMBERS:
            raise unfit(f"has the member {member!r}; an entry takes {', '.join(_MEMBERS)}")
    item_id = value.get("Id")
    if not isinstance(item_id, str | None) or item_id == "":
        raise unfit("has an Id that is no text; give text, or leave it out")
    named = value.get("FeatureGroupName", group)
    if not isinstance(named, str) or group_name(named) != group_name(group):
        raise unfit("is not of this operation's feature group; write each group by an operation of its own")
    payload: dict[str, Any] = {"Record": _record(value.get("Record"), identifying, unfit)}
    stores = value.get("TargetStores")
    if stores is not None:
        if not isinstance(stores, list) or not stores or not all(stores.count(s) == 1 and s in _STORES for s in stores):
            raise unfit(f"has TargetStores that are no list of {' and '.join(_STORES)}; correct it or leave it out")
        payload["TargetStores"] = sorted(stores)
    ttl = value.get("TtlDuration")
    if ttl is not None:
        payload["TtlDuration"] = _ttl(ttl, unfit)
    return item_id, payload


def _record(record: Any, identifying: tuple[str, str], unfit: Callable[[str], ManifestError]) -> list[dict[str, Any]]:
    features = features_of(record)
    if features is None or any(feature.keys() - _FEATURE_MEMBERS for feature in record):
        raise unfit(
            "has no Record of features, each with a FeatureName of its own and either a ValueAsString that is text or "
            "a ValueAsStringList of texts; correct it"
        )
    for name in identifying:
        if not features.get(name) or not isinstance(features[name], str):
            raise unfit(f"has no text as the feature {name!r}, which tells records apart; give it")
    ordered = sorted(record, key=lambda feature: str(feature["FeatureName"]))
    return [{name: member for name, member in feature.items() if member is not None} for feature in ordered]


def _ttl(ttl: object, unfit: Callable[[str], ManifestError]) -> Mapping[str, Any]:
    if not is_mapping(ttl) or ttl.keys() != {"Unit", "Value"} or ttl["Unit"] not in _UNITS:
        raise unfit(f"has a TtlDuration without a Value and a Unit of {', '.join(_UNITS)}; correct it or leave it out")
    if type(ttl["Value"]) is not int or ttl["Value"] < 1:
        raise unfit("has a TtlDuration whose Value is no whole number from 1; correct it or leave it out")
    return {"Unit": ttl["Unit"], "Value": ttl["Value"]}
