"""Suites of benchmarks: which programs to run, with which parameters, for how long (document 001's configuration).

XML as there: `<mttest><conf name= value=/><benchmark name= area= runner=><option name= value=/></benchmark></mttest>`;
or the same in TOML: a table `[conf]` and a list `[[benchmark]]` whose other keys are options. An option goes before
what `conf` says, and that before the default. Names that begin with `param` are the benchmark's own.
"""

from __future__ import annotations

import hashlib
import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from perfreg_assets import xml_text
from perfreg_assets.near_names import nearest
from perfreg_assets.reasons import Reason, Rejected

RUNNERS = ("java", "command", "python", "jetpack")
DEFAULT_AREA = "suite"
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
"""Of time, in which operations are shown; the stored ones are per second."""
_BYTES_MAX = 16 << 20
_PARAM, _GOLDEN = "param", "paramgoldenfile"


def is_golden(name: str) -> bool:
    """Whether a parameter names a file of the suite's folder."""
    return name.lower() == _GOLDEN


@dataclass(frozen=True, kw_only=True)
class Options:
    """How one benchmark is run.

    Attributes:
        threads: that execute it at the same time in a process.
        launches: processes, one after the other.
        warmup_s, measure_s: the least duration of these phases, seconds; iterations_min: the fewest measured ones.
        unit: of time, in which the result is shown.
        is_validating: whether the benchmark checks its results; what it measures then is never compared.
        adequacy_ms: an iteration should last at least so long, ms.
        command: of runner `command`: program and arguments; classpath, java_options: of runner `java`.
        bits: of runner `java` on a device: its runtime of 32 or 64 bits; empty: the device's usual one.
        instrumentation: of runner `jetpack`: PACKAGE/RUNNER of the test app.
        params: the benchmark's own, by name.
    """

    threads: int = 1
    launches: int = 5
    warmup_s: float = 1.0
    measure_s: float = 2.0
    iterations_min: int = 5
    unit: str = "s"
    is_validating: bool = False
    adequacy_ms: float = 200.0
    command: tuple[str, ...] = ()
    classpath: str = ""
    java_options: tuple[str, ...] = ()
    bits: str = ""
    instrumentation: str = ""
    params: Mapping[str, str] = field(default_factory=dict)

    @property
    def told_params(self) -> dict[str, str]:
        """What tells results apart: the benchmark's own parameters, golden files by their names, and threads."""
        own = {name: Path(text).name if is_golden(name) else text for name, text in self.params.items()}
        return {**own, **({"threads": str(self.threads)} if self.threads > 1 else {})}


@dataclass(frozen=True, kw_only=True)
class Configured:
    """A benchmark of a suite: `name` is a class or, of runner `command`, any name."""

    name: str
    area: str
    runner: str
    options: Options


@dataclass(frozen=True)
class Suite:
    """Attributes:
    folder: where the suite lies; its files are below it.
    sha256: of its text.
    """

    path: Path
    sha256: str
    benchmarks: tuple[Configured, ...]

    @property
    def folder(self) -> Path:
        return self.path.parent


@dataclass(frozen=True)
class _Given:
    """An option as it is written: value and line (0 where none is known)."""

    value: str
    line: int


@dataclass
class _Raw:
    name: str
    area: str | None
    runner: str | None
    line: int
    options: dict[str, _Given] = field(default_factory=dict)


# Written name → field; what reads it.
_FIELDS = {
    "threads": "threads",
    "launches": "launches",
    "warmup_s": "warmup_s",
    "measure_s": "measure_s",
    "iterations_min": "iterations_min",
    "unit": "unit",
    "isValidating": "is_validating",
    "adequacy_ms": "adequacy_ms",
    "command": "command",
    "classpath": "classpath",
    "java_options": "java_options",
    "bits": "bits",
    "instrumentation": "instrumentation",
}
_WHOLE = {"threads": (1, 1024), "launches": (1, 1000), "iterations_min": (1, 1_000_000)}
_CHOICES: dict[str, tuple[str, ...]] = {"unit": tuple(UNITS), "isValidating": ("true", "false"), "bits": ("32", "64")}
_COMPONENT = re.compile(r"[\w.]+/[\w.$]+", re.ASCII)
_SECONDS = {"warmup_s": (0.0, 3600.0), "measure_s": (0.0, 3600.0), "adequacy_ms": (0.0, 3_600_000.0)}


