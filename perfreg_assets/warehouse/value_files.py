"""The files of large values: what they are called, what is in them, and how rows are written into them.

<data>/<kind>/app=<app>/month=<YYYY-MM>/file=<hash>/values.parquet
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from perfreg_assets.warehouse.data_folder import DataFolder

Rows = Callable[[str], list[tuple[Any, ...]]]
"""Runs a query on a warehouse."""

_CHUNK_BYTES = 64 << 20  # of samples, before compression: what is held in memory at once, and the size of a file
_UNKNOWN = "__HIVE_DEFAULT_PARTITION__"
_LONGEST_FOLDER = 150


@dataclass(frozen=True)
class Kind:
    """What one folder holds.

    Attributes:
        name: of the folder.
        table: the table whose rows name its files in `values_file`.
        keys: columns by which a row of a file belongs to a row of that table; the first is the run or the like, all of
            whose rows lie together.
        columns: of a file, the keys first.
        row_group: rows that a reader of one of them has to read.
    """

    name: str
    table: str
    keys: tuple[str, ...]
    columns: pa.Schema
    row_group: int

    @property
    def key(self) -> str:
        return self.keys[0]

    @property
    def order(self) -> tuple[str, ...]:
        """Columns that rows are in the order of."""
        return (*self.keys, "position") if "position" in self.columns.names else self.keys

    @property
    def empty_file(self) -> str:
        """A file without rows; without any file DuckDB cannot tell the columns.

        It comes last among the others: from the first, DuckDB concludes how many rows there are to be read.
        """
        return f"{self.name}/app=~/month=~/file=~/values.parquet"


_TEXT = pa.string()
_SAMPLES = pa.list_(pa.float64())
SERIES = Kind(
    "series", "core.time_series", ("run_id", "series"),
    pa.schema([("run_id", _TEXT), ("series", _TEXT), ("values", _SAMPLES)]), 48,
)  # fmt: skip
PROFILES = Kind(
    "profiles", "core.profiles", ("run_id", "series"),
    pa.schema([("run_id", _TEXT), ("series", _TEXT), ("profile", _SAMPLES)]), 48,
)  # fmt: skip
BARYCENTERS = Kind(
    "barycenters", "core.barycenters", ("barycenter_id",),
    pa.schema([("barycenter_id", _TEXT), ("values", _SAMPLES)]), 48,
)  # fmt: skip
PATHS = Kind(
    "paths", "core.runs", ("run_id",),
    pa.schema(
        [
            ("run_id", _TEXT), ("position", pa.int32()), ("step", pa.int32()), ("ts_ns", pa.int64()),
            ("state_hash", _TEXT), ("screen", _TEXT), ("action", _TEXT), ("screen_after", _TEXT),
            ("state_hash_after", _TEXT),
        ]
    ), 8192,
)  # fmt: skip
THREAD_TIMES = Kind(
    "thread_times", "core.thread_times", ("run_id",),
    pa.schema(
        [
            ("run_id", _TEXT), ("position", pa.int32()), ("process", _TEXT), ("thread", _TEXT), ("thread_state", _TEXT),
            ("is_app", pa.bool_()), ("times_ns", pa.list_(pa.int64())),
        ]
    ), 512,
)  # fmt: skip
_NUMBER = pa.int64()
SLICE_USES = Kind(
    "slice_uses", "core.slice_uses", ("run_id",),
    pa.schema(
        [
            ("run_id", _TEXT), ("position", pa.int32()), ("screen", _TEXT), ("process", _TEXT), ("thread", _TEXT),
            ("slice", _TEXT), ("call_count", _NUMBER), ("called_ns", _NUMBER), ("max_ns", _NUMBER),
            ("self_ns", _NUMBER), ("total_ns", _NUMBER), ("screen_ns", _NUMBER),
        ]
    ), 8192,
)  # fmt: skip
CAUSE_STACKS = Kind(
    "cause_stacks", "core.cause_runs", ("run_id",),
    pa.schema(
        [
            ("run_id", _TEXT), ("position", pa.int32()), ("series", _TEXT), ("window_index", pa.int32()),
            ("source", _TEXT), ("process", _TEXT), ("thread", _TEXT), ("stack", pa.list_(_TEXT)),
            ("value", pa.float64()), ("history_median", pa.float64()),
        ]
    ), 8192,
)  # fmt: skip
ENERGY_STEPS = Kind(
    "energy_steps", "core.energy_runs", ("run_id",),
    pa.schema(
        [
            ("run_id", _TEXT), ("position", pa.int32()), ("step_index", _NUMBER), ("screen", _TEXT),
            ("duration_s", pa.float64()), ("app_mah", pa.float64()), ("total_mah", pa.float64()),
        ]
    ), 8192,
)  # fmt: skip
METHOD_ENERGIES = Kind(
    "method_energies", "core.method_energies", ("run_id",),
    pa.schema(
        [
            ("run_id", _TEXT), ("position", pa.int32()), ("process", _TEXT), ("thread", _TEXT), ("method", _TEXT),
            ("call_count", _NUMBER), ("method_self_mah", pa.float64()), ("method_mah", pa.float64()),
        ]
    ), 8192,
)  # fmt: skip
KINDS = (SERIES, PROFILES, BARYCENTERS, PATHS, THREAD_TIMES, SLICE_USES, CAUSE_STACKS, ENERGY_STEPS, METHOD_ENERGIES)
EMPTY_FILES = frozenset(kind.empty_file for kind in KINDS)


@dataclass(frozen=True)
class Place:
    """Whose file something goes into: the app's, for the month in which the run started (YYYY-MM); None: not known."""

    app: str | None
    month: str | None


