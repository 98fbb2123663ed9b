"""Every parameter: name, default, unit, allowed range, and the source of the default.

`Settings` is one frozen value handed downwards; nothing else reads the environment. Precedence:
explicit argument > environment variable `PERFREG_<NAME>` > default. The *current* ω and detector are kept
in the warehouse (`perfreg settings set`), because runs launched by automation cannot carry run config.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

from perfreg_assets import detection

ENVIRONMENT_PREFIX = "PERFREG_"


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
) -> Any:
    """`choices` may be a function: what is registered later is then allowed as well."""
    return field(
        default=default,
        metadata={"unit": unit, "source": source, "minimum": minimum, "maximum": maximum, "choices": choices},
    )


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All parameters. Field metadata holds unit, range and source; `describe()` lists them."""

    # ---- places ----------------------------------------------------------------------------------
    warehouse: Path = _parameter(Path("perfreg.duckdb"), unit="path", source="contract 4")
    home: Path | None = _parameter(
        None, unit="path", source="default: .perfreg beside the warehouse; traces, reports, caches and Dagster's home"
    )
    inbox: Path | None = _parameter(None, unit="path", source="default: inbox beside the warehouse")

    builds: Path | None = _parameter(
        None, unit="path", source="default: builds beside the warehouse; APKs put there are collected"
    )
    devices: tuple[str, ...] = _parameter(
        (), unit="adb serials", source="empty: the only attached device; each named one is a pool of its own"
    )

    # ---- trace engine and gate -------------------------------------------------------------------
    trace_processor: str | None = _parameter(
        None, unit="path", source="explicit trace processor; default: search order in README"
    )
    allow_engine_download: bool = _parameter(False, unit="yes/no", source="no network at run time unless asked for")
    engine_timeout_s: float = _parameter(
        600.0, unit="s", minimum=1, source="205 MB parse in 8 s; a query in 6 s (measured)"
    )
    engine_memory_bytes: int = _parameter(
        16 << 30, unit="bytes", minimum=1 << 28, source="the WebAssembly engine's own limit"
    )
    trace_max_bytes: int = _parameter(
        16 << 30, unit="bytes", minimum=1, source="unpacked size; guards against gzip bombs, the engine's limit"
    )
    run_json_max_bytes: int = _parameter(
        64 << 20, unit="bytes", minimum=1024, source="a 20,000-step path is about 4 MB"
    )
    path_max_steps: int = _parameter(
        20_000, unit="steps", minimum=1, source="30 min at an action per 90 ms; two hostile paths of it compare in 2 s"
    )
    duration_tolerance_ratio: float = _parameter(
        0.1, unit="ratio", minimum=0, maximum=1, source="share of the exploration that the trace may lack"
    )

    # ---- series ----------------------------------------------------------------------------------
    interval_s: float = _parameter(
        1.0, unit="s", minimum=0.01, maximum=60, source="thesis 4.1: half of the 2 s between actions"
    )
    judged_series: tuple[str, ...] = _parameter(
        ("cpu_app", "cpu_total", "rss_app"),
        unit="series names",
        source="thesis 4.1; each one more costs power at run level",
    )

    # ---- history ---------------------------------------------------------------------------------
    history_size: int = _parameter(12, unit="runs", minimum=2, maximum=1000, source="thesis 4.2.3: k = 12 most recent")
    history_minimum: int = _parameter(
        5, unit="runs", minimum=2, maximum=1000, source="quartiles of fewer distances rest on single runs"
    )
    path_similarity_minimum: float = _parameter(
        0.8, unit="ratio", minimum=0, maximum=1, source="thesis 4.2.3, Ratcliff-Obershelp"
    )
    history_same_version: bool = _parameter(
        False, unit="yes/no", source="earlier runs of the judged version itself are no reference for it"
    )
    history_excludes_anomalous: bool = _parameter(
        False, unit="yes/no", source="thesis: only F, configuration and path exclude; reviews exclude as well"
    )

    # ---- model and verdict -----------------------------------------------------------------------
    barycenter_backend: str = _parameter(
        "numba", unit="name", choices=("numba", "tslearn"), source="equal to 1e-9, see benchmarks"
    )
    barycenter_iterations: int = _parameter(
        30, unit="iterations", minimum=1, maximum=1000, source="a fixed point after 13 to 21 (measured)"
    )
    detector: str = _parameter(
        "default", unit="name", choices=detection.detector_names, source="README, How good is it"
    )
    omega: float = _parameter(
        0.75,
        unit="IQRs",
        minimum=0,
        maximum=100,
        source="detector default: 1 normal run in 22 (level .046); thesis: 0 to 1.5",
    )
    dbscan_eps: float = _parameter(
        2.0, unit="standard deviations", minimum=0, source="FPR .11, F1 .83 of the re-check alone (measured)"
    )
    dbscan_min_samples: int = _parameter(3, unit="runs", minimum=1, source="smallest cluster that is more than a pair")

    # ---- localisation ----------------------------------------------------------------------------
    localisation: str = _parameter(
        "default", unit="name", choices=detection.localisation_names, source="README, How good is it"
    )
    discord_window_s: float = _parameter(
        10.0, unit="s", minimum=1, maximum=600, source="mode thesis only; about five actions at 2 s"
    )
    discord_quantile_low: float = _parameter(0.90, unit="quantile", minimum=0.5, maximum=1, source="thesis 4.3")
    discord_quantile_high: float = _parameter(0.95, unit="quantile", minimum=0.5, maximum=1, source="thesis 4.3")
    discord_skip_start_s: float = _parameter(
        15.0, unit="s", minimum=0, source="half of the thesis' false positives lie at the ends"
    )
    discord_skip_end_s: float = _parameter(
        8.0, unit="s", minimum=0, source="half of the thesis' false positives lie at the ends"
    )
    matrix_profile_backend: str = _parameter(
        "numba", unit="name", choices=("numba", "stumpy"), source="equal to 1e-9, see benchmarks"
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
    webhook_url: str | None = _parameter(None, unit="URL", source="notifications are off unless a webhook is named")
    webhook_attempts: int = _parameter(
        4, unit="attempts", minimum=1, maximum=20, source="1 + 2 + 4 s of waiting outlast a restart"
    )
    webhook_timeout_s: float = _parameter(10.0, unit="s", minimum=0.1, maximum=600, source="Slack answers within 3 s")
    reports_url: str | None = _parameter(
        None, unit="URL", source="where others see the reports; default: perfreg serve's address"
    )

    def __post_init__(self) -> None:
        for spec in fields(self):
            _check(spec, getattr(self, spec.name))
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
        hints = get_type_hints(cls)
        values = {
            spec.name: _parse(spec, hints[spec.name], environment[ENVIRONMENT_PREFIX + spec.name.upper()])
            for spec in fields(cls)
            if environment.get(ENVIRONMENT_PREFIX + spec.name.upper())
        }
        values.update({name: value for name, value in explicit.items() if value is not None})
        return cls(**values)

    def with_values(self, **values: Any) -> Settings:
        """A copy with some values changed; checked again."""
        return replace(self, **values)

    def hash_of(self, *names: str) -> str:
        """16 hex digits over the named parameters: rows with the same digits were made with the same values."""
        text = json.dumps({name: getattr(self, name) for name in sorted(names)}, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    # ---- derived places --------------------------------------------------------------------------
    @property
    def published_warehouse(self) -> Path:
        """The file that readers open: `<name>.read.duckdb` beside the one being written."""
        return self.warehouse.with_name(f"{self.warehouse.stem}.read{self.warehouse.suffix}")

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


def _allowed(spec: Field[Any]) -> str:
    meta = spec.metadata
    if meta["choices"]:
        return " or ".join(_choices(meta))
    low, high = meta["minimum"], meta["maximum"]
    if low is None and high is None:
        return "any"
    if high is None:
        return f"at least {low}"
    return f"{low} to {high}"


def _choices(meta: Mapping[str, Any]) -> tuple[str, ...]:
    choices: tuple[str, ...] | Callable[[], tuple[str, ...]] = meta["choices"]
    return choices() if callable(choices) else choices


def _check(spec: Field[Any], value: Any) -> None:
    meta = spec.metadata
    if meta["choices"] and value not in _choices(meta):
        raise SettingError(f"{spec.name} = {value!r}: allowed is {_allowed(spec)}")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return
    too_low = meta["minimum"] is not None and not value >= meta["minimum"]  # `not >=` refuses NaN as well
    too_high = meta["maximum"] is not None and not value <= meta["maximum"]
    if too_low or too_high:
        raise SettingError(f"{spec.name} = {value!r} {meta['unit']}: allowed is {_allowed(spec)}")


_BOOLEANS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def _parse(spec: Field[Any], hint: Any, text: str) -> Any:
    name = str(hint)
    try:
        if hint is bool:
            return _BOOLEANS[text.strip().lower()]
        if hint is int:
            return int(text)
        if hint is float:
            return float(text)
        if "Path" in name:
            return Path(text)
        if name.startswith("tuple"):
            return tuple(part.strip() for part in text.split(",") if part.strip())
        return text
    except (KeyError, ValueError) as error:
        raise SettingError(
            f"{ENVIRONMENT_PREFIX}{spec.name.upper()} = {text!r} is not a valid {getattr(hint, '__name__', name)}"
        ) from error
