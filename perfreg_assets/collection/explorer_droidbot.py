"""DroidBot's output: `events/event_<tag>.json`, `states/state_<tag>.json`.

The path is the start state of each event in order of tag, and after the last one its stop state; `utg.js` is a graph
without order and not a path. A tag is the second in which DroidBot set about the event; it reads the start state then
and sends the event. Two events in one second overwrite each other, which shows as an event that starts in another state
than the one before it stopped in. Use an interval of 2 s, as the thesis does. Tags are local times, so DroidBot is
started in UTC: elsewhere the hour that clocks are set back by comes twice.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from perfreg_assets.collection.config import CollectionConfig
from perfreg_assets.collection.exploration import (
    Exploration,
    ExplorerContext,
    Stamp,
    State,
    Step,
    hash_state,
    options_of,
)
from perfreg_assets.collection.explorer_process import ExplorerProcess
from perfreg_assets.reasons import Reason, Rejected

_OPTIONS = {"state": "structure"}  # or text: DroidBot's state_str, which differs with every text on the screen
_COMMAND = (
    *("droidbot", "-d", "{serial}", "-a", "{apk}", "-o", "{output}", "-policy", "dfs_greedy"),
    *("-interval", "{interval}", "-timeout", "{seconds}", "-keep_app"),
)
_TAG_FORMAT = "%Y-%m-%d_%H%M%S"
_ZONE = {"TZ": "UTC"}


class DroidBotExplorer:
    def __init__(self, context: ExplorerContext) -> None:
        self._options = droidbot_options(context.config)
        if not context.config.explorer_command and not context.config.apk:
            raise Rejected(Reason.COLLECTION_CONFIG_INVALID, "droidbot needs the apk")
        # DroidBot takes whole seconds only.
        values = {"interval": str(max(1, math.ceil(context.config.action_interval_s)))}
        self._process = ExplorerProcess(context, context.config.explorer_command or _COMMAND, values, _ZONE)

    def steps(self) -> tuple[Step, ...]:
        try:
            return read_droidbot(self._process.output_dir, with_text=self._options["state"] == "text").steps
        except Rejected:  # of a file that is being written as well; `stop` says so of one that stays so
            return ()

    @property
    def step_count(self) -> int:
        return len(self._event_names())

    @property
    def state_count(self) -> int:
        return len(list((self._process.output_dir / "states").glob("state_*.json")))

    def start(self) -> None:
        self._process.start()

    def poll(self) -> bool:
        return self._process.poll(len(self._event_names()))

    def stop(self) -> Exploration:
        self._process.stop()
        return read_droidbot(self._process.output_dir, with_text=self._options["state"] == "text")

    def _event_names(self) -> list[Path]:
        return list((self._process.output_dir / "events").glob("event_*.json"))


def droidbot_options(config: CollectionConfig) -> dict[str, str]:
    """DroidBot's options, all of them usable.

    Raises:
        Rejected: COLLECTION_CONFIG_INVALID.
    """
    return options_of(config, _OPTIONS)


@dataclass(frozen=True)
class _Event:
    wall_s: float
    start_state: str
    stop_state: str
    action: str | None


def read_droidbot(output_dir: Path, *, with_text: bool = False) -> Exploration:
    """Path and notes from the output folder of a DroidBot that ran in UTC.

    Raises:
        Rejected: EXPLORER_OUTPUT_INVALID, a file is not what DroidBot writes.
    """
    files = sorted((output_dir / "events").glob("event_*.json"))
    notes = []
    events = []
    for path in files:
        document = _read(path)
        if document is None:
            if path is not files[-1]:
                raise Rejected(Reason.EXPLORER_OUTPUT_INVALID, f"{path.name} is not JSON")
            notes.append("DroidBot was ended while it wrote its last event, which is left out")
            continue
        events.append(_event(path, document))
    if not events:
        return Exploration((), notes=tuple(notes))
    known = _states(output_dir / "states")

    def shown(state: str) -> State:
        structure, activity = known.get(state, (None, None))
        return State(hash_state(state if with_text or structure is None else structure), activity)

    steps = [Step(Stamp("host_wall", event.wall_s), shown(event.start_state), event.action) for event in events]
    gaps = sum(before.stop_state != after.start_state for before, after in pairwise(events))
    if gaps:
        notes.append(
            f"at {gaps} places an event is missing: DroidBot names files by the second, so that two events in one "
            "second overwrite each other; use an action interval of 2 s"
        )
    states = [*(event.start_state for event in events), events[-1].stop_state]
    unknown = sum(state not in known for state in states)
    if unknown:
        notes.append(f"{unknown} states have no file and count by DroidBot's own hash of them")
    return Exploration(tuple(steps), after=shown(events[-1].stop_state), notes=tuple(notes))


def _event(path: Path, document: dict[str, Any]) -> _Event:
    tag, start, stop = (document.get(key) for key in ("tag", "start_state", "stop_state"))
    if not isinstance(tag, str) or not isinstance(start, str) or not isinstance(stop, str):
        raise Rejected(Reason.EXPLORER_OUTPUT_INVALID, f"{path.name} lacks tag, start_state or stop_state")
    action = document.get("event_str")
    return _Event(_tag_s(tag), start, stop, action if isinstance(action, str) else None)


def _tag_s(tag: str) -> float:
    try:
        return datetime.strptime(tag, _TAG_FORMAT).replace(tzinfo=UTC).timestamp()
    except ValueError as error:
        raise Rejected(Reason.EXPLORER_OUTPUT_INVALID, f"DroidBot's tag {tag[:60]!r} is not a time") from error


def _states(directory: Path) -> dict[str, tuple[str | None, str | None]]:
    """state_str → (state_str_content_free, activity)."""
    found: dict[str, tuple[str | None, str | None]] = {}
    for path in sorted(directory.glob("state_*.json")):
        document = _read(path)
        if document is None:
            continue  # ended while it wrote; its state is then known by state_str alone
        state, structure, activity = (
            document.get(key) for key in ("state_str", "state_str_content_free", "foreground_activity")
        )
        if isinstance(state, str):
            found[state] = (
                structure if isinstance(structure, str) else None,
                activity if isinstance(activity, str) else None,
            )
    return found


def _read(path: Path) -> dict[str, Any] | None:
    try:
        document = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        raise Rejected(Reason.EXPLORER_OUTPUT_INVALID, f"{path.name} is not a JSON object")
    return document
