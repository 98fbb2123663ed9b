"""Call trees out of labelled calls: the parent of 1.1.2.1 is 1.1.2 of the same transaction [Zhou & Li 2015, 3.1].

Self time is total minus the totals of direct children. Trees of a service are merged by path of method names; equal
trees (same labels, same methods) are counted. The order of the calls does not matter.

* Children that together took longer than their parent ran at the same time: the parent's self time is 0, never
  negative, and the node says so; where the difference is less than a clock's noise it is only counted.
* A call whose parent is not there is an orphan: a root of its own.
* A label twice in a transaction means that its id was used twice: the calls are split at the largest gap in time, else
  all of them are refused, because self times would be wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.methods.lazy import LazyModule

kernels = LazyModule("perfreg_assets.methods.call_tree_kernels")
name_kernels = LazyModule("perfreg_assets.methods.line_scanner_kernels")

INCOMPLETE_RATIO = 0.05
"""With a larger share of orphans a log is `call_log_incomplete`."""


@dataclass(frozen=True)
class Calls:
    """A column per property, a row per call; names by number.

    Attributes:
        elapsed_ms: with everything called from it.
        time_ms: since 1970, `line_fields.NO_TIME` where there is none.
    """

    transaction: NDArray[np.int32]
    service: NDArray[np.int32]
    label: NDArray[np.int32]
    method: NDArray[np.int32]
    elapsed_ms: NDArray[np.float64]
    time_ms: NDArray[np.int64]
    transactions: tuple[str, ...]
    services: tuple[str, ...]
    labels: tuple[str, ...]
    methods: tuple[str, ...]

    @property
    def byte_count(self) -> int:
        """Memory of the columns."""
        columns = (self.transaction, self.service, self.label, self.method, self.elapsed_ms, self.time_ms)
        return sum(column.nbytes for column in columns)


@dataclass(frozen=True)
class Nodes:
    """Merged trees of all services, each in pre-order, one after the other: a node's parent stands before it.

    Attributes:
        parent: number of the node's parent; -1 of a root.
        is_outermost: the method does not stand above it on its path (recursion).
        call_count, total_ms, self_ms: sums over the calls of the node.
        max_total_ms, max_self_ms: of one call.
        parallel_count: calls whose children overlap, see the module.
    """

    parent: NDArray[np.int32]
    service: NDArray[np.int32]
    method: NDArray[np.int32]
    depth: NDArray[np.int32]
    is_outermost: NDArray[np.bool_]
    call_count: NDArray[np.int64]
    parallel_count: NDArray[np.int64]
    total_ms: NDArray[np.float64]
    self_ms: NDArray[np.float64]
    max_total_ms: NDArray[np.float64]
    max_self_ms: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.parent)


@dataclass(frozen=True)
class Trees:
    """A row per tree: a call of a service, or an orphan with what is below it.

    Attributes:
        identity: hash of the tree's labels and methods in pre-order; equal trees have the same one.
    """

    transaction: NDArray[np.int32]
    service: NDArray[np.int32]
    elapsed_ms: NDArray[np.float64]
    time_ms: NDArray[np.int64]
    identity: NDArray[np.uint64]
    is_orphan: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.service)


@dataclass(frozen=True)
class TreeCounts:
    """What was found on the way.

    Attributes:
        call_count: of the log, refused ones included.
        split_transaction_count: transaction ids used more than once and told apart by time.
        refused_transaction_count, refused_call_count: those that could not be told apart, and their calls.
        clipped_count: calls whose self time was below 0 by noise.
    """

    call_count: int
    orphan_count: int
    split_transaction_count: int
    refused_transaction_count: int
    refused_call_count: int
    parallel_count: int
    clipped_count: int


@dataclass(frozen=True)
class CallTrees:
    """Everything about a log that no longer needs its calls."""

    nodes: Nodes
    trees: Trees
    counts: TreeCounts
    transactions: tuple[str, ...]
    services: tuple[str, ...]
    methods: tuple[str, ...]

    @cached_property
    def service_call_count(self) -> NDArray[np.int64]:
        """(services,): calls of each service; of a service that was only seen in orphans those."""
        whole = np.bincount(self.trees.service[~self.trees.is_orphan], minlength=len(self.services))
        orphans = np.bincount(self.trees.service[self.trees.is_orphan], minlength=len(self.services))
        return np.where(whole > 0, whole, orphans)

    @cached_property
    def service_total_ms(self) -> NDArray[np.float64]:
        """(services,): time of all trees of each service, ms: what shares are taken of."""
        sums = np.bincount(self.trees.service, weights=self.trees.elapsed_ms, minlength=len(self.services))
        return sums.astype(np.float64)  # of no tree at all they are whole numbers

    def paths(self) -> list[tuple[str, ...]]:
        """(service, method, method, …) of each node, from its root to itself."""
        found: list[tuple[str, ...]] = []
        for parent, service, method in zip(
            self.nodes.parent.tolist(), self.nodes.service.tolist(), self.nodes.method.tolist(), strict=True
        ):
            above = found[parent] if parent >= 0 else (self.services[service],)
            found.append((*above, self.methods[method]))
        return found

    def multiplicities(self) -> dict[int, int]:
        """Identity of a tree -> how many are equal to it."""
        identities, counts = np.unique(self.trees.identity, return_counts=True)
        return dict(zip(identities.tolist(), counts.tolist(), strict=True))


def build_trees(calls: Calls) -> CallTrees:
    """Trees of all calls of a log."""
    parent_of, rank = _label_order(calls.labels)
    order, starts = kernels.grouped(calls.transaction, len(calls.transactions))
    numbers, sums, node_count, rows, identities, orphans, tree_count, counts = kernels.merge(
        order, starts, calls.label, calls.method, calls.service, calls.elapsed_ms, calls.time_ms,
        parent_of, rank, _hashes(calls.labels), _hashes(calls.methods), len(calls.services), len(calls.methods),
    )  # fmt: skip
    rows = rows[:tree_count]
    trees = Trees(
        calls.transaction[rows],
        calls.service[rows],
        calls.elapsed_ms[rows],
        calls.time_ms[rows],
        identities[:tree_count],
        orphans[:tree_count],
    )
    found = TreeCounts(len(calls.elapsed_ms), *(int(one) for one in counts))
    nodes = _in_pre_order(numbers[:, :node_count], sums[:, :node_count])
    return CallTrees(nodes, trees, found, calls.transactions, calls.services, calls.methods)


def incomplete_ratio(counts: TreeCounts, refused_line_count: int = 0) -> float:
    """Share of a log's calls that have no parent or were refused, 0 to 1."""
    return (counts.orphan_count + counts.refused_call_count + refused_line_count) / max(
        counts.call_count + refused_line_count, 1
    )


