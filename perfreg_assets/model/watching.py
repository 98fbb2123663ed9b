"""A recording that is judged while it is made: what is unusual is stored with its rim, the rest is counted and dropped.

Nothing is dropped that was not judged: windows are judged once the recording is so far beyond them that no event of
them can still come; what comes later all the same, and what there is no time to judge, is kept and says so.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from perfreg_assets.methods.app_load import REACH_S
from perfreg_assets.methods.reduction import OF_WINDOWS, Judge
from perfreg_assets.model import watch_state
from perfreg_assets.model.recording_parts import MARGIN_NS, PartReader
from perfreg_assets.model.reduced_before import parameters_of
from perfreg_assets.model.reduction_document import Reduced
from perfreg_assets.model.watch_state import Judged, Saved, as_json, as_text
from perfreg_assets.model.window_judging import (
    Learned,
    Scores,
    Windows,
    decided,
    judge_of,
    learn_from,
    unfinished,
    window_ns,
)
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.spans import Spans, merged, until, without
from perfreg_assets.traces import event_types, reduced
from perfreg_assets.traces.cutting import Cut, cut_trace
from perfreg_assets.traces.event_types import EventWindows, Survey
from perfreg_assets.traces.gate import FileFacts
from perfreg_assets.traces.scope import Screens
from perfreg_assets.traces.second_use import SecondUse
from perfreg_assets.traces.spool import Spool, new_spool
from perfreg_assets.whole_files import whole_file, write_whole

COMPLETE, KILLED = "complete", "killed"
_SETTINGS = (*("reduction_window_s", "reduction_reference_s", "reduction_rim_s", "reduction_gap_s", "reduction_mode"),)
"""Those that the rest of a recording has to be judged with as well."""
STATUS = "perfreg.endurance.json"
"""Lies in the folder from the first moment: how far the recording was read and judged, and what is stored."""
_SECOND_NS = 1_000_000_000
_LONGEST_OPEN_NS = 60 * _SECOND_NS  # an unusual stretch that does not end is stored in parts of this length
_RAREST_NS = 60 * _SECOND_NS
"""A recording that is judged more rarely than this is kept whole too long."""
_FOREVER = 1 << 62


@dataclass(frozen=True)
class StoredFile:
    """A file with kept stretches, a whole trace of its own."""

    name: str
    stretches: tuple[tuple[int, int], ...]
    bytes: int
    sha256: str


def require_even(window_ns: int) -> None:
    """Windows and seconds must end together now and then: only there can what came before be judged and dropped.

    Raises:
        ValueError: they do so more rarely than once a minute.
    """
    unit = _unit_ns(window_ns)
    if unit > _RAREST_NS:
        raise ValueError(
            f"windows of {window_ns / 1e9:g} s end with a whole second only every {unit // _SECOND_NS:,} s, and a "
            "recording is judged there: take a length such as 0.04, 0.1, 0.25 or 0.3 s (reduction_window_s), or a "
            "reference with such windows"
        )


def _unit_ns(window_ns: int) -> int:
    """A whole number of seconds and of windows: what of a second is counted already is not told apart."""
    return math.lcm(window_ns, _SECOND_NS)


class TraceWatch:
    """Judges what comes: by `step` what was appended to `spool`, by `take_file` a recording of its own."""

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        learned: Learned | None,
        *,
        lag_s: float,
        app: str | None = None,
        parts: PartReader | None = None,
        is_known: bool = False,
    ) -> None:
        """
        Args:
            folder: is made, and gets the stored files.
            learned: None: the recording's own beginning is the reference.
            lag_s: so long after an event the recording holds all that came with it.
            app: whose load counts, where the recording's beginning is the reference.
            parts: reads series of what comes, before any of it is dropped.
            is_known: the folder is there already, see `resumed`.
        """
        folder.mkdir(parents=True, exist_ok=is_known)  # its name is the collection's own
        self.folder = folder
        self._spool: Spool | None = None
        self.files: list[StoredFile] = []
        self.read_bytes = 0
        self.finished: tuple[Reduced, dict[str, Any]] | None = None
        self._settings, self._learned, self._lag_ns = settings, learned, round(lag_s * 1e9)
        self._app, self.parts = app, parts
        self._judge: Judge | None = None
        self._events: EventWindows | None = None
        self._scores = Scores.unknown(0)
        self._windows: Windows | None = None
        self._stored: Spans = []
        self._unseen: Spans = []
        self._sequences: set[int] = set()
        self._known_bundles = 0
        self._digest = hashlib.sha256()
        self._cuts: list[Cut] = []
        self._judged = Judged(folder)
        self._saved_windows = 0
        self._late: Spans = []
        self._is_over = False
        if not is_known:
            self.tell("recording")

    @classmethod
    def resumed(cls, folder: Path, settings: Settings) -> TraceWatch:
        """Goes on where another process was killed or gave up: `take_rest`, `take_file` judge what was fetched since.

        Of the SHA-256 of the recording only what was read is known: what is told then is that of it and the rest.

        Raises:
            OSError, ValueError: what is there cannot be read.
        """
        saved = watch_state.read(folder)
        if saved is None:
            return cls(folder, settings, None, lag_s=0.0, is_known=True)
        watch = cls(folder, settings.with_values(**saved.settings), saved.learned, lag_s=0.0, is_known=True)
        watch._take_up(saved)
        return watch

    def _take_up(self, saved: Saved) -> None:
        told = saved.told
        self.read_bytes = told["read_bytes"]
        self._digest = hashlib.sha256(told["sha256"].encode())
        self._known_bundles = told["known_bundles"]
        self._sequences = set(told["sequences"])
        self.files = [_stored(one) for one in told["files"]]
        self._stored = merged(span for one in self.files for span in one.stretches)
        self._judge = judge_of(saved.learned, self._settings)
        for step in saved.steps:
            fresh = _events_of(step, saved.learned)
            # Of a second that began in the step before, the later one says all.
            self._events = fresh if self._events is None else _joined(_before(self._events, fresh), fresh)
            parts = (step["kl"], step["score"], step["unusual"], step["silent"], step["unasked"])
            both = zip(self._scores.parts(), parts, strict=True)
            self._scores = Scores(*(np.concatenate([own, more]) for own, more in both))
            self._judge.take_up(step["past"], int(step["held"][0]))
        self._saved_windows = len(self._scores.kl)
        self._judged = Judged(self.folder, steps=told["steps"])
        for begin, end in told["late"]:
            self._scores.unasked[begin:end] = True
        assert self._events is not None
        for begin, end in told["unseen"]:
            self._unseen.append((begin, end))
            self._forgive_silence(begin, end)
        self._windows = self._decided(saved.learned)

    def _save(self) -> None:
        """Writes what was judged since the last time, before any of it is dropped."""
        if self._events is None or self._judge is None or self._learned is None:
            return
        told = self._state()
        first, count = self._saved_windows, len(self._scores.kl)
        if count == first:
            self._judged.state(told)
            return
        if first == 0:
            own = {name: getattr(self._settings, name) for name in _SETTINGS}
            self._judged.learned(self._learned, own)
        events = self._events
        begin = events.start_ns + first * events.window_ns
        use = events.use.within((begin - events.use.start_ns) // _SECOND_NS, len(events.use))
        named = [list(one) for one in (use.running_s, use.rss_bytes, use.rise_bytes)]
        kl, score, unusual, silent, unasked = (one[first:] for one in self._scores.parts())
        self._judged.step(
            {
                "span": np.array([begin, events.end_ns]), "seconds_from": np.array([use.start_ns]),
                "seconds": use.counts,
                "counts": events.counts[first:], "strange": events.strange[first:], "is_lossy": events.is_lossy[first:],
                "is_suspended": events.is_suspended[first:], "use": as_text(named), "kl": kl, "score": score,
                "unusual": unusual, "silent": silent, "unasked": unasked, "past": self._judge.past,
                "held": np.array([self._judge.held]),
            },
            told,
        )  # fmt: skip
        self._saved_windows = count

    def _state(self) -> dict[str, Any]:
        return {
            "read_bytes": self.read_bytes, "sha256": self._digest.hexdigest(), "known_bundles": self._known_bundles,
            "sequences": sorted(self._sequences), "files": [_file(one) for one in self.files],
            "unseen": self._unseen, "late": self._late,
        }  # fmt: skip

    @property
    def was_killed(self) -> bool:
        """Whether it was finished by another process than began it, which had no time to say why it ended."""
        return self.finished is not None and self.finished[1]["state"] == KILLED

    @property
    def spool(self) -> Spool:
        """Made when it is first asked for: not every recording grows."""
        if self._spool is None:
            self._spool = new_spool(self.folder)
        return self._spool

    def explore_from(self, start_ns: int) -> None:
        """When the exploration began, on the recording's clock."""
        if self.parts is not None:
            self.parts.explore_from(start_ns)

    def explore_until(self, end_ns: int) -> None:
        """When it ended."""
        if self.parts is not None:
            self.parts.explore_until(end_ns)

    def explore_steps(self, screens: Callable[[], Screens]) -> None:
        """See `PartReader.explore_steps`."""
        if self.parts is not None:
            self.parts.explore_steps(screens)

    # ---- what comes --------------------------------------------------------------------------------
    def append(self, data: bytes) -> None:
        """The recording's next bytes, see `Spool.append`."""
        self.spool.append(data)
        self._digest.update(data)
        self.read_bytes += len(data)

    def step(self, *, is_last: bool = False, is_behind: bool = False) -> str:
        """Judges what is complete in the spool, stores what is unusual and shortens the spool; says where it stands.

        Args:
            is_last: nothing will come any more.
            is_behind: there is no time to judge: all that is there is kept.

        Raises:
            Rejected: REFERENCE_TOO_SHORT: the recording's beginning does not do; TRACE_…
        """
        self._is_over = is_last
        counted = self._take_in(self.spool.path, self._known_bundles, self._sequences, is_last, is_behind)
        if counted is None or self._events is None:
            return self._said()
        needed_ns = self._read_part(self.spool.path, counted, is_last=is_last)
        limit = counted.end_ns + 1 if is_last else self._settled_until()
        pending = without(until(self._kept(), limit), self._stored)
        ready = [one for one in pending if is_last or one[1] < limit or one[1] - one[0] >= _LONGEST_OPEN_NS]
        self._store(self.spool.path, ready, counted)
        if not is_last:
            self._known_bundles = 0  # until the spool is shortened, it is not known how many of it are
        self._save()
        left = min([limit, needed_ns, *(begin for begin, _ in without(pending, ready))])
        if not is_last:
            cut = self.spool.replace(
                lambda write: cut_trace(
                    self.spool.path, self._settings.trace_max_bytes, [(left, _FOREVER)], counted.bundles, write,
                    goes_on=True,
                )
            )  # fmt: skip
            self._known_bundles = cut.bundle_count
            self._judged.state(self._state())
        else:  # asked again, nothing of it is new
            self._known_bundles = len(counted.bundles)
        self.tell("recording")
        return self._said()

    def take_file(self, path: Path, *, is_last: bool = False) -> str:
        """Judges a recording that is whole, and stores what of it is unusual; the next one should begin before its end.

        Args:
            is_last: there is no next one: how it ends is kept.

        Raises:
            Rejected: as `step`.
        """
        self._is_over = is_last
        self._hash(path)
        before = self._boundary()
        counted = self._take_in(path, 0, set(), is_last=True, is_behind=False)
        if counted is not None and self._events is not None:
            begin = event_types.survey(path, self._settings.trace_max_bytes).start_ns
            if before is not None and begin > before:
                self._forgive_silence(before, begin)
                if begin > before + _SECOND_NS:
                    self._unseen.append((before, begin))
            within = until(self._kept(), counted.end_ns + 1)
            ready = [(max(a, begin), b) for a, b in without(within, self._stored) if b > begin]
            self._store(path, ready, counted)
            self._read_part(path, counted, is_last=False, is_whole=True)
        self._save()
        self.tell("recording")
        return self._said()

    def take_rest(self, path: Path, *, is_last: bool) -> str:
        """Judges what of a recording was left when the one before was killed: its spool, and what came then.

        Args:
            is_last: see `take_file`.

        Raises:
            Rejected: as `step`.
        """
        self._is_over = is_last
        self._hash(path)
        counted = self._take_in(path, self._known_bundles, self._sequences, is_last=True, is_behind=False)
        assert counted is not None
        pending = without(until(self._kept(), counted.end_ns + 1), self._stored)
        begin = event_types.survey(path, self._settings.trace_max_bytes).start_ns
        self._store(path, [(max(a, begin), b) for a, b in pending if b > begin], counted)
        self._save()
        self.tell("recording")
        return self._said()

    def _hash(self, path: Path) -> None:
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                self._digest.update(chunk)
                self.read_bytes += len(chunk)

    def _read_part(self, path: Path, counted: EventWindows, *, is_last: bool, is_whole: bool = False) -> int:
        """Reads series of what is new in a file; until when nothing of it may be dropped yet."""
        if self.parts is None:
            return _FOREVER
        # What follows on a recording that is whole begins before its end.
        settled = counted.end_ns if is_last else counted.end_ns - (_SECOND_NS if is_whole else self._lag_ns)
        self.parts.read(path, settled, is_last=is_last or is_whole)
        return self.parts.needed_from_ns - MARGIN_NS

    def finish(
        self, state: str, *, source: str, run: Mapping[str, Any] | None = None
    ) -> tuple[Reduced, dict[str, Any]] | None:
        """Writes perfreg.reduction.json of all that was judged; None where nothing was.

        Args:
            state: complete, or why the recording ended early.
            source: where the recording came from. run: what else is known of it.
        """
        self.tell(state)
        if self._windows is None:
            return None
        if state == COMPLETE:
            self.forget()
            if self._spool is not None:
                self._spool.remove()
        total = Cut(
            sum(one.packet_count for one in self._cuts), sum(one.kept_count for one in self._cuts),
            sum(one.stripped_count for one in self._cuts), {}, sum(one.bytes_after for one in self._cuts),
            sum(one.bundle_count for one in self._cuts),
        )  # fmt: skip
        digest = self._digest.hexdigest()
        facts = FileFacts(
            Path(source), self.read_bytes, digest, digest, False, self.read_bytes, total.packet_count, mtime_ns=0
        )
        stored = hashlib.sha256("".join(one.sha256 for one in self.files).encode()).hexdigest()
        parameters = parameters_of(self._settings, self._learned, app=self._app)
        size = sum(one.bytes for one in self.files)
        made = Reduced(self.folder, facts, self._windows, total, stored, size, parameters)
        told = {**made.told, "state": state, "files": [_file(one) for one in self.files]}
        told["unseen"] = [{"start_ns": begin, "end_ns": end} for begin, end in self._unseen]
        told["run"] = dict(run or {})
        write_whole(self.folder / reduced.DOCUMENT, json.dumps(told, separators=(",", ":")).encode(), is_durable=True)
        self.finished = made, told
        return self.finished

    def forget(self) -> None:
        """Nothing of it is to be taken up any more."""
        self._judged.remove()

    def tell(self, state: str) -> None:
        """Writes where it stands."""
        boundary = self._boundary()
        told = {
            "state": state, "read_bytes": self.read_bytes, "judged_until_ns": boundary,
            "is_learning": self._events is None, "files": [_file(one) for one in self.files],
        }  # fmt: skip
        write_whole(self.folder / STATUS, json.dumps(told, indent=1).encode(), is_durable=True)

    # ---- judging -----------------------------------------------------------------------------------
    def _take_in(
        self, path: Path, known_bundles: int, sequences: set[int], is_last: bool, is_behind: bool
    ) -> EventWindows | None:
        """Counts and judges the windows that are complete; the counts of this file, None while there is nothing."""
        limit = self._settings.trace_max_bytes
        try:
            found = event_types.survey(path, limit)
        except Rejected as error:
            if error.reason is Reason.SOURCE_MISSING and not is_last:
                return None
            raise
        if self._learned is None:
            self._learned = self._learn(path, found, is_last=is_last)
            if self._learned is None:
                return None
        learned = self._learned
        start = self._boundary() or found.start_ns
        counted = event_types.count_events(
            path, limit, replace(found, start_ns=start), learned.types, learned.window_ns, sequences,
            seen=learned.seen, seconds_from_ns=self._events.start_ns if self._events is not None else None,
        )  # fmt: skip
        self._add(counted, is_last=is_last, is_behind=is_behind)
        self._note_late(counted, known_bundles, start)
        assert self._events is not None
        self._windows = self._decided(learned)
        return counted

    def _learn(self, path: Path, found: Survey, *, is_last: bool) -> Learned | None:
        """From the recording's beginning, once it is there."""
        settings, width = self._settings, window_ns(self._settings)
        reference_ns = round(settings.reduction_reference_s * 1e9)
        whole = event_types.count_events(path, settings.trace_max_bytes, found, (), width)
        if not is_last and whole.end_ns - self._lag_ns < found.start_ns + reference_ns:
            return None
        return learn_from(path, found, settings, app=self._app)[0]

    def _add(self, counted: EventWindows, *, is_last: bool, is_behind: bool) -> None:
        """Appends the complete windows to those of before, and judges them."""
        learned = self._learned
        assert learned is not None
        if self._judge is None:
            self._judge = judge_of(learned, self._settings)
        width = learned.window_ns
        before = len(self._scores.kl)
        begin = counted.start_ns - before * width
        unit = _unit_ns(width)
        complete = max(0, counted.end_ns - self._lag_ns - begin) // unit * (unit // width) - before
        count = len(counted.counts) if is_last else max(0, min(complete, len(counted.counts)))
        boundary = counted.start_ns + count * width
        seconds = -(-(boundary - counted.use.start_ns) // _SECOND_NS) if count else 0
        until = counted.end_ns if is_last else boundary - 1
        fresh = replace(
            counted, counts=counted.counts[:count], strange=counted.strange[:count], is_lossy=counted.is_lossy[:count],
            is_suspended=counted.is_suspended[:count], end_ns=until, use=counted.use.within(0, seconds),
        )  # fmt: skip
        self._events = fresh if self._events is None else _joined(self._events, fresh)
        self._scores = self._scores.longer(count)
        first = max(0, learned.window_count - before)
        if is_behind:
            self._scores.unasked[before + first :] = True
        judged = count - int(self._is_over and bool(unfinished(fresh).any()))
        if not is_behind and judged > first:
            self._scores.put(before + first, self._judge.judge(fresh.counts[first:judged].astype(np.float64)))

    def _note_late(self, counted: EventWindows, known_bundles: int, start_ns: int) -> None:
        """Events that came after their windows had been judged: those windows are kept."""
        assert self._events is not None
        for first, last in counted.bundles[known_bundles:, :2].tolist():
            if known_bundles and 0 <= first < start_ns:
                begin = max(0, (first - self._events.start_ns) // self._events.window_ns)
                end = (min(last, start_ns - 1) - self._events.start_ns) // self._events.window_ns + 1
                self._scores.unasked[begin : max(end, 0)] = True
                self._late.append((int(begin), int(max(end, 0))))

    def _forgive_silence(self, start_ns: int, end_ns: int) -> None:
        """Where nothing was recorded, that there is no event is no hang."""
        assert self._events is not None
        assert self._learned is not None
        first, last = ((time - self._events.start_ns) // self._events.window_ns for time in (start_ns, end_ns))
        self._scores.silent[first:last] = False
        self._windows = self._decided(self._learned)

    def _decided(self, learned: Learned) -> Windows:
        assert self._events is not None
        return decided(self._events, learned, self._scores, self._settings, is_over=self._is_over)

    def _boundary(self) -> int | None:
        """The end of the last judged window."""
        if self._events is None:
            return None
        return self._events.start_ns + len(self._events.counts) * self._events.window_ns

    def _settled_until(self) -> int:
        """What is kept before this does not change any more, whatever comes."""
        boundary, settings = self._boundary(), self._settings
        assert boundary is not None
        assert self._events is not None
        reach = OF_WINDOWS * self._events.window_ns
        if self._learned is not None and self._learned.limits is not None:
            reach = max(reach, (REACH_S + 1) * _SECOND_NS + self._events.window_ns)
        return boundary - reach - round((settings.reduction_rim_s + settings.reduction_gap_s) * 1e9)

    def _kept(self) -> Spans:
        return list(self._windows.stretches) if self._windows is not None else []

    # ---- storing -----------------------------------------------------------------------------------
    def _store(self, path: Path, stretches: Spans, counted: EventWindows) -> None:
        """Writes a file with some stretches: whole, synced, and only then under its name."""
        if not stretches:
            return
        name = f"kept-{len(self.files) + 1:04d}.perfetto-trace"
        digest = hashlib.sha256()
        with whole_file(self.folder / name, is_durable=True) as file:

            def write(data: bytes) -> None:
                file.write(data)
                digest.update(data)

            write(reduced.mark())
            self._cuts.append(cut_trace(path, self._settings.trace_max_bytes, stretches, counted.bundles, write))
            size = file.tell()
        self.files.append(StoredFile(name, tuple(stretches), size, digest.hexdigest()))
        self._stored = merged([*self._stored, *stretches])

    def _said(self) -> str:
        if self._events is None:
            return f"{self.read_bytes:,} bytes read, learning what is usual"
        boundary = self._boundary()
        assert boundary is not None
        judged_s = (boundary - self._events.start_ns) / 1e9
        kept_s = sum(end - begin for begin, end in self._kept()) / 1e9
        size = sum(one.bytes for one in self.files)
        return f"{judged_s:,.0f} s judged, {kept_s:,.1f} s kept, {size:,} of {self.read_bytes:,} bytes stored"


def _events_of(step: Mapping[str, Any], learned: Learned) -> EventWindows:
    start_ns, end_ns = step["span"].tolist()
    # An earlier release wrote none down.
    strange = step["strange"] if "strange" in step else np.zeros(len(step["counts"]), np.uint32)
    use = SecondUse(int(step["seconds_from"][0]), step["seconds"], *(tuple(one) for one in as_json(step["use"])))
    return EventWindows(
        start_ns, learned.window_ns, end_ns, learned.types, step["counts"], strange, step["is_lossy"],
        step["is_suspended"], np.empty((0, 5), np.int64), 0, 0, use,
    )  # fmt: skip


def _stored(told: Mapping[str, Any]) -> StoredFile:
    stretches = tuple((one["start_ns"], one["end_ns"]) for one in told["stretches"])
    return StoredFile(told["name"], stretches, told["bytes"], told["sha256"])


def _before(events: EventWindows, other: EventWindows) -> EventWindows:
    """Without the seconds from those of another on."""
    return replace(events, use=events.use.within(0, (other.use.start_ns - events.use.start_ns) // _SECOND_NS))


def _joined(before: EventWindows, fresh: EventWindows) -> EventWindows:
    return replace(
        before,
        end_ns=max(before.end_ns, fresh.end_ns) if len(fresh.counts) else before.end_ns,
        counts=np.concatenate([before.counts, fresh.counts]),
        strange=np.concatenate([before.strange, fresh.strange]),
        is_lossy=np.concatenate([before.is_lossy, fresh.is_lossy]),
        is_suspended=np.concatenate([before.is_suspended, fresh.is_suspended]),
        bundles=fresh.bundles,
        unplaced_count=0,  # those before the boundary, which were counted before
        broken_count=max(before.broken_count, fresh.broken_count),
        use=before.use.followed_by(fresh.use),
    )


def _file(one: StoredFile) -> dict[str, Any]:
    stretches = [{"start_ns": begin, "end_ns": end} for begin, end in one.stretches]
    return {"name": one.name, "bytes": one.bytes, "sha256": one.sha256, "stretches": stretches}
