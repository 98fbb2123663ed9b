"""A reduced trace as one page that needs nothing else: events, divergence and score over time, what was kept.

Drawn from what perfreg.reduction.json holds; without scripts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perfreg_assets.reports.links import DEFAULT_SERVER, reduced_link
from perfreg_assets.reports.templating import ALONE_POLICY, render

PAGE = "perfreg.reduction.html"
"""Its file, beside the reduced trace."""
WIDTH, HEIGHT = 1040, 130
_COLUMNS = 1040
_END = "unfinished"  # kept without being judged


@dataclass(frozen=True)
class Panel:
    """A line over time, in pixels.

    Attributes:
        path: of an SVG path; `top`: the value at its upper edge; `limit_y`: where the threshold lies, None without one.
    """

    title: str
    path: str
    top: float
    limit: float | None
    limit_y: float | None


def render_reduction_page(told: Mapping[str, Any], folder: str, *, server: str = DEFAULT_SERVER) -> str:
    """The page as HTML text.

    Args:
        told: what perfreg.reduction.json holds.
        folder: name of the folder that it lies in, with the trace.
        server: where `perfreg serve --reduced` shows the folder above.
    """
    windows: Sequence[Mapping[str, Any]] = told["windows"]
    start, end = windows[0]["start_ns"], windows[-1]["end_ns"]

    def place(time_ns: int) -> float:
        return round(float(WIDTH * (time_ns - start) / (end - start)), 2)

    stretches = [
        {
            "x": place(one["start_ns"]),
            "width": max(1.0, round(place(one["end_ns"]) - place(one["start_ns"]), 2)),
            "start_s": (one["start_ns"] - start) / 1e9,
            "length_s": (one["end_ns"] - one["start_ns"]) / 1e9,
            "start_ns": one["start_ns"],
            "end_ns": one["end_ns"],
            "link": reduced_link(folder, _file_of(told, one), one["start_ns"], one["end_ns"], server),
            **_inside(windows, one),
        }
        for one in told["stretches"]
    ]
    panels = [
        _panel("events per window", windows, lambda one: one["events"], None, place),
        _panel("divergence, nats", windows, lambda one: one["kl"], told["theta"], place),
        _panel("score", windows, lambda one: one["score"], told["alpha"], place),
    ]
    reasons = Counter(one["reason"] or "as usual" for one in windows)
    dropped = Counter[str]()
    for second in told["seconds"]:
        if not second["is_kept"]:
            dropped.update({told["types"][int(number)]: count for number, count in second["counts"].items()})
    dropped_s = sum(not second["is_kept"] for second in told["seconds"])
    return render(
        "reduction.html.j2",
        {
            "content_policy": ALONE_POLICY,
            "told": told,
            "server": server,
            "name": f"{folder}/{told['trace']}",  # traces of run folders are all called alike
            "width": WIDTH,
            "height": HEIGHT,
            "duration_s": (end - start) / 1e9,
            "stretches": stretches,
            "panels": panels,
            "reasons": reasons.most_common(),
            "dropped": [(name, count, count / dropped_s) for name, count in dropped.most_common(20)],
            "dropped_s": dropped_s,
            "processes": _used(told["seconds"]),
        },
    )


def _used(seconds: Sequence[Mapping[str, Any]]) -> list[tuple[str, float, int | None]]:
    """(process, seconds that it ran a second, its largest memory in bytes) in what was dropped, by running time."""
    running, memory, count = Counter[str](), dict[str, int](), 0
    for second in seconds:
        if not second["is_kept"]:
            count += 1
            running.update(second["running_s"])
            for name, size in second["rss_bytes"].items():
                memory[name] = max(memory.get(name, 0), size)
    return [(name, total / count, memory.get(name)) for name, total in running.most_common(12)]


def _file_of(told: Mapping[str, Any], stretch: Mapping[str, int]) -> str:
    """Which file a stretch is in; of an endurance recording the first of them, where it was stored in parts."""
    for file in told.get("files", ()):
        if any(
            part["end_ns"] > stretch["start_ns"] and part["start_ns"] < stretch["end_ns"] for part in file["stretches"]
        ):
            return str(file["name"])
    return str(told["trace"])


def _inside(windows: Sequence[Mapping[str, Any]], stretch: Mapping[str, int]) -> dict[str, Any]:
    own = [one for one in windows if one["start_ns"] < stretch["end_ns"] and one["end_ns"] > stretch["start_ns"]]
    unusual = [one for one in own if one["is_anomalous"]]
    scores = [one["score"] for one in unusual if one["score"] is not None]
    reasons = ", ".join(sorted({one["reason"] for one in own if one["is_anomalous"] or one["reason"] == _END} - {None}))
    return {"unusual": len(unusual), "score": max(scores, default=None), "reasons": reasons}


def _panel(
    title: str,
    windows: Sequence[Mapping[str, Any]],
    value_of: Callable[[Mapping[str, Any]], float | None],
    limit: float | None,
    place: Callable[[int], float],
) -> Panel:
    """The largest value of each pixel; a gap where nothing was judged. What is far above the threshold is cut off."""
    highest: dict[int, float] = {}
    for one in windows:
        value = value_of(one)
        if value is not None:
            column = int(place(one["start_ns"]) * _COLUMNS / WIDTH)
            highest[column] = max(highest.get(column, 0.0), float(value))
    top = max([*highest.values(), limit or 0.0], default=0.0)
    if limit is not None:
        top = min(top, 10 * limit)
    top = top or 1.0
    per_window = max(1, round(_COLUMNS / len(windows)) + 1)
    steps, before = [], None
    for column in sorted(highest):
        y = round(HEIGHT * (1 - min(highest[column], top) / top), 1)
        steps.append(f"{'L' if before is not None and column - before <= per_window else 'M'}{column} {y}")
        before = column
    limit_y = round(HEIGHT * (1 - limit / top), 1) if limit is not None else None
    return Panel(title, " ".join(steps), top, limit, limit_y)
