"""power_profile.xml in all its dialects, and measured curves (CSV), as `PowerProfile`.

Dialects of the CPU's part, by Android release:
(a) `cpu.speeds` + `cpu.active[]`: one table for all cores. (b) `cpu.speeds.clusterN` + `cpu.active.clusterN`.
(c) `cpu.core_speeds.clusterN` + `cpu.core_power.clusterN` + `cpu.cluster_power.clusterN` + scalar `cpu.active`.
(d) `cpu.scaling_step_power.policyN` + `cpu.scaling_policy_power.policyN`, without frequencies.
In (a) and (b) `cpu.active[]` is the whole core and `cpu.awake` belongs to the device's floor.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from xml.parsers import expat

import numpy as np

from perfreg_assets import xml_text
from perfreg_assets.methods.inputs import Floats
from perfreg_assets.methods.power_profile import CoreCluster, PowerProfile
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.regular_file import read_regular, resolved

_MOST_BYTES = 1 << 20
_MOST_MA = 10_000.0  # 10 A: more than any battery of a phone gives
_MOST_MAH = 1_000_000.0
_CURVE_COLUMNS = ("CPU", "Frequency (kHz)", "Power (mW)")
_SINGLE, _CLUSTERS, _CORES, _STEPS = "single", "clusters", "cores", "steps"


def read_profile(path: Path, *, nominal_voltage_v: float) -> tuple[PowerProfile, bytes]:
    """A profile or curve, and the file's content.

    Raises:
        Rejected: PROFILE_UNREADABLE, PROFILE_MALFORMED, PROFILE_STUB.
    """
    try:
        content = read_regular(resolved(path), _MOST_BYTES)
    except OSError as error:
        raise Rejected(Reason.PROFILE_UNREADABLE, f"{path} ({error.strerror or error})") from error
    return parse_profile(content, path.name, nominal_voltage_v=nominal_voltage_v), content


@lru_cache(maxsize=32)
def parse_profile(content: bytes, name: str, *, nominal_voltage_v: float) -> PowerProfile:
    """
    Args:
        name: what to call it in messages.
        nominal_voltage_v: by which measured mW become mA.

    Raises:
        Rejected: PROFILE_MALFORMED, PROFILE_STUB.
    """
    if len(content) > _MOST_BYTES:
        raise _malformed(name, f"it has more than {_MOST_BYTES:,} bytes")
    if content.lstrip()[:1] == b"<" or content.startswith((b"\xef\xbb\xbf<", b"\xff\xfe", b"\xfe\xff")):
        found = _of_xml(_Reader(name).read(content), name, hashlib.sha256(content).hexdigest())
    else:
        found = _of_curve(content, name, nominal_voltage_v)
    if found.is_stub:
        raise Rejected(Reason.PROFILE_STUB, name)
    return found


def _malformed(name: str, what: str) -> Rejected:
    return Rejected(Reason.PROFILE_MALFORMED, f"{name}: {what}")


# ---- XML ------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Values:
    """`lines[k]` is where `values[k]` stands."""

    values: tuple[float, ...]
    lines: tuple[int, ...]


_NOTHING = _Values((), ())


@dataclass
class _Reader:
    """Items and arrays of numbers by their names; others are left out."""

    name: str
    found: dict[str, _Values] = field(default_factory=dict)
    is_array: set[str] = field(default_factory=set)
    _text: str = ""
    _line: int = 0
    _array: str | None = None
    _item: str | None = None
    _values: list[tuple[str, int]] = field(default_factory=list)

    def read(self, content: bytes) -> _Reader:
        """
        Raises:
            Rejected: PROFILE_MALFORMED.
        """
        self._parser = expat.ParserCreate()
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._parser.EntityDeclHandler = self._refuse
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._add
        try:
            xml_text.parse(self._parser, content)
        except xml_text.XmlError as error:
            raise _malformed(self.name, str(error)) from error
        return self

    def _refuse(self, *_: object) -> None:
        raise _malformed(self.name, f"line {self._parser.CurrentLineNumber}: declarations are not taken")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._text, self._line = "", self._parser.CurrentLineNumber
        if tag == "array":
            self._array, self._values = attributes.get("name", ""), []
        elif tag == "item":
            self._item = attributes.get("name", "")

    def _add(self, text: str) -> None:
        self._text += text

    def _end(self, tag: str) -> None:
        if tag == "value" and self._array is not None:
            self._values.append((self._text, self._line))
        elif tag == "item" and self._item is not None:
            self._keep(self._item, [(self._text, self._line)])
            self._item = None
        elif tag == "array" and self._array is not None:
            self._keep(self._array, self._values)
            self.is_array.add(self._array)
            self._array = None

    def _keep(self, name: str, values: list[tuple[str, int]]) -> None:
        if not name.startswith(("cpu.", "battery.capacity")):
            return
        numbers = []
        for text, line in values:
            try:
                numbers.append(float(text))
            except ValueError:
                raise _malformed(self.name, f"line {line}: {name} is {text.strip()[:40]!r}, no number") from None
        if name in self.found:
            raise _malformed(self.name, f"line {self._line}: {name} is there twice")
        self.found[name] = _Values(tuple(numbers), tuple(line for _, line in values))

    # ---- what was found ---------------------------------------------------------------------------
    def charges(self, name: str) -> Floats:
        """mA (n,), each of which a phone can draw."""
        for value, line in zip(self.found[name].values, self.found[name].lines, strict=True):
            if not 0 <= value <= _MOST_MA:  # refuses NaN too
                raise _malformed(self.name, f"line {line}: {name} is {value:g} mA, allowed is 0 to {_MOST_MA:g}")
        return np.array(self.found[name].values)

    def frequencies(self, name: str) -> Floats:
        """kHz (n,), ascending."""
        own = self.found[name]
        for before, value, line in zip((0.0, *own.values), own.values, own.lines, strict=False):
            if not before < value < np.inf:
                raise _malformed(self.name, f"line {line}: {name} is not ascending at {value:g} kHz")
        return np.array(own.values)

    def scalar(self, name: str) -> float:
        """mA, 0 where it is not stated."""
        if name not in self.found or name in self.is_array:
            return 0.0
        return float(self.charges(name)[0])

    def numbered(self, prefix: str) -> dict[int, str]:
        """Number → whole name, of arrays whose name is a prefix and a number."""
        found = {}
        for name in self.is_array & self.found.keys():
            number = re.fullmatch(re.escape(prefix) + "([0-9]{1,3})", name)
            if number is not None:
                found[int(number[1])] = name
        return dict(sorted(found.items()))


def _of_xml(reader: _Reader, name: str, profile_id: str) -> PowerProfile:
    found = reader.found
    cores, powers = reader.numbered("cpu.core_speeds.cluster"), reader.numbered("cpu.core_power.cluster")
    speeds, actives = reader.numbered("cpu.speeds.cluster"), reader.numbered("cpu.active.cluster")
    steps = reader.numbered("cpu.scaling_step_power.policy")
    first_cores, core_count = _first_cores(reader)
    active_ma = 0.0
    if cores and powers:
        dialect, active_ma = _CORES, reader.scalar("cpu.active")
        clusters = _paired(reader, cores, powers, "cpu.cluster_power.cluster")
    elif steps:
        dialect, active_ma = _STEPS, reader.scalar("cpu.active")
        first_cores, core_count = tuple(steps), None
        clusters = [
            CoreCluster(
                khz=None,
                charge_ma=reader.charges(own),
                cluster_ma=reader.scalar(f"cpu.scaling_policy_power.policy{number}"),
            )
            for number, own in steps.items()
        ]
    elif speeds and actives:
        dialect = _CLUSTERS
        clusters = _paired(reader, speeds, actives, None)
    elif "cpu.speeds" in found and "cpu.active" in reader.is_array:
        dialect, first_cores, core_count = _SINGLE, None, None
        clusters = _paired(reader, {0: "cpu.speeds"}, {0: "cpu.active"}, None)
    else:
        raise _malformed(name, "it has no table of the CPU's frequencies and currents")
    if first_cores is not None and len(first_cores) != len(clusters):
        raise _malformed(name, f"cpu.clusters.cores tells {len(first_cores)} clusters, there are {len(clusters)}")
    floor = {what: f"cpu.{what}" for what in ("suspend", "idle", "awake")}
    capacity = found["battery.capacity"].values[0] if found.get("battery.capacity", _NOTHING).values else None
    if capacity is not None and not 0 < capacity < _MOST_MAH:
        line = found["battery.capacity"].lines[0]
        raise _malformed(name, f"line {line}: battery.capacity is {capacity:g} mAh")
    return PowerProfile(
        profile_id=profile_id,
        dialect=dialect,
        clusters=tuple(clusters),
        first_cores=first_cores,
        core_count=core_count,
        active_ma=active_ma,
        base_ma={what: reader.scalar(own) for what, own in floor.items() if own in found},
        capacity_mah=capacity,
    )


def _paired(reader: _Reader, speeds: dict[int, str], powers: dict[int, str], shared: str | None) -> list[CoreCluster]:
    """The clusters of two sets of tables; `shared`: how the names of what the clusters themselves draw begin."""
    if list(speeds) != list(powers) or list(speeds) != list(range(len(speeds))):
        raise _malformed(
            reader.name, f"clusters {list(speeds)} have frequencies, clusters {list(powers)} have currents"
        )
    clusters = []
    for number, name in speeds.items():
        khz, charge_ma = reader.frequencies(name), reader.charges(powers[number])
        if len(khz) != len(charge_ma) or not len(khz):
            line = (reader.found[powers[number]].lines or (1,))[-1]
            raise _malformed(
                reader.name, f"line {line}: {name} has {len(khz)} values, {powers[number]} has {len(charge_ma)}"
            )
        cluster_ma = reader.scalar(f"{shared}{number}") if shared else 0.0
        clusters.append(CoreCluster(khz=khz, charge_ma=charge_ma, cluster_ma=cluster_ma))
    return clusters


def _first_cores(reader: _Reader) -> tuple[tuple[int, ...] | None, int | None]:
    own = reader.found.get("cpu.clusters.cores")
    if own is None:
        return None, None
    for value, line in zip(own.values, own.lines, strict=True):
        if not (0 < value < 1000 and value == int(value)):
            raise _malformed(reader.name, f"line {line}: cpu.clusters.cores is {value:g}, no number of cores")
    counts = [int(value) for value in own.values]
    return tuple(int(sum(counts[:k])) for k in range(len(counts))), sum(counts)


# ---- measured curves ------------------------------------------------------------------------------
def _of_curve(content: bytes, name: str, nominal_voltage_v: float) -> PowerProfile:
    """freqbench's table (github.com/kdrag0n/freqbench): mW of one busy core of each cluster by frequency."""
    try:
        reader = csv.DictReader(io.StringIO(content.decode("utf-8")))
        columns = reader.fieldnames or []
        rows = list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise _malformed(name, f"it is neither XML nor a table ({error})") from error
    if lacking := [column for column in _CURVE_COLUMNS if column not in columns]:
        raise _malformed(name, f"it is neither XML nor a measured curve, which has a column {lacking[0]!r}")
    tables: dict[int, list[tuple[float, float]]] = {}
    for line, row in enumerate(rows, 2):
        try:
            core, khz, milliwatts = (float(row[column] or "") for column in _CURVE_COLUMNS)
        except (TypeError, ValueError):
            raise _malformed(name, f"line {line} lacks a number") from None
        own = tables.setdefault(int(core) if 0 <= core < 1000 else -1, [])
        charge_ma = milliwatts / nominal_voltage_v
        if -1 in tables or not 0 <= charge_ma <= _MOST_MA or not (own[-1][0] if own else 0) < khz < np.inf:
            raise _malformed(name, f"line {line}: core {core:g} at {khz:g} kHz takes {milliwatts:g} mW")
        own.append((khz, charge_ma))
    if not tables:
        raise _malformed(name, "the table has no row")
    clusters = [
        CoreCluster(khz=np.array([khz for khz, _ in own]), charge_ma=np.array([charge for _, charge in own]))
        for _, own in sorted(tables.items())
    ]
    return PowerProfile(
        profile_id=hashlib.sha256(content).hexdigest(),
        dialect="curve",
        source="curve",
        clusters=tuple(clusters),
        # The core that was measured is not always its cluster's first: the very first one runs the benchmark itself.
        first_cores=(0, *sorted(tables)[1:]),
        base_ma={},
    )
