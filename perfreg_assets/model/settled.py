"""What was found to hold, remembered: a run is looked at again only when something about it is different.

`model.freshness` decides by recomputing every hash, which costs milliseconds per run. A run for which it found nothing
due is remembered by one number, the hash of all rows that the decision was made from; while the number is the same the
decision is. The memory is a file of such numbers beside the warehouse, a cache: without it everything is decided anew.
"""

from __future__ import annotations

import hashlib
import logging
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from perfreg_assets.detection import detectors
from perfreg_assets.provenance import code_version, deciding_code
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse import fingerprints
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.fingerprints import Numbers

FILE = "settled"
_LOG = logging.getLogger(__name__)
_HEAD_BYTES = 32
_NUMBER_BYTES = 8
# Odd factors keep equal parts in different places from cancelling each other.
_OWN, _AS_CANDIDATE, _EARLIER = map(np.uint64, (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0xC2B2AE3D27D4EB4F))


@dataclass(frozen=True)
class States:
    """Runs (n,) with the number of the state that each is in."""

    run_ids: list[str]
    partition_keys: list[str]
    numbers: Numbers


def circumstances(settings: Settings) -> str:
    """64 hex digits: all that decisions depend on beside the warehouse's rows.

    Args:
        settings: those in force.
    """
    known = detectors()
    names = {*Settings.kept_names(), *(name for one in known.values() for name in one.parameters)}
    parts = (settings.hash_of(*names), known, code_version("methods"), code_version("traces"), deciding_code())
    return hashlib.sha256(repr((*parts, fingerprints.release())).encode()).hexdigest()


def states(reader: Reader, settings: Settings) -> States:
    """The state that each run is in: its own rows, and what every earlier run of its app is to its history.

    Args:
        settings: those in force.
    """
    found = fingerprints.of_runs(
        reader,
        judged_series=settings.judged_series,
        detector=settings.detector,
        omega=settings.omega,
        with_verdicts=settings.history_excludes_anomalous,
    )
    return States(
        found.run_ids,
        found.partition_keys,
        found.numbers * _OWN + found.as_candidates * _AS_CANDIDATE + _earlier(found) * _EARLIER,
    )


def _earlier(found: fingerprints.Fingerprints) -> Numbers:
    """Of each run, the fold of what its app's earlier runs are (n,)."""
    if not len(found.numbers):
        return found.numbers
    upto: Numbers = np.bitwise_xor.accumulate(found.as_candidates)
    before = np.concatenate([np.zeros(1, np.uint64), upto[:-1]])
    first = np.maximum.accumulate(np.where(found.is_first_of_app, np.arange(len(before)), 0))
    earlier: Numbers = before ^ before[first]
    return earlier


class Memory:
    """The file of numbers. Its head says under which circumstances they were found; others are as good as none."""

    def __init__(self, folder: Path, circumstances: str) -> None:
        self._path, self._head = folder / FILE, bytes.fromhex(circumstances)

    def knows(self, numbers: Numbers) -> np.ndarray:
        """Whether each state (n,) is one in which nothing was due."""
        return np.isin(numbers, self._read())

    def add(self, numbers: Numbers, *, alive: Numbers) -> None:
        """Remembers states in which nothing is due. A memory that cannot be written costs time, nothing else.

        Args:
            alive: the states that runs are in now; when most numbers are of states gone by they are dropped.
        """
        if not len(numbers):
            return
        try:
            known = self._read()
            if not len(known) or len(known) > 2 * len(alive) + 1000:
                self._replace(np.union1d(known[np.isin(known, alive)], numbers))
            else:
                self._append(numbers)
        except OSError as error:
            _LOG.warning("%s cannot be written (%s): freshness is decided anew each time", self._path, error)

    def _read(self) -> Numbers:
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            content = b""
        except OSError as error:
            _LOG.warning("%s cannot be read (%s): freshness is decided anew", self._path, error)
            content = b""
        if content[:_HEAD_BYTES] != self._head:
            return np.empty(0, np.uint64)
        whole = (len(content) - _HEAD_BYTES) // _NUMBER_BYTES
        return np.frombuffer(content, "<u8", whole, _HEAD_BYTES).astype(np.uint64)

    def _append(self, numbers: Numbers) -> None:
        with self._path.open("r+b") as stream:
            # What a killed process left of a number is overwritten; two writers at once may lose each other's.
            end = stream.seek(0, os.SEEK_END)
            stream.seek(end - (end - _HEAD_BYTES) % _NUMBER_BYTES)
            stream.write(numbers.astype("<u8").tobytes())

    def _replace(self, numbers: Numbers) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        part = self._path.with_name(f".{FILE}.{os.getpid()}.part")
        part.write_bytes(self._head + numbers.astype("<u8").tobytes())
        os.replace(part, self._path)
