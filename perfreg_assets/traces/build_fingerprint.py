"""How an Android build names itself: `brand/product/device:release/id/incremental:type/keys`."""

from __future__ import annotations

import re

FINGERPRINT = re.compile(r"(?P<maker>[^/]+/[^/]+)/(?P<device>[^:/]+):(?P<release>[^/]+)/")
"""With what a trace calls one it may hold any text, an error of the system that could not tell it among others."""


def device_of(fingerprint: str) -> str | None:
    """Brand, product and device, which stay the same from one build to the next; None of what is no fingerprint."""
    found = FINGERPRINT.match(fingerprint)
    return f"{found['maker']}/{found['device']}" if found else None
