"""What was found to hold, remembered: a run is looked at again only when something that its results rest on is
different.

`model.freshness` decides by recomputing every hash, which costs milliseconds per run. What it decides about a run rests
on the run's own rows and on what the earlier runs of its app are to its history. So the memory knows of each run its
stamp (`warehouse.stamps`) and the part that it plays for later ones (`warehouse.fingerprints`), and which versions had
something due. Whether anything is different is told by one checksum over small columns; what it is, by moments of
writing.

The memory is two files beside the warehouse, a cache: without them, or where they do not fit each other, everything is
decided anew.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import reduce
from operator import xor

import numpy as np
import numpy.typing as npt

from perfreg_assets.catalogue import judged_names
from perfreg_assets.detection import detectors
from perfreg_assets.model import trying_again
from perfreg_assets.provenance import code_version, deciding_code
from perfreg_assets.reasons import Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import fingerprints, runs, stamps, states
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.fingerprints import Part
from perfreg_assets.warehouse.lock import file_lock
from perfreg_assets.whole_files import write_whole

FILE, LOOK = "settled", "settled.json"
LOCK_TIMEOUT_S = 60.0
_LOG = logging.getLogger(__name__)
_RECORD = np.dtype([("run", "<u8"), ("stamp", "<u8"), ("app", "<u8"), ("started_us", "<i8"), ("part", "<u8")])
"""What is known of a run. A later record replaces an earlier one; a stamp of 0: nothing is stored of it any more."""
_HEAD_BYTES = 32
_SPARE_RECORDS = 1000
Records = npt.NDArray[np.void]


def circumstances(settings: Settings) -> str:
    """64 hex digits: all that decisions depend on beside the warehouse's rows.

    Args:
        settings: those in force.
    """
    known = detectors()
    names = {*Settings.kept_names(), *(name for one in known.values() for name in one.parameters)}
    parts = (settings.hash_of(*names), known, code_version("methods"), code_version("traces"), deciding_code())
    return hashlib.sha256(repr((*parts, fingerprints.release())).encode()).hexdigest()


@dataclass(frozen=True)
class Look:
    """One look at the warehouse.

    Attributes:
        keys: partitions in which something may be due; None: in any.
        changed: of runs that are not as remembered, by their key: the new stamp, 0 where nothing is stored.
        parts: run → the part that it plays now, of those of them that are there.
        known: what the files said.
    """

    keys: set[str] | None
    totals: stamps.Totals
    changed: Mapping[int, int] = field(default_factory=dict)
    parts: Mapping[str, Part] = field(default_factory=dict)
    known: _Known | None = None


@dataclass(frozen=True)
class _Known:
    """What the files say.

    Attributes:
        records: (n,) one per run, by its key.
        latest: moments of writing, as in `stamps.Totals`.
        due: partitions in which something was due.
        count: records in the file, replaced ones too.
    """

    records: Records
    latest: dict[str, str]
    due: set[str]
    count: int

    def of(self, keys: Iterable[int]) -> dict[int, np.void]:
        """key → record, of those that are known."""
        wanted = np.fromiter(keys, np.uint64)
        places = np.searchsorted(self.records["run"], wanted)
        return {
            int(key): self.records[place]
            for key, place in zip(wanted, places, strict=True)
            if place < len(self.records) and self.records["run"][place] == key
        }


class Memory:
    """The files. They say under which circumstances they were written; under others they are as good as none.

    Args:
        settings: those in force.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._path, self._look_path = settings.home_dir / FILE, settings.home_dir / LOOK
        self._head = bytes.fromhex(circumstances(settings))
        self._is_ours = False

    @contextmanager
    def looking(self, reader: Reader) -> Iterator[Look]:
        """A look between which and `remember` nobody else remembers anything."""
        with ExitStack() as stack:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                lock = self._path.with_name(f"{FILE}.lock")
                stack.enter_context(file_lock(lock, timeout_s=LOCK_TIMEOUT_S, what=str(self._path)))
                self._is_ours = True
            except (OSError, Rejected) as error:
                _LOG.warning("%s cannot be written (%s): what is found is not remembered", self._path, error)
            try:
                yield self._look(reader)
            finally:
                self._is_ours = False

    def remember(self, reader: Reader, look: Look, due: Iterable[str]) -> None:
        """Remembers the state looked at, in which something is due in these partitions and in no other. A memory that
        cannot be written costs time, nothing else."""
        if not self._is_ours:
            return
        try:
            self._write(reader, look, sorted(due))
        except OSError as error:
            _LOG.warning("%s cannot be written (%s): freshness is decided anew each time", self._path, error)

    def _look(self, reader: Reader) -> Look:
        totals, known = stamps.totals(reader), self._read()
        if known is None:
            return Look(None, totals)
        changed, ids = _changed(reader, known, totals)
        parts = self._parts(reader, ids)
        again = trying_again.readable_again(reader, self._settings)
        keys = {*known.due, *states.partitions_of(reader, again).values()} if again else {*known.due}
        keys |= {part.partition_key for part in parts.values() if part.partition_key is not None}
        moved = _moved(known, changed, parts)
        for app in runs.apps(reader) if moved else ():
            if _key(app) in moved:
                keys |= runs.partitions_since(reader, app, moved[_key(app)])
        return Look(keys, totals, changed, parts, known)

    def _parts(self, reader: Reader, run_ids: Iterable[str] | None) -> dict[str, Part]:
        return fingerprints.parts(
            reader,
            run_ids,
            judged_series=judged_names(self._settings.judged_series),
            detector=self._settings.detector,
            omega=self._settings.omega,
            with_verdicts=self._settings.history_excludes_anomalous,
            with_null=[one.name for one in detectors().values() if one.has_empirical_null],
        )

    # ---- files -------------------------------------------------------------------------------------
    def _read(self) -> _Known | None:
        try:
            content, look = self._path.read_bytes(), json.loads(self._look_path.read_bytes())
            count = (len(content) - _HEAD_BYTES) // _RECORD.itemsize
            if content[:_HEAD_BYTES] != self._head or count < 0:
                return None
            every = np.frombuffer(content, _RECORD, count, _HEAD_BYTES)
            records = every[::-1][np.unique(every["run"][::-1], return_index=True)[1]]
            checksum = int(np.bitwise_xor.reduce(records["stamp"])) if count else 0
            known = _Known(records, dict(look["latest"]), set(look["due"]), count)
            return known if look["checksum"] == checksum else None
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            _LOG.warning("%s cannot be read (%s): freshness is decided anew", self._path, error)
            return None

    def _write(self, reader: Reader, look: Look, due: list[str]) -> None:
        known = look.known  # nobody else wrote since
        if look.keys is None or known is None or known.count > 2 * len(known.records) + _SPARE_RECORDS:
            records = _records(_keyed(stamps.of_runs(reader)), self._parts(reader, None))
            # In order, as they are looked up: sorted but for the records added since, they are read five times as fast.
            ordered = self._head + records[np.argsort(records["run"])].tobytes()
            write_whole(self._path, ordered, is_durable=False)
        elif look.changed:
            with self._path.open("r+b") as stream:
                # What a killed process left of a record is overwritten.
                stream.seek(_HEAD_BYTES + known.count * _RECORD.itemsize)
                stream.write(_records(look.changed, look.parts).tobytes())
        elif known.due == set(due):
            return
        text = json.dumps({"checksum": look.totals.checksum, "latest": look.totals.latest, "due": due})
        write_whole(self._look_path, text.encode(), is_durable=False)


