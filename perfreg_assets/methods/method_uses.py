"""The inverted index: which services use a method, and how much of their time is its own or is spent below it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from perfreg_assets.methods.call_trees import CallTrees
from perfreg_assets.methods.seed_score import DEFAULT_FACTOR, SeedScore, seed_score


@dataclass(frozen=True)
class MethodUse:
    """A method in a service.

    Attributes:
        call_count: of the method, in all its places.
        self_ms: sum of its self times; in a recursion every call counts once.
        children_ms: time of what it calls; a call within a call of the same method is not counted twice.
        mean_ms, max_ms: of a call of the method, with everything below it.
        self_share, children_share: of the service's time, 0 to 1 (above it where children ran in parallel).
    """

    service: str
    method: str
    call_count: int
    self_ms: float
    children_ms: float
    mean_ms: float
    max_ms: float
    self_share: float
    children_share: float


def method_uses(trees: CallTrees) -> list[MethodUse]:
    """Every method in every service that calls it, by service and method."""
    nodes = trees.nodes
    method_count = len(trees.methods)
    pair = nodes.service.astype(np.int64) * method_count + nodes.method
    pairs, at = np.unique(pair, return_inverse=True)

    def summed(values: np.ndarray) -> np.ndarray:
        return np.bincount(at, weights=values, minlength=len(pairs))

    calls, own, total = summed(nodes.call_count), summed(nodes.self_ms), summed(nodes.total_ms)
    inclusive = summed(np.where(nodes.is_outermost, nodes.total_ms, 0.0))
    below = np.maximum(inclusive - own, 0.0)
    largest = np.zeros(len(pairs))
    np.maximum.at(largest, at, nodes.max_total_ms)
    service = pairs // method_count
    whole = np.maximum(trees.service_total_ms[service], np.finfo(float).tiny)
    return [
        MethodUse(trees.services[s], trees.methods[m], int(count), *(float(one) for one in numbers))
        for s, m, count, *numbers in zip(
            service.tolist(), (pairs % method_count).tolist(), calls, own, below, total / calls, largest,
            own / whole, below / whole, strict=True,
        )
    ]  # fmt: skip


@dataclass(frozen=True)
class MethodScore:
    """A method over all services; `score` holds the seed's score of its self-time shares."""

    method: str
    score: SeedScore
    call_count: int
    mean_ms: float
    max_ms: float


def method_scores(uses: list[MethodUse], factor: float = DEFAULT_FACTOR) -> list[MethodScore]:
    """The seed's score of every method, the highest first; equal ones by name."""
    of_method: dict[str, list[MethodUse]] = {}
    for use in uses:
        of_method.setdefault(use.method, []).append(use)
    found = [
        MethodScore(
            method,
            seed_score([use.self_share for use in own], factor),
            calls := sum(use.call_count for use in own),
            sum(use.mean_ms * use.call_count for use in own) / calls,
            max(use.max_ms for use in own),
        )
        for method, own in of_method.items()
    ]
    return sorted(found, key=lambda one: (-one.score.score, one.method))


@dataclass(frozen=True)
class Profile:
    """What of a log others are compared with.

    Attributes:
        service_calls: calls of each service.
        self_ms: service -> method -> sum of self times.
        path_self_ms: (service, method, …) -> sum of self times of the node at the end of the path.
    """

    service_calls: Mapping[str, int]
    self_ms: Mapping[str, Mapping[str, float]]
    path_self_ms: Mapping[tuple[str, ...], float] = field(default_factory=dict)


def profile_of(trees: CallTrees) -> Profile:
    """The profile of a log."""
    self_ms: dict[str, dict[str, float]] = {service: {} for service in trees.services}
    for use in method_uses(trees):
        self_ms[use.service][use.method] = use.self_ms
    calls = {
        service: int(count) for service, count in zip(trees.services, trees.service_call_count, strict=True) if count
    }
    return Profile(calls, self_ms, dict(zip(trees.paths(), trees.nodes.self_ms.tolist(), strict=True)))
