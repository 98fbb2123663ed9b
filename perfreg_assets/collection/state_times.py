"""How long each cluster was at each frequency, as the kernel counts it: for devices that do not trace frequencies."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from perfreg_assets.collection.adb_server import PASSING_REASONS
from perfreg_assets.collection.device import Device
from perfreg_assets.reasons import Rejected

# uptime, then per policy its cores and a line per frequency with ticks of 10 ms.
_READ = r"""
cat /proc/uptime
for folder in "$1"/policy*; do
  [ -r "$folder/stats/time_in_state" ] || continue
  echo "policy ${folder##*policy} $(cat "$folder/related_cpus")"
  cat "$folder/stats/time_in_state"
done
exit 0
"""
_FOLDER = "/sys/devices/system/cpu/cpufreq"
_LEVEL = re.compile(r"(\d+)\s+(\d+)")


@dataclass(frozen=True)
class PolicyTicks:
    """`levels`: (kHz, ticks of 10 ms) since the device started."""

    core_count: int
    levels: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class StateTimes:
    """At one moment: `uptime_s`, and ticks by the first core of each cluster."""

    uptime_s: float
    policies: dict[int, PolicyTicks]


def read_state_times(device: Device, folder: str = _FOLDER) -> StateTimes | None:
    """What the kernel counted until now; None where it does not count, or does not let us see.

    Raises:
        Rejected: the device went away.
    """
    try:
        return parse_state_times(device.script(_READ, folder).text)
    except Rejected as refusal:
        if refusal.reason in PASSING_REASONS:
            raise
        return None


def parse_state_times(text: str) -> StateTimes | None:
    """What the device printed; None where it tells no policy, or something else than it should."""
    first, *lines = text.splitlines() or [""]
    uptime = re.match(r"(\d+\.\d+) ", first)
    policies: dict[int, tuple[int, list[tuple[int, int]]]] = {}
    own: list[tuple[int, int]] = []
    for line in lines:
        name, *words = line.split()
        level = _LEVEL.fullmatch(line.strip())
        if name == "policy" and words and all(word.isdigit() for word in words):
            own = []
            policies[int(words[0])] = max(1, len(words) - 1), own
        elif level and policies:
            own.append((int(level[1]), int(level[2])))
        else:
            return None
    if uptime is None or not any(levels for _, levels in policies.values()):
        return None
    return StateTimes(
        float(uptime[1]),
        {number: PolicyTicks(count, tuple(sorted(levels))) for number, (count, levels) in policies.items()},
    )


def described(before: StateTimes | None, after: StateTimes | None) -> dict[str, Any]:
    """The keys of run.json that say it; none where one of the two moments is not known."""
    if before is None or after is None:
        return {}
    return {
        "cpu_frequencies_khz": {str(number): [khz for khz, _ in one.levels] for number, one in after.policies.items()},
        "cpu_time_in_state": {
            "start_s": before.uptime_s,
            "end_s": after.uptime_s,
            "policies": {
                str(number): {
                    "core_count": one.core_count,
                    "start": [list(level) for level in before.policies[number].levels],
                    "end": [list(level) for level in one.levels],
                }
                for number, one in after.policies.items()
                if number in before.policies
            },
        },
    }
