"""What `simpleperf report-sample --show-callchain` writes without `--protobuf`: the same samples as indented text.

A record is a line `name:` and below it, two blanks further in, lines `key: value`; see cmd_report_sample.cpp in
Android's system/extras/simpleperf. The last one, `lost_situation`, says how many samples there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.simpleperf import Frame, Report

_UNKNOWN = "unknown"
_NOT_NAMED = -1


@dataclass
class _Sample:
    """`frames`: (path of the file, function) from the innermost on."""

    values: dict[str, str] = field(default_factory=dict)
    frames: list[list[str]] = field(default_factory=list)

    def take(self, key: str, value: str, *, is_deeper: bool) -> bool:
        """A line of it; whether it can stand here."""
        if key == "vaddr_in_file":
            self.frames.append(["", ""])
        elif key in ("file", "symbol"):
            if not self.frames:
                return False
            self.frames[-1][key == "symbol"] = value
        elif not is_deeper:
            self.values[key] = value
        return True


@dataclass
class _Reading:
    name: str
    times: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    stack: list[int] = field(default_factory=list)
    known: dict[tuple[int, int, tuple[Frame, ...]], int] = field(default_factory=dict)
    events: dict[str, int] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)
    symbols: dict[int, dict[str, int]] = field(default_factory=dict)
    threads: dict[int, tuple[int, str]] = field(default_factory=dict)

    def add(self, sample: _Sample, line: int) -> None:
        try:
            time, count, thread = (int(sample.values[key]) for key in ("time", "event_count", "thread_id"))
            event, comm = sample.values["event_type"], sample.values.get("thread_name", "")
        except (KeyError, ValueError) as error:
            raise _damaged(self.name, f"the sample above line {line} lacks {error}") from error
        self.threads[thread] = (0, comm)
        self.times.append(time)
        self.counts.append(count)
        key = (thread, self.events.setdefault(event, len(self.events)), tuple(map(self._frame, sample.frames)))
        self.stack.append(self.known.setdefault(key, len(self.known)))

    def _frame(self, told: list[str]) -> Frame:
        path, function = told
        file = self.files.setdefault(path, len(self.files))
        if function in ("", _UNKNOWN):
            return file, _NOT_NAMED
        of_file = self.symbols.setdefault(file, {})
        return file, of_file.setdefault(function, len(of_file))


def _damaged(name: str, what: str) -> Rejected:
    return Rejected(Reason.PROFILE_DAMAGED, f"{name}: {what}")


def read_text_report(chunks: Iterable[bytes], name: str) -> Report:
    """All of a file, given in pieces.

    Args:
        name: of the file, for messages.

    Raises:
        Rejected: PROFILE_DAMAGED.
    """
    found, app, told_count = _Reading(name), "", None
    section, sample, number = "", _Sample(), 0
    for number, text in enumerate(_lines(chunks), 1):
        key, colon, value = text.strip().partition(":")
        if not colon:
            if text.strip():
                raise _damaged(name, f"line {number} is {text.strip()[:40]!r}, no report of simpleperf")
            continue
        if not text.startswith(" "):
            if section == "sample":
                found.add(sample, number)
            section, sample = key, _Sample()
            continue
        value = value.removeprefix(" ")
        if section == "sample":
            if not sample.take(key, value, is_deeper=text.startswith("    ")):
                raise _damaged(name, f"line {number}: {key} before an address")
        elif section == "meta_info" and key == "app_package_name":
            app = value
        elif section == "lost_situation" and key == "sample_count":
            told_count = value
    if section == "sample":
        found.add(sample, number)
    if told_count != str(len(found.times)):
        raise _damaged(name, "it ends in the middle, or lacks samples: copy it again")
    return _report(found, app)


def _report(found: _Reading, app: str) -> Report:
    try:
        times, counts = np.array(found.times, np.int64), np.array(found.counts, np.int64)
    except OverflowError as error:
        raise _damaged(found.name, "a sample's time or count is out of range") from error
    return Report(
        times,
        counts,
        np.array(found.stack, np.int64),
        list(found.known),
        symbols={file: list(names) for file, names in found.symbols.items()},
        files={file: path for path, file in found.files.items()},
        threads=found.threads,
        event_types=list(found.events),
        app=app,
    )


def _lines(chunks: Iterable[bytes]) -> Iterator[str]:
    held = b""
    for chunk in chunks:
        *whole, held = (held + chunk).split(b"\n")
        for line in whole:
            yield line.decode("utf-8", "backslashreplace").rstrip("\r")
    if held:
        yield held.decode("utf-8", "backslashreplace")
