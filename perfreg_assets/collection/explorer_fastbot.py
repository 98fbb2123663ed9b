"""Fastbot2's step files: `step-<n>-<state>-<action>-<epoch ms>.xml|png`: the state in which it chose the action.

Fastbot2 writes them with `max.saveGUITreeToXmlEveryStep` or `max.takeScreenshotForEveryStep` in its max.config. The
tool is the operator's own: its licence forbids passing it on, so only its output is read, by name. The state number
comes from C++'s std::hash and is comparable between runs of the same Fastbot2 build only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from perfreg_assets.collection.clock import host_boot_s
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

_STEP_FILE = re.compile(
    r"step-(?P<step>\d+)-(?P<state>[^-\s/]+|-\d+)-(?P<action>[^\s/]+)-(?P<ms>\d{10,16})\.(?:xml|png)"
)
_LOOK_INTERVAL_S = 2.0
_FIND = 'find "$1" -type f -name "step-*" 2>/dev/null; true'


class Fastbot2Explorer:
    def __init__(self, context: ExplorerContext) -> None:
        options_of(context.config, {})
        self._context = context
        self._process = ExplorerProcess(context, context.config.explorer_command, {})
        self._names: list[str] = []
        self._next_look = 0.0

    def steps(self) -> list[Step]:
        return read_step_names(self._names)

    @property
    def step_count(self) -> int:
        return len(self._names)

    @property
    def state_count(self) -> int:
        return len({step.state.state_hash for step in read_step_names(self._names)})

    def start(self) -> None:
        self._process.start()

    def poll(self) -> bool:
        if host_boot_s() >= self._next_look:
            self._names = self._look()
            self._next_look = host_boot_s() + _LOOK_INTERVAL_S
        return self._process.poll(len(self._names))

    def stop(self) -> Exploration:
        self._process.stop()
        self._names = self._look()
        note = "states are Fastbot2's own numbers: comparable between runs of one Fastbot2 build only"
        return Exploration(tuple(read_step_names(self._names)), notes=(note,))

    def _look(self) -> list[str]:
        """Names of the step files, on the device or in the output folder of this computer."""
        on_device = self._context.device.script(_FIND, self._process.device_output).text.splitlines()
        here = [path.name for path in self._process.output_dir.rglob("step-*")]
        return [name.rsplit("/", 1)[-1] for name in on_device] + here


def read_step_names(names: Iterable[str]) -> list[Step]:
    """The path in order of step number; a step with both an XML and a picture counts once."""
    found: dict[int, Step] = {}
    for name in sorted(names):
        match = _STEP_FILE.fullmatch(name)
        if match is not None:
            stamp = Stamp("device_wall", int(match["ms"]) / 1000)
            found.setdefault(int(match["step"]), Step(stamp, State(hash_state(match["state"])), match["action"]))
    return [found[number] for number in sorted(found)]
