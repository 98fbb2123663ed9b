"""Functional problems F of a session: crashes, ANRs and native tombstones from logcat.

Where the log ends is noted at the start; what comes after is the session's, whatever the clocks say. The log is a
ring of several buffers: when the noted line is gone from one, lines were lost, and "no problem found" is then not the
same as "no problem". That is recorded as `is_complete = false`. The user's log is not cleared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from perfreg_assets.collection.device import Device
from perfreg_assets.reasons import Reason, Rejected

LOG_TAG = "perfreg"
_BUFFERS = ("main", "system", "crash")
_LINE = re.compile(
    r"^\s*(?P<time>\d+\.\d+)\s+(?P<pid>\d+)\s+(?P<tid>\d+)\s+(?P<level>[VDIWEFAS])\s+(?P<tag>.*?)\s*: ?(?P<text>.*)$"
)
_MESSAGE_MAX = 2000


@dataclass(frozen=True)
class FunctionalProblem:
    """One problem. `device_wall_s` is logcat's time; `ts_ns` is set once the trace clock is known."""

    kind: str
    """crash, native_crash, anr, process_vanished or what the explorer calls it"""
    message: str
    device_wall_s: float | None = None
    ts_ns: int | None = None
    pid: int | None = None


@dataclass(frozen=True)
class LogReport:
    """What the log says about the session. `problems` holds what was found even when lines were lost."""

    problems: tuple[FunctionalProblem, ...]
    is_complete: bool
    lost: tuple[str, ...]
    """Names of the buffers that lost lines of the session."""


@dataclass(frozen=True)
class LogStart:
    """Where each buffer of the log ended when the session began: a line's text; None for an empty buffer."""

    last_lines: dict[str, str | None]


def mark_log(device: Device, mark: str) -> LogStart:
    """Notes where the log ends. The main buffer gets a line of ours, `mark`, as it is the busiest.

    Raises:
        Rejected: those of `Device.check`.
    """
    device.check(["log", "-p", "i", "-t", LOG_TAG, mark])
    last_lines: dict[str, str | None] = {"main": mark}
    for buffer in _BUFFERS[1:]:
        lines = device.check(["logcat", "-d", "-b", buffer, "-v", "epoch", "-t", "1"]).splitlines()
        last_lines[buffer] = next((line for line in reversed(lines) if _LINE.match(line)), None)
    return LogStart(last_lines)


def read_log(device: Device, start: LogStart, *, app: str, scratch_dir: str) -> LogReport:
    """Reads the session's part of the log and finds the app's problems in it.

    Raises:
        Rejected: those of `Device.run`; DEVICE_COMMAND_FAILED, logcat cannot be read.
    """
    fill = _ring_fill(device.run(["logcat", "-g"]).text)
    problems: list[FunctionalProblem] = []
    lost = []
    for buffer, last_line in start.last_lines.items():
        result = device.script(_LINES_AFTER, buffer, last_line or "", f"{scratch_dir}/log", timeout_s=60)
        found, _, text = result.text.partition("\n")
        if found not in ("found", "empty", "lost"):
            raise Rejected(Reason.DEVICE_COMMAND_FAILED, f"logcat -b {buffer}: {result.error_text}")
        # Of a buffer that was empty no line can be missed; that it is full now says the same.
        if found == "lost" or (found == "empty" and fill.get(buffer, 0.0) > _FULL):
            lost.append(buffer)
        problems += find_problems(parse_lines(text), app)
    unique: dict[tuple[str, int | None], FunctionalProblem] = {}
    for problem in sorted(problems, key=lambda item: item.device_wall_s or 0.0):
        unique.setdefault((problem.kind, problem.pid), problem)  # some devices tell a crash in two buffers
    return LogReport(tuple(unique.values()), not lost, tuple(lost))


_FULL = 0.9
_LINES_AFTER = (
    'logcat -d -b "$1" -v epoch >"$3" || exit 1; line=0; found=empty; '
    'if [ -n "$2" ]; then line=$(grep -n -F -e "$2" "$3" | tail -n 1 | cut -d : -f 1); found=${line:+found}; fi; '
    'echo "${found:-lost}"; tail -n "+$((${line:-0} + 1))" "$3" '
    "| grep -E ' [EF] (AndroidRuntime|ActivityManager|DEBUG|libc) *:'; rm -f \"$3\""
)


# ---- parsing ---------------------------------------------------------------------------------------
@dataclass(frozen=True)
class LogLine:
    wall_s: float
    pid: int
    tag: str
    text: str