@dataclass(frozen=True)
class Written:
    """A file that is there now, durably.

    Attributes:
        file: its name, made of its content and its place.
        keys: the first keys (runs or the like) of its rows.
    """

    file: str
    kind: Kind
    place: Place
    keys: tuple[str, ...]
    row_count: int
    file_bytes: int


def write(folder: DataFolder, kind: Kind, rows: pa.Table, places: Mapping[str, Place]) -> Iterator[Written]:
    """Writes rows with the columns of the kind: those of one key into one file, each place into as few as is sensible.

    Args:
        places: by key; what is not in it has no known place.
    """
    if rows.num_rows == 0:
        return
    encoded = rows.column(kind.key).combine_chunks().dictionary_encode()
    names, codes = encoded.dictionary.to_pylist(), encoded.indices.to_numpy()
    nowhere = Place(None, None)
    groups: dict[Place, list[int]] = {}
    for code, name in enumerate(names):
        groups.setdefault(places.get(name, nowhere), []).append(code)
    for place, members in groups.items():
        ordered = sorted(members, key=lambda code: names[code])
        for chunk in _chunks(ordered, codes, rows.nbytes / rows.num_rows):
            chosen = _sorted_rows(rows, codes, chunk)
            content = _encoded(kind, chosen)
            file = _named_after(_place_of(kind.name, place), content)
            name = name_of(kind.name, place, file)
            if not folder.has(name):
                folder.write(name, content)
            keys = tuple(names[code] for code in chunk)
            yield Written(file, kind, place, keys, chosen.num_rows, len(content))


def name_of(kind: str, place: Place, file: str) -> str:
    """The path of a file below the data folder."""
    return f"{_place_of(kind, place)}/file={file}/values.parquet"


def _place_of(kind: str, place: Place) -> str:
    return f"{kind}/app={_folder(place.app)}/month={_folder(place.month)}"


def is_what_was_written(name: str, content: bytes) -> bool:
    """Whether the content of a file that rows name, by its path below the data folder, is what its name was made of."""
    place, _, file = name.removesuffix("/values.parquet").rpartition("/file=")
    return file in (_named_after(place, content), _named_after("", content))  # the latter by earlier releases


def _named_after(place: str, content: bytes) -> str:
    """By its place, too: rows find their file by its name among all of a kind. Of a run that is of another month or app
    by now it may lie where the run was before, where a writer that was killed left it."""
    return hashlib.sha256(place.encode() + content).hexdigest()[:32]


def missing_altogether(rows: Rows, data: DataFolder) -> int:
    """How many files some row names, where none of them is in this folder; 0 where one is."""
    latest = _named(rows, "ORDER BY written_at DESC LIMIT 1")
    if not latest or data.has(latest[0]):
        return 0
    named = _named(rows)
    return len(named) if {one.name for one in data.listing()}.isdisjoint(named) else 0


def _named(rows: Rows, which: str = "") -> list[str]:
    """Where the files lie that some row names."""
    found = rows(f"SELECT kind, app, month, values_file FROM core.value_files WHERE dropped_at IS NULL {which}")
    return [name_of(kind, Place(app, month), file) for kind, app, month, file in found]


def prepare(folder: DataFolder) -> None:
    """Makes the folder readable before anything is in it."""
    for kind in KINDS:
        if not folder.has(kind.empty_file):
            folder.write(kind.empty_file, _encoded(kind, kind.columns.empty_table()))


def _chunks(ordered: Sequence[int], codes: np.ndarray, row_bytes: float) -> list[list[int]]:
    """The codes cut so that the rows of each part are about a file."""
    counts = np.bincount(codes)
    parts: list[list[int]] = [[]]
    held = 0.0
    for code in ordered:
        size = counts[code] * row_bytes
        if parts[-1] and held + size > _CHUNK_BYTES:
            parts.append([])
            held = 0.0
        parts[-1].append(code)
        held += size
    return parts


def _sorted_rows(rows: pa.Table, codes: np.ndarray, chunk: Sequence[int]) -> pa.Table:
    """The rows of some codes, in the order of the codes given; rows of one code stay in theirs."""
    rank = np.full(int(codes.max()) + 1, -1)
    rank[list(chunk)] = np.arange(len(chunk))
    ranks = rank[codes]
    chosen = np.flatnonzero(ranks >= 0)
    return rows.take(pa.array(chosen[np.argsort(ranks[chosen], kind="stable")]))


def _encoded(kind: Kind, rows: pa.Table) -> bytes:
    import pyarrow.parquet as pq  # noqa: PLC0415  (35 ms that a command which stores nothing does not need)

    texts = [field.name for field in kind.columns if field.type == _TEXT]
    out = io.BytesIO()
    pq.write_table(
        rows.select(kind.columns.names).cast(kind.columns),
        out,
        row_group_size=kind.row_group,
        compression="zstd",
        use_dictionary=texts,
        write_statistics=list(kind.keys),
        store_schema=False,
    )
    return out.getvalue()


def _folder(name: str | None) -> str:
    """Names come from outside: everything unusual is percent-encoded, what is too long ends in its hash."""
    if name is None:
        return _UNKNOWN
    text = quote(name, safe="", errors="surrogatepass").replace("~", "%7E")
    if len(text) <= _LONGEST_FOLDER:
        return text
    return f"{text[: _LONGEST_FOLDER - 17].rstrip('%')}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
