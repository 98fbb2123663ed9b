"""Input that somebody broke, by mutation of good input: each case is refused by a reason or taken, and nothing else."""

from __future__ import annotations

import gzip
import json
import logging
import random
import shutil
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from perfreg_assets.benchmarks.taking_in import Origin, take_in
from perfreg_assets.collection.registry import examine
from perfreg_assets.evaluation.dataset import read_dataset
from perfreg_assets.partitions import to_key
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces.gate import check_file
from perfreg_assets.traces.method_log import read_method_log
from perfreg_assets.traces.power_profile import parse_profile

DATA = Path(__file__).parents[1] / "data"
SLOW_S = 20.0
"""No case of these sizes may take longer."""
_WORDS: tuple[Any, ...] = (
    None, True, -1, 0, 2**31, 2**63, 2**64, -(2**63), 1e308, 0.1, "", "\0", "\u202e", "\ud800", "../../etc/passwd",
    "/dev/zero", "a" * 10_000, [], {}, [[[[[[]]]]]], float("inf"), float("nan"),
    "2026-02-30T00:00:00Z", "0001-01-01T00:00:00+14:00",
)  # fmt: skip


@dataclass
class Cases:
    """What became of the cases of a kind."""

    kind: str
    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        return self.outcomes.total()


# ---- mutations -----------------------------------------------------------------------------------
def broken(content: bytes, chance: random.Random) -> bytes:
    """Bytes with one thing wrong, or some."""
    made = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 8))):
        at = chance.randrange(max(1, len(made)))
        match chance.randrange(7):
            case 0 if made:
                made[at] ^= 1 << chance.randrange(8)
            case 1 if made:
                made[at] = chance.choice((0, 0x7F, 0x80, 0xFF, ord("9"), ord("-"), ord('"')))
            case 2:
                del made[at : at + chance.choice((1, 2, 100, len(made)))]
            case 3:
                made[at:at] = made[at : at + chance.choice((1, 8, 1000))]
            case 4:
                made[at:at] = chance.randbytes(chance.choice((1, 4, 64)))
            case 5:
                made[at:at] = b"\xff" * chance.randint(1, 12)
            case _:
                other = chance.randrange(max(1, len(made)))
                made[at : at + 16] = made[other : other + 16]
    return bytes(made)


def broken_json(content: bytes, chance: random.Random) -> bytes:
    """A JSON text of which values or keys are others; one time in three bytes are."""
    if chance.random() < 1 / 3:
        return broken(content, chance)
    document = json.loads(content)
    for _ in range(chance.choice((1, 1, 2, 4))):
        holders = list(_holders(document))
        if not holders:
            break
        holder = chance.choice(holders)
        key = chance.choice(list(holder)) if isinstance(holder, dict) else chance.randrange(len(holder))
        match chance.randrange(4):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[str(chance.choice(_WORDS))[:50]] = holder.pop(key)
            case 2:
                holder[key] = {"deeper": holder[key]}
            case _:
                holder[key] = chance.choice(_WORDS)
    return json.dumps(document).encode()


def _holders(value: Any) -> Iterator[Any]:
    if isinstance(value, (dict, list)) and value:
        yield value
        for one in value.values() if isinstance(value, dict) else value:
            yield from _holders(one)


# ---- kinds ---------------------------------------------------------------------------------------
def _reason_of(rejected: Rejected | None) -> str:
    if rejected is not None and rejected.reason is Reason.FOLDER_FAILED:
        raise AssertionError(str(rejected))
    return rejected.reason.code if rejected else "taken"


class RunFolder:
    """run.json, or the trace, of a run folder."""

    def __init__(self, work: Path, mutated: str) -> None:
        source = DATA / "sessions" / "notes-000"
        self._folder = work / "run"
        shutil.copytree(source, self._folder, dirs_exist_ok=True)
        self._settings = Settings(warehouse=work / "perfreg.duckdb", trace_max_bytes=1 << 30)
        self._document = json.loads((self._folder / "run.json").read_bytes())
        for stated in ("trace_bytes", "trace_sha256"):
            del self._document[stated]
        trace = self._folder / self._document["trace"]
        self._target = self._folder / "run.json" if mutated == "run.json" else trace
        self._mutated = mutated
        packed = trace.read_bytes()
        self._contents = {
            "run.json": json.dumps(self._document).encode(),
            "gzip": packed,
            "trace": gzip.decompress(packed),
            "compressed packets": _whole_packets(gzip.decompress(packed)),
        }
        (self._folder / "run.json").write_bytes(self._contents["run.json"])

    def __call__(self, chance: random.Random) -> str:
        content = self._contents[self._mutated]
        if self._mutated == "run.json":
            made = broken_json(content, chance)
        elif self._mutated == "compressed packets":
            made = _compressed(content, chance)
        else:
            made = broken(content, chance)
        self._target.write_bytes(made)
        if self._mutated == "compressed packets":
            try:
                check_file(self._target, settings=self._settings)
            except Rejected as rejected:
                return rejected.reason.code
            return "taken"
        return _reason_of(examine(self._folder, self._settings, to_key).rejected)


