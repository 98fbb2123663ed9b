"""The text that stands for a screen: its activity and the set of its views.

As DroidBot's `state_str`: sorted signatures of the views (class, resource id, what can be done with them), each
kind once, so that the number of rows in a list does not make another state. With `with_text` the first 50
characters of each text count as well, which tells more screens apart and makes feeds differ in every session.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

_FLAGS = ("clickable", "enabled", "checked", "selected", "scrollable", "focusable")
_ACTIVITY = re.compile(r"ResumedActivity[^\n{]*\{\S+ \S+ ([^\s/]+)/([^\s}]+)")
_IGNORED_PACKAGES = frozenset({"com.android.systemui"})


def screen_state(hierarchy: str, *, with_text: bool) -> str | None:
    """State text of a `uiautomator dump`; None where it is no readable hierarchy.

    Entity declarations are refused unread: the hierarchy holds whatever the app under test writes.
    """
    start = hierarchy.find("<hierarchy")
    if start < 0 or "<!" in hierarchy:
        return None
    end = hierarchy.rfind("</hierarchy>")
    text = hierarchy[start : end + len("</hierarchy>")] if end >= 0 else hierarchy[start:].strip()
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError:
        return None
    signatures = {
        _signature(node, with_text) for node in root.iter("node") if node.get("package") not in _IGNORED_PACKAGES
    }
    return "\n".join(sorted(signatures))


def _signature(node: ElementTree.Element, with_text: bool) -> str:
    flags = ",".join(flag for flag in _FLAGS if node.get(flag) == "true")
    parts = [node.get("class", ""), node.get("resource-id", ""), flags]
    if with_text:
        parts.append(node.get("text", "")[:50])
    return "|".join(parts)


def resumed_activity(dump: str) -> tuple[str, str] | None:
    """(package, activity) in the foreground, from `dumpsys activity activities`; the activity without its package."""
    match = _ACTIVITY.search(dump)
    if match is None:
        return None
    package, activity = match[1], match[2]
    return package, activity.removeprefix(package)
