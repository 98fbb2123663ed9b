"""The one partition dimension: app versions, key `app@version`.

Dagster forbids "..." and control characters in keys, its UI cannot backfill keys with commas, and "|"
separates dimensions: everything outside a small safe set is percent-encoded. The raw strings stay in columns.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

DIMENSION = "app_versions"
"""The dimension's name, as Dagster stores it."""

RANGE_START, RANGE_END = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"
"""Tags of a Dagster run that is for all partitions between two, in the order in which they came."""

_SAFE = "+"  # besides letters, digits and _.-~ , which quote() never escapes


def to_key(app: str, version_name: str) -> str:
    """Partition key of a version of an app; `from_key` is its exact inverse."""

    def encode(text: str) -> str:
        # "..." is Dagster's range separator; "~" is encoded too, so that keys are plain in shells.
        return quote(text, safe=_SAFE).replace("...", "%2E%2E%2E").replace("~", "%7E")

    return f"{encode(app)}@{encode(version_name)}"


def from_key(key: str) -> tuple[str, str]:
    """(app, version_name) of a partition key.

    Raises:
        ValueError: the key was not made by `to_key`.
    """
    app, separator, version_name = key.partition("@")
    if not separator or not app:
        raise ValueError(f"not an app version key: {key!r}; it must read app@version")
    return unquote(app), unquote(version_name)
