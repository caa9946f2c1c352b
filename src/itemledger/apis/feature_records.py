"""Feature Store's records as values: features by name, feature groups by name, and event times in order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeAlias

from itemledger.core.keys import is_mapping
from itemledger.core.numbers import number_text, parse_number

FeatureValue: TypeAlias = str | tuple[str, ...] | None
Features: TypeAlias = Mapping[str, FeatureValue]

# "Quotas, naming rules and data types" of Feature Store: T and Z are constants. An event time may also be Unix seconds.
_ISO_8601 = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z", re.ASCII)


def features_of(record: object) -> Features | None:
    """The features of a record by name; ``None`` when it is no list of features, or names one twice."""
    features: dict[str, FeatureValue] = {}
    if not isinstance(record, list) or not record:
        return None
    for feature in record:
        name = feature.get("FeatureName") if is_mapping(feature) else None
        if not is_mapping(feature) or not isinstance(name, str) or name in features or not _is_value(feature):
            return None
        several = feature.get("ValueAsStringList")
        features[name] = feature.get("ValueAsString") if several is None else tuple(several)
    return features


def _is_value(feature: Mapping[str, Any]) -> bool:
    one, several = feature.get("ValueAsString"), feature.get("ValueAsStringList")
    if several is None:
        return isinstance(one, str | None)
    return one is None and isinstance(several, list) and all(isinstance(each, str) for each in several)


def numbers_alike(features: Features) -> dict[str, FeatureValue]:
    """The features with every number in one spelling, by which an echo is known again that spells them otherwise."""
    return {
        name: tuple(map(_one_spelling, value)) if isinstance(value, tuple) else value and _one_spelling(value)
        for name, value in features.items()
    }


def _one_spelling(text: str) -> str:
    try:
        return number_text(parse_number(text))
    except ValueError:
        return text


def group_name(group: str) -> str:
    """``orders`` of ``arn:aws:sagemaker:eu-west-1:123456789012:feature-group/orders``; a bare name as it is."""
    return group.rpartition("/")[2] if group.startswith("arn:") else group


def later(first: str, second: str) -> bool | None:
    """Whether the first event time is later than the second; ``None`` when the two cannot be put in order.

    Equal times are not later, in either direction.
    """
    if first == second:
        return False
    one, other = _moment(first), _moment(second)
    if isinstance(one, Decimal) and isinstance(other, Decimal):
        return one > other
    if isinstance(one, str) and isinstance(other, str):
        return one > other
    return None


def _moment(text: str) -> Decimal | str | None:
    """Unix seconds as a number, an ISO 8601 time as text whose order is that of time."""
    iso = _ISO_8601.fullmatch(text)
    if iso is not None:
        return f"{iso[1]}.{iso[2] or '':0<9}"
    try:
        return parse_number(text)
    except ValueError:
        return None
