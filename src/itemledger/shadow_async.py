"""The shadow comparison for asyncio; what is compared, and how, is the same."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from itemledger.core.decision import ALL, Policy
from itemledger.core.result import ReadResult
from itemledger.shadow import MODES, Ended, KeyOf, ShadowOutcome, compare, switched_off

T = TypeVar("T")
KeyT = TypeVar("KeyT")
ItemT = TypeVar("ItemT")


async def shadow_read(
    old: Callable[[list[KeyT]], Awaitable[Iterable[ItemT]]],
    new: Callable[[list[KeyT]], Awaitable[ReadResult]],
    keys: Iterable[KeyT],
    key: KeyOf[ItemT] | None = None,
    *,
    required: Policy = ALL,
    mode: str = "observe",
) -> ShadowOutcome[ItemT]:
    """As ``itemledger.shadow_read``, with two coroutine functions, awaited one after the other."""
    manifest = list(keys)
    if mode not in MODES:
        return switched_off(mode, len(manifest))

    async def listed() -> list[ItemT]:
        return list(await old([*manifest]))

    async def read() -> ReadResult:
        return await new([*manifest])

    return compare(len(manifest), await _ended(listed), await _ended(read), key, required, mode)


async def _ended(run: Callable[[], Awaitable[T]]) -> Ended[T]:
    try:
        return Ended(await run())
    except Exception as error:
        return Ended(error=error)
