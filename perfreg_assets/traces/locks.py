"""What ART says of a thread that waits for another one's lock: who held it, where, and where it was wanted."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MONITOR = re.compile(
    r"monitor contention with owner (?P<owner>.*?) \([\d#]+\) at (?P<held>.*?) "
    r"waiters=[\d#]+ blocking from (?P<wanted>.*)",
    re.DOTALL,
)
_LOCK = re.compile(r"Lock contention on (?P<lock>.*?)(?: \(owner tid: [\d#]+\))?", re.DOTALL)
_SIGNATURE = re.compile(r"(?:[^\s(]+ )?(?P<method>[^\s(]+)\([^)]*\)")


@dataclass(frozen=True)
class Contention:
    """A wait for a lock, as far as the slice's name tells.

    Attributes:
        lock: what it was where nobody is named who held it, such as "a monitor lock".
        owner: name of the thread that held it.
        held_in, wanted_in: Class.method in which it was held, and in which it was wanted.
    """

    lock: str | None = None
    owner: str | None = None
    held_in: str | None = None
    wanted_in: str | None = None

    @property
    def words(self) -> str:
        """In a few words that follow "waits for a lock: "."""
        if self.owner is None:
            return self.lock or ""
        return f"held by {self.owner} in {self.held_in}, wanted in {self.wanted_in}"


def contention(name: str) -> Contention | None:
    """Of the name of a slice; None where it is no wait for a lock.

    The names are those of ART's `Monitor::PrettyContentionInfo` and `ScopedContentionRecorder`, with numbers
    as they are or as `#`.
    """
    if (monitor := _MONITOR.fullmatch(name)) is not None:
        return Contention(None, monitor["owner"], _short(monitor["held"]), _short(monitor["wanted"]))
    if name.startswith("monitor contention with "):  # cut short, or of another release: still a wait
        return Contention(name.removeprefix("monitor contention with "))
    return Contention(found["lock"]) if (found := _LOCK.fullmatch(name)) is not None else None


def _short(place: str) -> str:
    """`int a.b.Class.method(java.lang.String)(File.java:12)` as Class.method."""
    signature = _SIGNATURE.match(place)
    parts = (signature["method"] if signature else place).split(".")
    return ".".join(parts[-2:])
