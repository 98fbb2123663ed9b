"""Digests of long keys: what rows are found by that many runs share, and that no run's number leads to.

To compare a few ids of 64 letters with those of a whole table takes as long as the table is large; numbers are compared
five to ten times as fast. Two keys may have the same digest: who asks compares the keys of the few rows found.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

_HEX_DIGITS = 15  # 60 bits: a BIGINT, whatever its sign


def of(key: str) -> int:
    """The first 60 bits of the key's SHA-256; the migration `barycenter_digests` says the same in SQL."""
    return int(hashlib.sha256(key.encode()).hexdigest()[:_HEX_DIGITS], 16)


def one_of(keys: Iterable[str], column: str) -> tuple[str, list[Any]]:
    """The condition that a column has the digest of one of any number of keys, and what is bound in its place.

    Not a list of marks as in `key_conditions`: of the rows of a table DuckDB looks at one column first where it is
    compared with one value or joined, and reads all columns of all rows where it is compared with a list.
    """
    digests = sorted({of(key) for key in keys})
    if len(digests) > 1:
        return f"{column} IN (SELECT unnest(?::BIGINT[]))", [digests]
    return (f"{column} = {digests[0]}" if digests else "false"), []