def _records(stamped: Mapping[int, int], parts: Mapping[str, Part]) -> Records:
    """Records of runs, by key and stamp; `parts` of those of them that are there."""
    of_key = {_key(run_id): part for run_id, part in parts.items()}
    none = Part(None, None, 0, 0)
    rows = [
        (key, stamp, _key(part.app) if part.app is not None else 0, part.started_us, part.number)
        for key, stamp in stamped.items()
        for part in [of_key.get(key, none)]
    ]
    return np.array(rows, _RECORD)


# ---- what is different -------------------------------------------------------------------------------
def _changed(reader: Reader, known: _Known, totals: stamps.Totals) -> tuple[dict[int, int], list[str]]:
    """({key: new stamp} of the runs that are not as known, ids of those of them that are there).

    Those written since are asked for their stamps; if these do not explain the difference between the checksums
    (something was deleted, or arrived with an earlier moment), all are.
    """
    checksum = int(np.bitwise_xor.reduce(known.records["stamp"])) if len(known.records) else 0
    if totals.checksum == checksum:
        return {}, []
    suspects = stamps.written_since(reader, known.latest)
    stamped = dict.fromkeys(suspects, 0) | stamps.of_runs(reader, suspects)
    before = {key: int(record["stamp"]) for key, record in known.of(map(_key, stamped)).items()}
    if reduce(xor, [*stamped.values(), *before.values()], checksum) != totals.checksum:
        stamped = stamps.of_runs(reader)
        before = dict(zip(known.records["run"].tolist(), known.records["stamp"].tolist(), strict=True))
    new = _keyed(stamped)
    changed = {key: new.get(key, 0) for key in {*new, *before} if new.get(key, 0) != before.get(key, 0)}
    return changed, [run_id for run_id in stamped if _key(run_id) in changed]


def _moved(known: _Known, changed: Mapping[int, int], parts: Mapping[str, Part]) -> dict[int, int]:
    """Key of an app → start (µs) of its first run that is not any more what it was to later ones' histories."""
    first: dict[int, int] = {}
    now, before = {_key(run_id): part for run_id, part in parts.items()}, known.of(changed)
    for key in changed:
        part, record = now.get(key), before.get(key)
        if part is not None and record is not None and part.number == int(record["part"]):
            continue
        places = [(_key(part.app), part.started_us)] if part is not None and part.app is not None else []
        places += [(int(record["app"]), int(record["started_us"]))] if record is not None else []
        for app, started_us in places:
            first[app] = min(started_us, first.get(app, started_us))
    return first


def _keyed(stamped: Mapping[str, int]) -> dict[int, int]:
    return {_key(run_id): stamp for run_id, stamp in stamped.items()}


def _key(name: str) -> int:
    """64 bits that stand for a name in the files."""
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