def parse_lines(text: str) -> list[LogLine]:
    """Lines of `logcat -v epoch`; "beginning of" separators and broken lines are left out."""
    found = []
    for raw in text.splitlines():
        match = _LINE.match(raw)
        if match is not None:
            found.append(LogLine(float(match["time"]), int(match["pid"]), match["tag"], match["text"]))
    return found


def find_problems(lines: list[LogLine], app: str) -> list[FunctionalProblem]:
    """Crashes, ANRs and tombstones of the app (also of its `app:service` processes); other apps' are left out."""
    problems = []
    for position, line in enumerate(lines):
        if line.tag == "AndroidRuntime" and "FATAL EXCEPTION" in line.text:
            problem = _java_crash(lines, position, app)
        elif line.tag == "ActivityManager" and line.text.startswith("ANR in "):
            problem = _anr(lines, position, app)
        elif line.tag == "DEBUG" and f">>> {app}" in line.text:
            problem = _tombstone(lines, position, app)
        else:
            problem = None
        if problem is not None:
            problems.append(problem)
    return problems


def _following(lines: list[LogLine], position: int) -> list[LogLine]:
    """The lines of one report: same writer and tag, until it begins another one."""
    first = lines[position]
    block = [first]
    for line in lines[position + 1 : position + 200]:
        if line.pid != first.pid or line.tag != first.tag:
            continue
        if line.text.startswith(("FATAL EXCEPTION", "ANR in ", "*** ***")):
            break
        block.append(line)
    return block


def _is_process_of(name: str, app: str) -> bool:
    return name == app or name.startswith(f"{app}:")


def _java_crash(lines: list[LogLine], position: int, app: str) -> FunctionalProblem | None:
    block = _following(lines, position)
    for line in block:
        match = re.match(r"Process: (\S+), PID: (\d+)", line.text)
        if match is not None:
            if not _is_process_of(match[1], app):
                return None
            rest = block[block.index(line) + 1 :]
            message = "\n".join(part.text.strip() for part in rest[:6]) or block[0].text
            return FunctionalProblem("crash", message[:_MESSAGE_MAX], lines[position].wall_s, pid=int(match[2]))
    return None


def _anr(lines: list[LogLine], position: int, app: str) -> FunctionalProblem | None:
    match = re.match(r"ANR in (\S+)", lines[position].text)
    if match is None or not _is_process_of(match[1], app):
        return None
    block = _following(lines, position)
    reason = next((line.text for line in block if line.text.startswith("Reason:")), lines[position].text)
    pid = next((int(found[1]) for line in block if (found := re.match(r"PID: (\d+)", line.text))), None)
    return FunctionalProblem("anr", reason[:_MESSAGE_MAX], lines[position].wall_s, pid=pid)


def _tombstone(lines: list[LogLine], position: int, app: str) -> FunctionalProblem | None:
    match = re.search(r"pid: (\d+), .*>>> (\S+) <<<", lines[position].text)
    if match is None or not _is_process_of(match[2], app):
        return None
    block = _following(lines, position)
    signal = next((line.text for line in block if line.text.startswith("signal ")), lines[position].text)
    return FunctionalProblem("native_crash", signal[:_MESSAGE_MAX], lines[position].wall_s, pid=int(match[1]))


def _ring_fill(text: str) -> dict[str, float]:
    """Share of each ring buffer that is used, from `logcat -g`."""
    units = {"B": 1, "KB": 1024, "KIB": 1024, "MB": 1 << 20, "MIB": 1 << 20}
    fill = {}
    for match in re.finditer(r"^(\w+): ring buffer is (\d+) ?(\w+) \((\d+) ?(\w+) consumed", text, flags=re.MULTILINE):
        size = int(match[2]) * units.get(match[3].upper(), 1)
        used = int(match[4]) * units.get(match[5].upper(), 1)
        fill[match[1]] = used / size if size else 0.0
    return fill


def merge_problems(
    from_log: tuple[FunctionalProblem, ...], from_explorer: tuple[FunctionalProblem, ...]
) -> list[FunctionalProblem]:
    """Both lists without the explorer's words for what the log tells better: same kind and process, or same kind
    where the explorer names no process."""
    merged = list(from_log)
    for problem in from_explorer:
        known = any(
            {problem.kind, other.kind} <= {"crash", "native_crash"} or problem.kind == other.kind
            for other in from_log
            if problem.pid is None or other.pid is None or problem.pid == other.pid
        )
        if not known:
            merged.append(problem)
    return merged