def _label_order(labels: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """(number of each label's parent label, place of each label in pre-order)."""
    number_of = {label: number for number, label in enumerate(labels)}
    parent_of = np.empty(len(labels), np.int32)
    for number, label in enumerate(labels):
        above, dot, _ = label.rpartition(".")
        parent_of[number] = number_of.get(above, kernels.PARENT_NEVER_SEEN) if dot else kernels.NO_PARENT_LABEL
    # 1.02 and 1.2 are different labels at the same place: the text decides between them.
    order = sorted(range(len(labels)), key=lambda number: (*map(int, labels[number].split(".")), -1, labels[number]))
    rank = np.empty(len(labels), np.int32)
    rank[order] = np.arange(len(labels), dtype=np.int32)
    return parent_of, rank


def _hashes(names: Sequence[str]) -> NDArray[np.uint64]:
    found = np.empty(len(names), np.uint64)
    for number, name in enumerate(names):
        text = np.frombuffer(name.encode("utf-8", "surrogatepass"), np.uint8)
        found[number] = name_kernels.name_hash(text, 0, len(text))
    return found


def _in_pre_order(numbers: NDArray[np.int64], sums: NDArray[np.float64]) -> Nodes:
    """Nodes by service, then depth first, children by the number of their method: whatever order they came in."""
    parent, service, method = numbers[0], numbers[1], numbers[2]
    children: dict[int, list[int]] = {}
    for node in np.lexsort((method, service))[::-1].tolist():
        children.setdefault(int(parent[node]), []).append(node)
    order: list[int] = []
    waiting = children.get(-1, [])
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting.extend(children.get(node, ()))
    new_number = np.full(len(order) + 1, -1, np.int32)  # the last stands for -1, no parent
    new_number[order] = np.arange(len(order), dtype=np.int32)
    ints = numbers[:, order]
    return Nodes(
        new_number[ints[0]],
        ints[1].astype(np.int32),
        ints[2].astype(np.int32),
        ints[3].astype(np.int32),
        ints[4].astype(bool),
        ints[5],
        ints[6],
        *sums[:, order],
    )
