"""Android's monkey: random events from a seed, run on the device; the screen is read before the first and after each.

Monkey runs in the background on the device with its output in a file there, so that it survives a lost cable. Its
throttle is the action interval; the screen is read as soon as its output shows an event, so that equal seeds give
equal paths. A step is an event, when the output showed it, and the screen that was read before. Reading takes a second
or two on a phone and waits for the screen to be idle; a screen that never is (a video, an endless animation) is
recorded by its activity alone. Events that pass during a reading have no step, nor has one that was sent while the
device was away: on which screen is not known.
"""

from __future__ import annotations

import re
import shlex

from perfreg_assets.collection.background_process import BackgroundProcess, start_background
from perfreg_assets.collection.clock import host_boot_s
from perfreg_assets.collection.config import CollectionConfig
from perfreg_assets.collection.exploration import (
    Exploration,
    ExplorerContext,
    ExplorerProblem,
    Stamp,
    State,
    Step,
    hash_state,
    options_of,
)
from perfreg_assets.collection.screen_state import resumed_activity, screen_state
from perfreg_assets.reasons import Reason, Rejected

_OPTIONS = {
    "ignore_crashes": "true",  # false: monkey ends at the first crash
    "state": "structure",  # or text: texts of the views count as well
    "exhausted_after_s": "0",  # end when no unseen state came for so long; 0: never
    "arguments": "",  # more of monkey's own, as `--pct-touch 70`
}
_EVENT_COUNT = "1000000"  # the time limit ends it, not the count
_READ_SCREEN = (
    "dumpsys activity activities | grep -m 1 ResumedActivity; "
    'uiautomator dump "$1" >/dev/null 2>&1 && cat "$1"; rm -f "$1"'
)
_ACTION = re.compile(r"^\s*:Sending (.*?)\s*$", flags=re.MULTILINE)
_CRASH = re.compile(
    r"^// (?P<kind>CRASH|NOT RESPONDING): (?P<app>\S+) \(pid (?P<pid>\d+)\)(?:\s*// Short Msg: (?P<message>[^\n]*))?",
    flags=re.MULTILINE,
)


