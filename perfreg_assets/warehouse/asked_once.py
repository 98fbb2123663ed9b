"""Rows of a few runs or versions that a reader is asked for several times: what it reads does not change, so they are
read once. Of many they are not kept: whoever asks for many goes through all of them, once.

Readers within a job know which state they read, as do those of the copy that it published: they share what was asked of
the latest one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from perfreg_assets.warehouse.committed import State
from perfreg_assets.warehouse.connection import Reader, Writer

FEW = 8
"""So many at once are kept."""
MOST = 1000
"""So many are kept of a kind."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass
class _Kept:
    """What was asked in one state.

    Attributes:
        rows: kind → key → (row,), or () where there is none.
        last: kind → (what was asked last, what came of it).
    """

    rows: dict[Hashable, dict[Any, Any]] = field(default_factory=dict)
    last: dict[Hashable, tuple[Hashable, Any]] = field(default_factory=dict)


_KEPT: WeakKeyDictionary[Reader, _Kept] = WeakKeyDictionary()
_KEPT_OF_LATEST: dict[State, _Kept] = {}


def rows_of(
    reader: Reader, kind: Hashable, keys: Iterable[Key], load: Callable[[list[Key]], Mapping[Key, Value]]
) -> dict[Key, Value]:
    """What `load` says of some keys, in their order, of those that it knows.

    Args:
        kind: names what is asked; equal for the same `load`.
    """
    wanted = list(dict.fromkeys(keys))
    if len(wanted) > FEW or isinstance(reader, Writer):
        found = load(wanted)
        return {key: found[key] for key in wanted if key in found}
    kept = _kept(reader).rows.setdefault(kind, {})
    if len(kept) > MOST:
        kept.clear()
    known = {key: row for key in wanted if (row := kept.get(key)) is not None}  # another thread may clear
    missing = [key for key in wanted if key not in known]
    if missing:
        found = load(missing)
        new = {key: (found[key],) if key in found else () for key in missing}
        kept |= new
        known |= new
    return {key: value for key in wanted for value in known[key]}


def _kept(reader: Reader) -> _Kept:
    if reader.state is None:
        return _KEPT.setdefault(reader, _Kept())
    if reader.state not in _KEPT_OF_LATEST:
        _KEPT_OF_LATEST.clear()
    return _KEPT_OF_LATEST.setdefault(reader.state, _Kept())


def last_of(reader: Reader, kind: Hashable, key: Hashable, load: Callable[[], Value]) -> Value:
    """What `load` says, without asking it again where the last question of its kind was the same.

    Args:
        kind: names what is asked.
        key: what `load` depends on besides the reader.
    """
    if isinstance(reader, Writer):
        return load()
    kept = _kept(reader).last
    found = kept.get(kind)
    if found is None or found[0] != key:
        found = kept[kind] = key, load()
    value: Value = found[1]
    return value