def _whole_packets(content: bytes, most: int = 1 << 16) -> bytes:
    """The first packets of a trace."""
    at = 0
    while True:
        length, shift, end = 0, 0, at + 1
        while content[end] & 0x80:
            length |= (content[end] & 0x7F) << shift
            shift, end = shift + 7, end + 1
        end += 1 + (length | content[end] << shift)
        if end > most:
            return content[:at]
        at = end


def _compressed(content: bytes, chance: random.Random) -> bytes:
    """Packets in a packet, damaged before or after they were packed."""
    inner = broken(content, chance) if chance.random() < 0.5 else content
    payload = zlib.compress(inner, 1)
    payload = broken(payload, chance) if chance.random() < 0.4 else payload
    packet = b"\x92\x03" + _length(len(payload)) + payload
    return b"\x0a" + _length(len(packet)) + packet


def _length(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


class File:
    """A file of a folder of the test data, read by a function."""

    def __init__(self, work: Path, folder: str, read: Callable[[Path], object], how: Callable[..., bytes]) -> None:
        found = [path for path in sorted((DATA / folder).glob("*.*")) if path.stat().st_size < 500_000]
        self._sources = [
            (path.name, _content(path)) for path in found if path.suffix in (".gz", ".xml", ".json", ".parquet")
        ]
        self._place, self._read, self._how = work / "file", read, how
        self._place.mkdir(parents=True)

    def __call__(self, chance: random.Random) -> str:
        name, content = chance.choice(self._sources)
        path = self._place / name.removesuffix(".gz")
        path.write_bytes(self._how(content, chance))
        try:
            self._read(path)
        except Rejected as rejected:
            return _reason_of(rejected)
        finally:
            path.unlink()
        return "taken"


def _content(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def _benchmark(path: Path) -> None:
    for one in take_in([path], Origin()):
        if one.rejected:
            raise one.rejected


def _profile(path: Path) -> None:
    parse_profile(path.read_bytes(), path.name, nominal_voltage_v=3.85)


KINDS: dict[str, Callable[[Path], Callable[[random.Random], str]]] = {
    "run.json": lambda work: RunFolder(work, "run.json"),
    "trace": lambda work: RunFolder(work, "trace"),
    "gzip": lambda work: RunFolder(work, "gzip"),
    "compressed packets": lambda work: RunFolder(work, "compressed packets"),
    "power profile": lambda work: File(work, "power-profiles", _profile, broken),
    "benchmark results": lambda work: File(work, "benchmark-results", _benchmark, broken_json),
    "evaluation Parquet": lambda work: File(work, "evaluation", read_dataset, broken),
    "method log": lambda work: File(work, "method-logs", read_method_log, broken_json),
}


def run(work: Path, *, cases: int, seed: int, kinds: Iterable[str] = ()) -> list[Cases]:
    """So many cases of each kind; a case that ends in anything but a reason or being taken is a fault, with its seed.

    Args:
        kinds: default: all.
    """
    logging.disable(logging.CRITICAL)  # refusals are counted here
    try:
        return [_of_kind(kind, KINDS[kind](work / kind), cases, seed) for kind in kinds or KINDS]
    finally:
        logging.disable(logging.NOTSET)


def _of_kind(kind: str, case: Callable[[random.Random], str], cases: int, seed: int) -> Cases:
    result = Cases(kind)
    for number in range(cases):
        own = f"{kind}:{seed}:{number}"
        begin = time.monotonic()
        try:
            outcome = case(random.Random(own))
        except Exception as error:  # noqa: BLE001  (whatever it is: that is what is looked for)
            outcome = "fault"
            result.faults.append(f"{own}: {type(error).__name__}: {str(error)[:200]}")
        if time.monotonic() - begin > SLOW_S:
            result.faults.append(f"{own}: took {time.monotonic() - begin:.1f} s")
        result.outcomes[outcome] += 1
    return result
