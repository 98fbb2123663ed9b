"""Every parameter: name, default, unit, allowed range, and the source of the default.

`Settings` is one frozen value handed downwards; nothing else reads the environment. Precedence:
explicit argument > environment variable `PERFREG_<NAME>` > what the warehouse keeps (`perfreg settings set`, for what
results depend on) > default. Detector, ω and localisation are always the warehouse's.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_type_hints
from urllib.parse import urlsplit

from perfreg_assets import catalogue, detection, validation
from perfreg_assets.near_names import nearest

ENVIRONMENT_PREFIX = "PERFREG_"
OMEGA_LARGEST = 100
_NOT_COUNTED = ("ratio", "factor", "quantile", "port")  # units that do not stand behind an amount


class SettingError(ValueError):
    """A setting has a value outside its type or range; the text names the setting and what is allowed."""


def _parameter(
    default: Any,
    *,
    unit: str,
    source: str,
    minimum: float | None = None,
    maximum: float | None = None,
    choices: tuple[str, ...] | Callable[[], tuple[str, ...]] | None = None,
    choices_name: str | None = None,
    is_kept: bool = False,
    is_secret: bool = False,
) -> Any:
    """A field.

    Args:
        is_kept: in the warehouse where it was set there, because results depend on it: whoever computes them, from
            whatever shell or daemon, has to mean the same.
        choices: what its value, or each of its values, may be; `<n>` in one stands for a number, `<name>` for a name.
        choices_name: what to say in place of all the choices where they are many.
        is_secret: who knows the value can do something with it; no more than its beginning is ever shown.
    """
    return field(
        default=default,
        metadata={
            **{"unit": unit, "source": source, "minimum": minimum, "maximum": maximum},
            **{"choices": choices, "choices_name": choices_name, "is_kept": is_kept},
            "is_secret": is_secret,
        },
    )


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All parameters. Field metadata holds unit, range and source; `describe()` lists them."""

    _names: ClassVar[frozenset[str]] = frozenset()
    """Those that an argument or a variable named, whatever their value is."""

    # ---- places ----------------------------------------------------------------------------------
    warehouse: Path = _parameter(Path("perfreg.duckdb"), unit="path", source="beside it the file that readers open")
    home: Path | None = _parameter(
        None, unit="path", source="default: .perfreg beside the warehouse; traces, reports, caches and Dagster's home"
    )
    inbox: Path | None = _parameter(None, unit="path", source="default: inbox beside the warehouse")
    data: str | None = _parameter(
        None,
        unit="path or URL",
        source="large values; default: <stem>.data beside the warehouse, or s3://bucket/prefix",
    )

    builds: Path | None = _parameter(
        None, unit="path", source="default: builds beside the warehouse; APKs put there are collected"
    )
    devices: tuple[str, ...] = _parameter(
        (), unit="adb serials", source="empty: the only attached device; each named one is a pool of its own"
    )

    # ---- trace engine and gate -------------------------------------------------------------------
    trace_processor: str | None = _parameter(
        None, unit="path", source="explicit trace processor; default: search order in docs/operating.md"
    )
    allow_engine_download: bool = _parameter(False, unit="yes/no", source="no network at run time unless asked for")
    engine_timeout_s: float = _parameter(
        600.0, unit="s", minimum=1, source="205 MB parse in 8 s; a query in 6 s (measured)"
    )
    engine_memory_bytes: int | None = _parameter(
        None,
        unit="bytes",
        minimum=1 << 28,
        source="of one engine; default: 0.8 of the machine's or container's memory, 16 GiB at most",
    )
    trace_max_bytes: int = _parameter(
        16 << 30, unit="bytes", minimum=1, source="unpacked size; guards against gzip bombs, the engine's limit"
    )
    trace_check_s: float = _parameter(
        300.0, unit="s of CPU time", minimum=0.1, source="checking a trace's bytes: 125 MB/s of packets of 100 bytes"
    )
    sched_slices_max: int = _parameter(
        10_000_000,
        unit="slices",
        minimum=1,
        source="2 GB beside the engine's; an hour at 2,700 a second, as recorded runs have",
    )
    run_json_max_bytes: int = _parameter(
        64 << 20, unit="bytes", minimum=1024, source="a 20,000-step path is about 4 MB"
    )
    path_max_steps: int = _parameter(
        20_000, unit="steps", minimum=1, source="30 min at an action per 90 ms; two hostile paths of it compare in 2 s"
    )
    attachments_max_count: int = _parameter(
        5000, unit="files", minimum=0, source="per run: a screenshot for each action of two hours and a half"
    )
    attachments_max_bytes: int = _parameter(
        4 << 30, unit="bytes", minimum=0, source="per run: 30 min of screen recording at 20 Mbit/s"
    )
    duration_tolerance_ratio: float = _parameter(
        0.1, unit="ratio", minimum=0, maximum=1, source="share of the exploration that the trace may lack", is_kept=True
    )

    # ---- series ----------------------------------------------------------------------------------
    interval_s: float = _parameter(
        1.0, unit="s", minimum=0.01, maximum=60, source="thesis 4.1: half of the 2 s between actions", is_kept=True
    )
    judged_series: tuple[str, ...] = _parameter(
        catalogue.judged_by_default(),
        unit="series names",
        choices=lambda: tuple(one.name for one in catalogue.SERIES),
        choices_name="names of marts.series_names",
        source="thesis 4.1; each one more costs power at run level",
        is_kept=True,
    )

    # ---- energy ----------------------------------------------------------------------------------
    nominal_voltage_v: float = _parameter(
        3.85, unit="V", minimum=1, maximum=20, source="of a phone's lithium cell; power profiles are stated at it",
        is_kept=True,
    )  # fmt: skip
    power_profile: str = _parameter(
        "device",
        unit="name",
        source="device: each run's own, by its folder or its device; else a stored one that is taken for every run",
        is_kept=True,
    )

    # ---- history ---------------------------------------------------------------------------------
    history_size: int = _parameter(
        12, unit="runs", minimum=2, maximum=1000, source="thesis 4.2.3: k = 12 most recent", is_kept=True
    )
    history_minimum: int = _parameter(
        5,
        unit="runs",
        minimum=detection.SMALLEST_HISTORY,
        maximum=1000,
        source="quartiles of fewer distances rest on single runs",
        is_kept=True,
    )
    path_similarity_minimum: float = _parameter(
        0.8, unit="ratio", minimum=0, maximum=1, source="thesis 4.2.3, Ratcliff-Obershelp", is_kept=True
    )
    history_same_version: bool = _parameter(
        False, unit="yes/no", source="earlier runs of the judged version itself are no reference for it", is_kept=True
    )
    history_excludes_anomalous: bool = _parameter(
        False,
        unit="yes/no",
        source="thesis: only F, configuration and path exclude; reviews exclude as well",
        is_kept=True,
    )

    benchmark_change_minimum: float = _parameter(
        0.05,
        unit="ratio",
        minimum=0,
        maximum=10,
        source="a benchmark that changed by less is neither slower nor faster; builds of the same code differ by 1 to 3 %",
        is_kept=True,
    )

    # ---- model and verdict -----------------------------------------------------------------------
    barycenter_backend: str = _parameter(
        "numba", unit="name", choices=("numba", "tslearn"), source="equal to 1e-9, see benchmarks"
    )
    barycenter_iterations: int = _parameter(
        30, unit="iterations", minimum=1, maximum=1000, source="a fixed point after 13 to 21 (measured)", is_kept=True
    )
    detector: str = _parameter(
        "default", unit="name", choices=detection.detector_names, source="docs/quality.md", is_kept=True
    )
    omega: float = _parameter(
        0.75,
        unit="IQRs",
        minimum=0,
        maximum=OMEGA_LARGEST,
        source="detector default: 1 normal run in 22 (level .046); thesis: 0 to 1.5",
        is_kept=True,
    )
    recheck: str = _parameter(
        "dbscan",
        unit="name",
        choices=("dbscan", "lof"),
        source="thesis 4.2.2, of memory by detector iqr; lof: runs in groups of differing density",
        is_kept=True,
    )
    dbscan_eps: float = _parameter(
        2.0,
        unit="standard deviations",
        minimum=0,
        source="FPR .11, F1 .83 of the re-check alone (measured)",
        is_kept=True,
    )
    dbscan_min_samples: int = _parameter(
        3, unit="runs", minimum=1, source="smallest cluster that is more than a pair", is_kept=True
    )
    lof_neighbors: int = _parameter(
        3, unit="runs", minimum=1, source="chosen on the simulated runs of noise 1", is_kept=True
    )
    lof_threshold: float = _parameter(
        1.5, unit="factor", minimum=1, source="chosen on the simulated runs of noise 1", is_kept=True
    )

    # ---- localisation ----------------------------------------------------------------------------
    localisation: str = _parameter(
        detection.OF_DETECTOR,
        unit="name",
        choices=detection.localisation_names,
        source="docs/quality.md",
        is_kept=True,
    )
    discord_window_s: float = _parameter(
        10.0, unit="s", minimum=1, maximum=600, source="mode thesis only; about five actions at 2 s", is_kept=True
    )
    discord_quantile_low: float = _parameter(
        0.90, unit="quantile", minimum=0.5, maximum=1, source="thesis 4.3", is_kept=True
    )
    discord_quantile_high: float = _parameter(
        0.95, unit="quantile", minimum=0.5, maximum=1, source="thesis 4.3", is_kept=True
    )
    discord_skip_start_s: float = _parameter(
        15.0, unit="s", minimum=0, source="mode thesis: half of its false positives lie at the ends", is_kept=True
    )
    discord_skip_end_s: float = _parameter(
        8.0, unit="s", minimum=0, source="mode thesis: half of its false positives lie at the ends", is_kept=True
    )
    matrix_profile_backend: str = _parameter(
        "numba", unit="name", choices=("numba", "stumpy"), source="equal to 1e-9, see benchmarks"
    )

    # ---- reduction -------------------------------------------------------------------------------
    reduction_mode: str = _parameter(
        "default",
        unit="name",
        choices=("default", "knn", "seed"),
        source="docs/reduction.md; seed: as Emteu Tchagou et al. 2015 print it",
    )
    reduction_window_s: float = _parameter(
        0.25, unit="s", minimum=0.01, maximum=60, source="40 ms of an idle phone hold few events"
    )
    reduction_reference_s: float = _parameter(
        300.0, unit="s", minimum=1, maximum=86_400, source="Emteu Tchagou et al. 2015: the first 300 s are usual"
    )
    reduction_rim_s: float = _parameter(
        1.0, unit="s", minimum=0, maximum=3600, source="kept before and after what is unusual"
    )
    reduction_gap_s: float = _parameter(
        2.0, unit="s", minimum=0, maximum=3600, source="shorter gaps between kept parts are kept, too"
    )

    reduction_after_days: float = _parameter(
        0.0,
        unit="days",
        minimum=0,
        maximum=36_500,
        is_kept=True,
        source="0: never; the traces of normal runs that were registered so long ago are reduced in place",
    )

    keep_traces: str = _parameter(
        "all",
        unit="name or days",
        choices=("all", "anomalous", "<n>"),
        is_kept=True,
        source="which registered traces are kept: all; those by which something is explained; or these, and all others "
        "for so many days",
    )

    # ---- inbox -----------------------------------------------------------------------------------
    inbox_settle_s: float = _parameter(
        5.0,
        unit="s",
        minimum=0,
        maximum=3600,
        source="a folder whose files changed within this time is still being copied",
    )
    inbox_folders_per_tick: int = _parameter(
        50, unit="folders", minimum=1, maximum=10_000, source="a sensor tick must end within Dagster's 60 s"
    )

    run_places: tuple[str, ...] = _parameter(
        (),
        unit="paths",
        source="beside the inbox: folders below which Dagster runs may take in run folders that they are given",
    )

    inbox_after: str = _parameter(
        "move",
        unit="name",
        choices=("move", "delete", "keep"),
        source="what becomes of a folder that was taken in: moved to inbox/.taken, deleted, or left where it is; the "
        "run's own copy is in .perfreg/runs",
    )

    # ---- Dagster's own records -------------------------------------------------------------------
    dagster_days_kept: float = _parameter(
        30.0, unit="days", minimum=1, maximum=3650, source="logs of Dagster runs: longer than anybody asks why"
    )
    dagster_runs_kept: int = _parameter(
        2000, unit="runs", minimum=10, maximum=1_000_000, source="SQLite takes about 0.3 MB per run: 0.6 GB"
    )

    # ---- many machines ---------------------------------------------------------------------------
    exchange: str | None = _parameter(
        None, unit="URL", source="where machines exchange runs and results, s3://… or a folder; default: one machine"
    )
    workers: int = _parameter(
        2, unit="runs", minimum=1, maximum=10_000, source="worker runs that what has arrived is spread over at a time"
    )
    worker_folders: int = _parameter(
        20, unit="folders", minimum=1, maximum=1000, source="the start of a worker run, 8 CPU-s, shared by 20 traces"
    )
    worker_timeout_s: float = _parameter(
        3600.0,
        unit="s",
        minimum=10,
        source="a worker or writer run that takes longer is given up and its work asked for again",
    )
    commit_results: int = _parameter(
        200, unit="results", minimum=1, maximum=10_000, source="per transaction; 12 series of 1,800 samples are 170 kB"
    )

    # ---- warehouse -------------------------------------------------------------------------------
    lock_timeout_s: float = _parameter(
        60.0, unit="s", minimum=0, source="a write with publishing takes about 0.1 to 0.5 s (measured)"
    )

    # ---- reports and notifications ---------------------------------------------------------------
    serve_port: int = _parameter(
        9001,
        unit="port",
        minimum=1,
        maximum=65535,
        source="the only local port that ui.perfetto.dev's content policy lets through",
    )
    webhook_url: str | None = _parameter(
        None, unit="URL", source="notifications are off unless a webhook is named", is_secret=True
    )
    webhook_attempts: int = _parameter(
        4, unit="attempts", minimum=1, maximum=20, source="1 + 2 + 4 s of waiting outlast a restart"
    )
    webhook_timeout_s: float = _parameter(10.0, unit="s", minimum=0.1, maximum=600, source="Slack answers within 3 s")
    reports_url: str | None = _parameter(
        None, unit="URL", source="where others see the reports; default: perfreg serve's address"
    )

    def __post_init__(self) -> None:
        for spec in fields(self):
            value = getattr(self, spec.name)
            if value is not spec.default:  # those of the release are checked by its tests
                object.__setattr__(self, spec.name, _checked(spec, value))
        if self.warehouse.name.endswith(_PUBLISHED):
            own = self.warehouse.with_name(f"{self.warehouse.name.removesuffix(_PUBLISHED)}.duckdb")
            raise SettingError(
                f"warehouse = {self.warehouse}: this is the copy that readers open, and is not written to; "
                f"name {own}, of which perfreg reads the copy beside it"
            )
        if self.history_minimum > self.history_size:
            raise SettingError(
                f"history_minimum ({self.history_minimum}) must not be larger than history_size ({self.history_size})"
            )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None, **explicit: Any) -> Settings:
        """Settings from `PERFREG_*` variables; keyword arguments that are not None win.

        Raises:
            SettingError: a variable does not parse or is out of range.
        """
        environment = os.environ if environment is None else environment
        values = {
            spec.name: _parse(spec, environment[variable], variable)
            for spec in fields(cls)
            if environment.get(variable := ENVIRONMENT_PREFIX + spec.name.upper())
        }
        values.update({name: value for name, value in explicit.items() if value is not None})
        return cls(**values)._named(frozenset(values))

    @classmethod
    def checked(cls, name: str, value: Any) -> Any:
        """A value that somebody gave for one parameter, for this time only.

        Raises:
            SettingError: it is of another type or out of range.
        """
        return _checked(_spec(name), value)

    @classmethod
    def parsed(cls, name: str, text: str) -> Any:
        """The value of one parameter that a text spells, `0.75` or `cpu_app,rss_app` say.

        Raises:
            SettingError: it does not parse or is out of range.
        """
        spec = _spec(name)
        return _checked(spec, _parse(spec, text, name))

    def with_values(self, **values: Any) -> Settings:
        """A copy with some values changed; checked again. What was given stays so."""
        return replace(self, **values)._named(self._names)

    def _named(self, names: frozenset[str]) -> Settings:
        object.__setattr__(self, "_names", names)  # no field: two settings with the same values are equal
        return self

    def hash_of(self, *names: str) -> str:
        """16 hex digits over the named parameters: rows with the same digits were made with the same values."""
        text = json.dumps({name: getattr(self, name) for name in sorted(names)}, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    # ---- derived places --------------------------------------------------------------------------
    @property
    def published_warehouse(self) -> Path:
        return published_beside(self.warehouse)

    @property
    def home_dir(self) -> Path:
        return (self.home or self.warehouse.absolute().parent / ".perfreg").absolute()

    @property
    def inbox_dir(self) -> Path:
        return (self.inbox or self.warehouse.absolute().parent / "inbox").absolute()

    @property
    def builds_dir(self) -> Path:
        return (self.builds or self.warehouse.absolute().parent / "builds").absolute()

    @property
    def runs_dir(self) -> Path:
        """Registered run folders, one per run_id."""
        return self.home_dir / "runs"

    @property
    def reports_dir(self) -> Path:
        return self.home_dir / "reports"

    @property
    def reports_address(self) -> str:
        """Where links to report pages lead: `reports_url`, else where `perfreg serve` shows them."""
        return (self.reports_url or f"http://127.0.0.1:{self.serve_port}").rstrip("/")

    @property
    def dagster_home(self) -> Path:
        return self.home_dir / "dagster"

    @property
    def stopping_file(self) -> Path:
        """There while `perfreg ui` stops: sensors that wait in a tick end it."""
        return self.dagster_home / "stopping"

    @property
    def exchange_note_file(self) -> Path:
        """There once results of workers were taken in: traces of runs may be kept elsewhere than in `runs_dir`."""
        return self.home_dir / "exchange"

    @property
    def ui_lock_file(self) -> Path:
        """Held by `perfreg ui`: two daemons on one home would both take what is in the inbox."""
        return self.dagster_home / "ui.lock"

    @classmethod
    def kept_names(cls) -> tuple[str, ...]:
        """Parameters that results depend on, and that `perfreg settings set` puts into the warehouse."""
        return tuple(spec.name for spec in fields(cls) if spec.metadata["is_kept"])

    @property
    def given(self) -> set[str]:
        """Parameters that an argument or a variable named, be it with the release's default, or that differ from it."""
        return {spec.name for spec in fields(self) if getattr(self, spec.name) != spec.default} | self._names

    def spelled(self, name: str) -> str:
        """The value of a parameter as `parsed` takes it and the warehouse keeps it."""
        value = getattr(self, name)
        return ",".join(value) if isinstance(value, tuple) else str(value)

    def shown(self, name: str) -> Any:
        """The value of a parameter as it may be shown to whoever looks over a shoulder: of a secret URL the host; of a
        place that nobody named the one beside the warehouse that stands for it."""
        value = getattr(self, name)
        if value is None and name in _BESIDE:
            return _BESIDE[name](self)
        if value is None or not _spec(name).metadata["is_secret"]:
            return value
        try:
            place = urlsplit(value)
        except ValueError:
            return "no address (set)"
        return f"{place.scheme}://{place.hostname or ''}/… (set)"

    @classmethod
    def describe(cls) -> list[dict[str, Any]]:
        """One row per parameter: name, default, unit, allowed, source, environment variable."""
        return [
            {
                "name": spec.name,
                "default": spec.default,
                "unit": spec.metadata["unit"],
                "allowed": _allowed(spec),
                "source": spec.metadata["source"],
                "variable": ENVIRONMENT_PREFIX + spec.name.upper(),
            }
            for spec in fields(cls)
        ]


_PUBLISHED = ".read.duckdb"

_BESIDE: dict[str, Callable[[Settings], Path]] = {
    "home": lambda settings: settings.home_dir,
    "inbox": lambda settings: settings.inbox_dir,
    "builds": lambda settings: settings.builds_dir,
    "data": lambda settings: data_beside(settings.warehouse.absolute()),
}


def data_beside(warehouse: Path) -> Path:
    """The folder of large values of a warehouse whose settings name no other."""
    return warehouse.with_name(f"{warehouse.stem}.data")


def published_beside(warehouse: Path) -> Path:
    """The file that readers open: `<name>.read.duckdb` beside the one being written, whatever that one's suffix."""
    return warehouse.with_name(f"{warehouse.stem}{_PUBLISHED}")


def earlier_published_beside(warehouse: Path) -> Path:
    """What release 0.1.0 called that file: the same only where the warehouse's suffix is .duckdb."""
    return warehouse.with_name(f"{warehouse.stem}.read{warehouse.suffix}")


def _spec(name: str) -> Field[Any]:
    return next(spec for spec in fields(Settings) if spec.name == name)


def _choices(spec: Field[Any]) -> tuple[str, ...]:
    choices = spec.metadata["choices"]
    return choices() if callable(choices) else choices or ()


def _allowed(spec: Field[Any]) -> str:
    if choices := _choices(spec):
        return spec.metadata["choices_name"] or " or ".join(choices)
    low, high = spec.metadata["minimum"], spec.metadata["maximum"]
    if low is None and high is None:
        return "any"
    if high is None:
        return f"at least {low}"
    return f"{low} to {high}"


@cache
def _kind(name: str) -> Any:
    """The type of a parameter with its range."""
    from pydantic import Field as Limits  # noqa: PLC0415  (see validation)

    spec = _spec(name)
    kind, low, high = get_type_hints(Settings)[name], spec.metadata["minimum"], spec.metadata["maximum"]
    return kind if low is None and high is None else Annotated[kind, Limits(ge=low, le=high)]


def _is_place(spec: Field[Any]) -> bool:
    """A path has nothing to be checked but its type, and most commands are given one: they need no library for it."""
    return spec.type in ("Path", "Path | None")


def _checked(spec: Field[Any], value: Any) -> Any:
    if _is_place(spec) and isinstance(value, Path):
        return value
    from pydantic import ValidationError  # noqa: PLC0415

    try:
        value = validation.check(_kind(spec.name), value)
    except ValidationError as error:
        problem = validation.problems(error)[0]
        raise SettingError(f"{spec.name} = {value!r}: {_what_holds(spec, problem)}") from error
    if value == 0 and isinstance(value, float):
        value = 0.0  # -0.0 is the same number, and would be another text
    choices = _choices(spec)
    for one in value if isinstance(value, tuple) else (value,):
        if choices and not any(_is_choice(one, choice) for choice in choices):
            near = nearest(one, choices) if spec.metadata["choices_name"] else []
            told = f"; nearest: {', '.join(near)}" if near else ""
            raise SettingError(f"{spec.name} = {one!r}: allowed is {_allowed(spec)}{told}")
    return value


def _parse(spec: Field[Any], text: str, named: str) -> Any:
    """`named`: what the value was given as, a variable or the setting itself."""
    if _is_place(spec):
        return Path(text)
    if isinstance(spec.default, tuple):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    from pydantic import ValidationError  # noqa: PLC0415

    try:
        return validation.parse(_kind(spec.name), text.strip())
    except ValidationError as error:
        problem = validation.problems(error)[0]
        given = text.strip()[:60] if problem.kind == "range" else repr(text[:60])  # one out of its range is a number
        raise SettingError(f"{named} = {given}: {_what_holds(spec, problem)}") from error


def _what_holds(spec: Field[Any], problem: validation.Problem) -> str:
    unit = spec.metadata["unit"] if type(spec.default) in (int, float) else ""
    if problem.kind == "range":
        return f"allowed is {_allowed(spec)}{f' {unit}' if unit not in ('', *_NOT_COUNTED) else ''}"
    return f"expected {problem.expected}{f' ({unit})' if unit else ''}"


def _is_choice(value: str, choice: str) -> bool:
    return re.fullmatch(catalogue.of_pattern(choice), value) is not None
