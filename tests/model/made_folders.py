"""Run folders of made-up runs, whose traces are a packet that names what is in them (`made_reading` reads them)."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from made_power_profiles import DEVICES, PROFILES
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto
from synthetic import APP, SAMPLES, START

from perfreg_assets.run import POWER_PROFILE

TRACE = "t.perfetto-trace"
SECOND_NS = 1_000_000_000
BROKEN = ("zone", "key", "size", "json", "no trace", "half a trace")
"""What may be wrong with a folder."""


@dataclass(frozen=True)
class Made:
    """What a folder says and holds.

    Attributes:
        hour: it started so long after the first.
        end_s: of the exploration; the trace has 40 s, so that a longer one lacks its end.
        extra: series → what a regression adds to it.
        broken: one of `BROKEN`.
        is_damaged: the trace proves corrupt when it is read.
        profile: one of `PROFILES`, which the folder brings along.
        device: code name, by the trace. model: what its run.json calls it.
        lacks: a series that the trace does not have.
        metric: what the app reports of itself.
        clock_ns: by the trace's clock when it began.
        scale: of all that is measured.
    """

    run_id: str | None
    hour: float
    version: str
    unit: str = "a"
    app: str = APP
    version_code: int | None = None
    time_limit_s: float = 40.0
    end_s: int = SAMPLES
    scenario: str | None = None
    route: int = 1
    has_crashed: bool = False
    content: str = ""
    extra: tuple[tuple[str, float], ...] = ()
    broken: str | None = None
    is_damaged: bool = False
    profile: str | None = None
    device: str = DEVICES[0]
    model: str = "d"
    lacks: str | None = None
    metric: float | None = None
    clock_ns: int = 0
    scale: float = 1.0

    def document(self) -> dict[str, Any]:
        """Its run.json."""
        path = [
            {"step": k, "ts_ns": self.clock_ns + k * 4 * SECOND_NS, "state_hash": f"h{k * self.route % 5}",
             "screen": f"s{k % 3}"}
            for k in range(10)
        ]  # fmt: skip
        started_at = (START + timedelta(hours=self.hour)).isoformat()
        told = {
            "run_id": self.run_id,
            "app": self.app,
            "version_name": None if self.broken == "key" else self.version,
            "version_code": self.version_code,
            "config": {
                **{"device": self.model, "unit": self.unit, "strategy": "s"},
                **{"time_limit_s": self.time_limit_s, "action_interval_s": 4.0},
            },
            "started_at": started_at.partition("+")[0] if self.broken == "zone" else started_at,
            "exploration": {"start_ns": self.clock_ns, "end_ns": self.clock_ns + self.end_s * SECOND_NS},
            "scenario": self.scenario,
            "path": path,
            "functional_problems": [{"kind": "crash"}] if self.has_crashed else [],
            "trace": TRACE,
            "trace_bytes": 7 if self.broken == "size" else None,
            "metrics": None if self.metric is None else [{"name": "cart_ms", "value": self.metric, "unit": "ms"}],
        }
        return {name: value for name, value in told.items() if value is not None}

    def write(self, folder: Path) -> Path:
        """Makes the folder, in place of what is there."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        text = json.dumps(self.document(), indent=1)
        (folder / "run.json").write_text(text[:-5] if self.broken == "json" else text)
        if self.broken != "no trace":
            trace = self.trace()
            (folder / TRACE).write_bytes(trace[:-3] if self.broken == "half a trace" else trace)
        if self.profile is not None:
            (folder / POWER_PROFILE).write_bytes(PROFILES[self.profile])
        return folder

    def trace(self) -> bytes:
        told = {
            **{"content": self.content, "extra": dict(self.extra), "is_damaged": self.is_damaged},
            **{"device": self.device, "lacks": self.lacks, "clock_ns": self.clock_ns, "scale": self.scale},
        }
        trace = proto.Trace()
        trace.packet.add().for_testing.str = json.dumps(told, sort_keys=True)
        return trace.SerializeToString()


def eleven() -> dict[str, Made]:
    """Folder name → run, of three versions and kinds of devices; some regress, two bring a power profile along, one
    lacks a series, half of them report something of themselves."""
    extra = {6: ("cpu_app", 1.0), 7: ("cpu_total", 0.8), 8: ("rss_app", 1.5)}
    versions = ["1"] * 5 + ["2"] * 4 + ["3"] * 2
    return {
        f"f{n:02d}": Made(
            run_id=f"made-{n:03d}", hour=n, version=version, unit="b" if n % 4 == 3 else "a", content=f"made-{n:03d}",
            extra=(extra[n],) if n in extra else (), device=DEVICES[n % 3], profile="low.xml" if n in (1, 6) else None,
            lacks="cpu_total" if n == 5 else None, metric=None if n % 2 else 100.0 + n,
        )
        for n, version in enumerate(versions)
    }  # fmt: skip