class MonkeyExplorer:
    def __init__(self, context: ExplorerContext) -> None:
        self._context = context
        self._options = monkey_options(context.config)
        self._silence_until_exhausted_s = float(self._options["exhausted_after_s"])
        self._log_path = f"{context.scratch_dir}/monkey.log"
        self._screen_path = f"{context.scratch_dir}/screen.xml"
        self._process: BackgroundProcess | None = None
        self._steps: list[Step] = []
        self._problems: list[ExplorerProblem] = []
        self._states: set[str] = set()
        self._shown: State | None = None
        self._readings = self._unreadable = 0
        self._next_look = self._last_output = self._last_unseen = 0.0
        self._log_end = ""
        self._has_sent = False

    def steps(self) -> list[Step]:
        return list(self._steps)

    @property
    def step_count(self) -> int:
        return len(self._steps)

    @property
    def state_count(self) -> int:
        return len(self._states)

    def start(self) -> None:
        context = self._context
        argv = ["monkey", "-p", context.app, "-s", str(context.seed)]
        argv += ["--throttle", str(round(context.config.action_interval_s * 1000))]
        if self._options["ignore_crashes"] == "true":
            argv += ["--ignore-crashes", "--ignore-timeouts", "--ignore-security-exceptions"]
        argv += [*shlex.split(self._options["arguments"]), "-v", _EVENT_COUNT]
        shown = self._read_screen()
        try:
            self._process = start_background(context.device, argv, log_path=self._log_path)
        except Rejected as refusal:
            if refusal.reason is Reason.DEVICE_COMMAND_FAILED:
                raise Rejected(Reason.EXPLORER_NOT_STARTED, refusal.detail) from refusal
            raise
        self._last_output = host_boot_s()
        self._show(shown, self._last_output)

    def poll(self) -> bool:
        now = host_boot_s()
        if now < self._next_look:
            return False
        try:
            return self._look(now)
        except Rejected:
            self._shown, self._next_look = None, 0.0  # monkey goes on without us: what it leads to nobody sees
            raise

    def _look(self, now: float) -> bool:
        assert self._process is not None
        status, output = self._process.poll()
        action = self._take_output(output, now)
        if status is not None:
            return self._ended(status)
        silent_s = now - self._last_output
        if silent_s > self._context.config.hung_after_s:
            raise Rejected(Reason.EXPLORER_HUNG, f"monkey sent no event for {silent_s:.0f} s: {self._log_end[-120:]}")
        if action is not None or self._shown is None:
            # The next event is an interval away: no need to ask the device before.
            self._next_look = now + 0.75 * self._context.config.action_interval_s
            if action is not None and self._shown is not None:
                self._steps.append(Step(Stamp("host_boot", now), self._shown, action))
            self._show(self._read_screen(), host_boot_s())
        limit = self._silence_until_exhausted_s
        return limit > 0 and now - self._last_unseen > limit

    def stop(self) -> Exploration:
        assert self._process is not None
        self._process.terminate()
        _, output = self._process.poll()
        is_later = self._take_output(output, host_boot_s()) is not None  # an event whose outcome nobody read
        notes = [f"{self._unreadable} of {self._readings} screens were known by their activity only"]
        return Exploration(
            tuple(self._steps),
            after=self._shown if self._steps and not is_later else None,
            problems=tuple(self._problems),
            notes=tuple(notes) if self._unreadable else (),
        )

    def _take_output(self, output: str, now: float) -> str | None:
        """The last event that the output tells of."""
        if not output:
            return None
        self._last_output = now
        self._log_end = " ".join((self._log_end + " " + output).split())[-400:]
        actions: list[str] = _ACTION.findall(output)
        self._has_sent = self._has_sent or bool(actions)
        for match in _CRASH.finditer(output):
            if match["app"] == self._context.app:
                kind = "crash" if match["kind"] == "CRASH" else "anr"
                message = match["message"] or f"monkey saw {match['kind'].lower()}"
                self._problems.append(ExplorerProblem(kind, message, Stamp("host_boot", now), int(match["pid"])))
        return actions[-1] if actions else None

    def _ended(self, status: int) -> bool:
        if status == 0 or self._problems:
            return True  # out of events, or ended by the crash it was told not to ignore
        if "No activities found" in self._log_end or not self._has_sent:
            raise Rejected(Reason.EXPLORER_NOT_STARTED, f"monkey returned {status}: {self._log_end[-200:]}")
        raise Rejected(Reason.EXPLORER_CRASHED, f"monkey returned {status}: {self._log_end[-200:]}")

    def _read_screen(self) -> State:
        text = self._context.device.script(_READ_SCREEN, self._screen_path).text
        first, _, hierarchy = text.partition("<?xml")
        activity = resumed_activity(first)
        views = screen_state("<?xml" + hierarchy, with_text=self._options["state"] == "text")
        self._readings += 1
        if views is None:
            self._unreadable += 1
        foreground = "/".join(activity) if activity else "unknown"
        state_hash = hash_state(f"{foreground}\n{views if views is not None else 'unreadable'}")
        return State(state_hash, activity[1] if activity else None)

    def _show(self, state: State, moment: float) -> None:
        """It is shown from now on."""
        self._shown = state
        if state.state_hash not in self._states:
            self._states.add(state.state_hash)
            self._last_unseen = moment


def monkey_options(config: CollectionConfig) -> dict[str, str]:
    """Monkey's options, all of them usable.

    Raises:
        Rejected: COLLECTION_CONFIG_INVALID.
    """
    options = options_of(config, _OPTIONS)
    _require_number("exhausted_after_s", options["exhausted_after_s"])
    try:
        shlex.split(options["arguments"])
    except ValueError as error:
        what = f"monkey's option arguments = {options['arguments'][:80]!r}: {error}"
        raise Rejected(Reason.COLLECTION_CONFIG_INVALID, what) from error
    return options


def _require_number(name: str, text: str) -> None:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise Rejected(Reason.COLLECTION_CONFIG_INVALID, f"option {name} = {text[:40]!r} is not a number from 0 on")