def read_suite(path: Path, overrides: Mapping[str, str] | None = None) -> Suite:
    """Reads a suite, XML or TOML by its ending.

    Args:
        overrides: options that go before the suite's own, of every benchmark.

    Raises:
        Rejected: SUITE_UNREADABLE, SUITE_UNKNOWN_OPTION, SUITE_VALUE, SUITE_PATH.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise Rejected(Reason.SUITE_UNREADABLE, f"{path} ({error.strerror})") from error
    if len(raw) > _BYTES_MAX:
        raise Rejected(Reason.SUITE_UNREADABLE, f"{path} has more than {_BYTES_MAX >> 20} MiB")
    conf, found = _read_toml(path, raw) if path.suffix.lower() == ".toml" else _read_xml(path, raw)
    if not found:
        raise Rejected(Reason.SUITE_UNREADABLE, f"{path} has no benchmark")
    given = {name: _Given(value, 0) for name, value in (overrides or {}).items()}
    benchmarks = tuple(_configured(path, one, {**conf, **one.options, **given}) for one in found)
    return Suite(path, hashlib.sha256(raw).hexdigest(), benchmarks)


# ---- XML -----------------------------------------------------------------------------------------
def _read_xml(path: Path, raw: bytes) -> tuple[dict[str, _Given], list[_Raw]]:
    conf: dict[str, _Given] = {}
    found: list[_Raw] = []
    open_tags: list[str] = []
    parser = expat.ParserCreate()

    def refuse(text: str, reason: Reason = Reason.SUITE_UNREADABLE) -> Rejected:
        return Rejected(reason, f"{path}, line {parser.CurrentLineNumber}: {text}")

    def begin(tag: str, attributes: dict[str, str]) -> None:
        place = "/".join(open_tags)
        open_tags.append(tag)
        if (place, tag) == ("", "mttest"):
            return
        if (place, tag) in (("mttest", "conf"), ("mttest/benchmark", "option")):
            _allow(attributes, ("name", "value"), ("name", "value"), tag, refuse)
            target = conf if tag == "conf" else found[-1].options
            target[attributes["name"]] = _Given(attributes["value"], parser.CurrentLineNumber)
        elif (place, tag) == ("mttest", "benchmark"):
            _allow(attributes, ("name",), ("name", "area", "runner"), tag, refuse)
            found.append(
                _Raw(attributes["name"], attributes.get("area"), attributes.get("runner"), parser.CurrentLineNumber)
            )
        else:
            raise refuse(f"<{tag}> has no place in <{open_tags[-2] if place else 'a suite'}>")

    def no_declarations(*_: Any) -> None:
        raise refuse("a suite declares no document type and no entities")

    parser.StartElementHandler = begin
    parser.EndElementHandler = lambda _: open_tags.pop()
    parser.StartDoctypeDeclHandler = no_declarations
    parser.EntityDeclHandler = no_declarations
    try:
        xml_text.parse(parser, raw)
    except xml_text.XmlError as error:
        raise Rejected(Reason.SUITE_UNREADABLE, f"{path}, {error}") from error
    return conf, found


def _allow(
    attributes: Mapping[str, str], needed: tuple[str, ...], known: tuple[str, ...], tag: str, refuse: Any
) -> None:
    for name in needed:
        if name not in attributes:
            raise refuse(f"<{tag}> has no {name}")
    for name in attributes:
        if name not in known:
            raise refuse(f"<{tag}> has {name!r}{_near(name, known)}", Reason.SUITE_UNKNOWN_OPTION)


# ---- TOML ----------------------------------------------------------------------------------------
def _read_toml(path: Path, raw: bytes) -> tuple[dict[str, _Given], list[_Raw]]:
    try:
        content = tomllib.loads(raw.decode("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Rejected(Reason.SUITE_UNREADABLE, f"{path} ({error})") from error
    for name in content:
        if name not in ("conf", "benchmark"):
            raise Rejected(Reason.SUITE_UNKNOWN_OPTION, f"{path}: {name!r}{_near(name, ('conf', 'benchmark'))}")
    conf, listed = content.get("conf", {}), content.get("benchmark", [])
    if not isinstance(conf, dict) or not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise Rejected(Reason.SUITE_UNREADABLE, f"{path}: [conf] is a table, [[benchmark]] a list of tables")
    found = []
    for number, one in enumerate(listed, 1):
        if not isinstance(one.get("name"), str):
            raise Rejected(Reason.SUITE_UNREADABLE, f"{path}: benchmark {number} has no name")
        entry = _Raw(one["name"], one.get("area"), one.get("runner"), 0)
        entry.options = _texts(
            path, {key: value for key, value in one.items() if key not in ("name", "area", "runner")}
        )
        found.append(entry)
    return _texts(path, conf), found


def _texts(path: Path, table: Mapping[str, Any]) -> dict[str, _Given]:
    """Values as XML would have them."""
    found = {}
    for name, value in table.items():
        if isinstance(value, list) and all(isinstance(one, str) for one in value):
            text = shlex.join(value)
        elif isinstance(value, bool):
            text = str(value).lower()
        elif isinstance(value, (str, int, float)):
            text = str(value)
        else:
            raise Rejected(
                Reason.SUITE_VALUE, f"{path}: {name} = {value!r} is neither text, number nor a list of texts"
            )
        found[name] = _Given(text, 0)
    return found


# ---- what is meant -------------------------------------------------------------------------------
def _configured(path: Path, one: _Raw, given: Mapping[str, _Given]) -> Configured:
    runner = one.runner or "java"
    if runner not in RUNNERS:
        raise Rejected(
            Reason.SUITE_VALUE, f"{_place(path, one.line)}{one.name}: runner {runner!r}{_near(runner, RUNNERS)}"
        )
    values: dict[str, Any] = {}
    params: dict[str, str] = {}
    for name, entry in given.items():
        if name.startswith(_PARAM) and len(name) > len(_PARAM):
            params[name] = _file(path, name, entry) if is_golden(name) else entry.value
        elif name in _FIELDS:
            values[_FIELDS[name]] = _value(path, name, entry)
        else:
            near = _near(name, _FIELDS)
            raise Rejected(Reason.SUITE_UNKNOWN_OPTION, f"{_place(path, entry.line)}{one.name}: option {name!r}{near}")
    options = Options(**values, params=params)
    for needing, option, value in (
        ("command", "command", options.command),
        ("jetpack", "instrumentation", options.instrumentation),
    ):
        if runner == needing and not value:
            what = f"runner {needing} needs the option {option}"
            raise Rejected(Reason.SUITE_VALUE, f"{_place(path, one.line)}{one.name}: {what}")
    return Configured(name=one.name, area=one.area or DEFAULT_AREA, runner=runner, options=options)


def _value(path: Path, name: str, entry: _Given) -> Any:
    def refuse(expected: str) -> Rejected:
        return Rejected(Reason.SUITE_VALUE, f"{_place(path, entry.line)}{name} = {entry.value!r}: expected {expected}")

    text = entry.value.strip()
    if name in _WHOLE:
        low, high = _WHOLE[name]
        if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
            raise refuse(f"a whole number, {low} to {high}")
        return int(text)
    if name in _SECONDS:
        least, most = _SECONDS[name]
        try:
            number = float(text)
        except ValueError as error:
            raise refuse(f"a number, {least:g} to {most:g}") from error
        if not least <= number <= most:
            raise refuse(f"a number, {least:g} to {most:g}")
        return number
    if name in _CHOICES:
        if text not in _CHOICES[name]:
            raise refuse(" or ".join(_CHOICES[name]))
        return text == "true" if name == "isValidating" else text
    if name == "instrumentation" and not _COMPONENT.fullmatch(text):
        raise refuse("PACKAGE/RUNNER, as `pm list instrumentation` shows them")
    if name in ("command", "java_options"):
        try:
            return tuple(shlex.split(entry.value))
        except ValueError as error:
            raise refuse(f"a command line ({error})") from error
    return entry.value


def _file(path: Path, name: str, entry: _Given) -> str:
    folder = path.parent.resolve()
    file = (folder / entry.value).resolve()
    if not file.is_relative_to(folder):
        raise Rejected(Reason.SUITE_PATH, f"{_place(path, entry.line)}{name} = {entry.value!r} leaves the folder")
    if not file.is_file():
        raise Rejected(Reason.SUITE_PATH, f"{_place(path, entry.line)}{name} = {entry.value!r} is not there")
    return str(file)


def _place(path: Path, line: int) -> str:
    return f"{path}, line {line}: " if line else f"{path}: "


def _near(name: str, known: Any) -> str:
    near = nearest(name, known, cutoff=0.4)
    return f"; did you mean {' or '.join(near)}?" if near else f"; there is {', '.join(known)}"
