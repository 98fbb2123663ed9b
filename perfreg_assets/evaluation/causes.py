"""How often the ranking of call logs names the cause: simulated services in which one method became slower.

591 methods in 6 services with 8 different trees each; 8 earlier logs and one in which a method takes longer by a
factor, in all services or in one. A log has noise of the machine (all methods alike), of the mix of trees, of each
method, and of each call. Every case is made anew from its own seed. Beside the ranking stands the seed article's score,
without history and as difference to it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfreg_assets.evaluation.cases import Progress
from perfreg_assets.methods.causes import rank_methods
from perfreg_assets.methods.method_uses import Profile
from perfreg_assets.methods.seed_score import seed_scores

METHODS, SERVICES, VARIANTS, HISTORY = 591, 6, 8, 8
CALLS_PER_SERVICE = 6000
MACHINE_NOISE, MIX_CONCENTRATION, METHOD_NOISE, CALL_NOISE = 0.1, 100.0, 0.1, 0.5
CASES = 40


@dataclass(frozen=True)
class Kind:
    """A kind of cause.

    Attributes:
        factor: by which its method is slower.
        is_in_one_service: in one service that has it instead of in all.
        smallest_share: the method takes at least so much of the time of a service.
    """

    factor: float
    is_in_one_service: bool = False
    smallest_share: float = 0.01

    @property
    def name(self) -> str:
        small = f", ≥ {100 * self.smallest_share:g} %" if self.smallest_share < 0.01 else ""
        return f"×{self.factor:g}" + (", one service" if self.is_in_one_service else "") + small


KINDS = (Kind(1.5), Kind(2.0), Kind(3.0), Kind(2.0, is_in_one_service=True), Kind(5.0, smallest_share=0.001))


@dataclass(frozen=True)
class Case:
    """What a ranking is given, and the method that it has to name.

    Attributes:
        now: (services, methods) self time per call of the service, ms, with the cause in it.
        history: (k, services, methods) the same of earlier logs.
        is_called: (services, methods).
    """

    cause: int
    now: NDArray[np.float64]
    history: NDArray[np.float64]
    is_called: NDArray[np.bool_]


def make_case(kind: Kind, seed: int) -> Case:
    """A system, its earlier logs and a log with one cause."""
    draw = np.random.default_rng(seed)
    usual = np.exp(draw.normal(-0.5, 1.6, METHODS))
    usual[draw.choice(METHODS, 12, replace=False)] *= np.exp(draw.uniform(3, 6, 12))
    calls = np.zeros((SERVICES, VARIANTS, METHODS))
    for service in range(SERVICES):
        for variant in range(VARIANTS):
            size = max(3, int(draw.gamma(2.0, 22.0)))
            np.add.at(calls[service, variant], [service, *draw.integers(0, METHODS, size - 1)], 1.0)
    weights = 0.4 * 0.6 ** np.arange(VARIANTS)
    mix = np.asarray(weights / weights.sum(), np.float64)
    slower = np.ones((SERVICES, METHODS))
    expected = np.einsum("v,svm,m->sm", mix, calls, usual)
    shares = expected / expected.sum(axis=1, keepdims=True)
    cause = int(draw.choice(np.flatnonzero((shares >= kind.smallest_share).any(axis=0))))
    where = np.flatnonzero(shares[:, cause] >= kind.smallest_share)
    slower[draw.choice(where) if kind.is_in_one_service else slice(None), cause] = kind.factor
    history = np.array([_log(draw, calls, usual, mix) for _ in range(HISTORY)])
    return Case(cause, _log(draw, calls, usual, mix) * slower, history, np.asarray(calls.any(axis=1), np.bool_))


def _log(
    draw: np.random.Generator, calls: NDArray[np.float64], usual: NDArray[np.float64], mix: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(services, methods): self time per call of the service, ms."""
    machine = np.exp(draw.normal(0, MACHINE_NOISE))
    method = np.exp(draw.normal(0, METHOD_NOISE, METHODS))
    mixes = draw.dirichlet(MIX_CONCENTRATION * mix, SERVICES)
    per_call = np.einsum("sv,svm->sm", mixes, calls)
    counted = np.maximum(per_call * CALLS_PER_SERVICE, 1.0)
    of_calls = 1 + CALL_NOISE * draw.normal(0, 1, counted.shape) / np.sqrt(counted)
    return np.asarray(per_call * usual * method * machine * of_calls, np.float64)


def by_ranking(case: Case) -> list[int]:
    """Methods by the ranking that ships; a method's first row counts."""
    profiles = [_profile(one, case.is_called) for one in (case.now, *case.history)]
    return list(dict.fromkeys(int(cause.method) for cause in rank_methods(profiles[0], profiles[1:])))


def by_seed_score(case: Case) -> list[int]:
    """Methods by the seed article's score, which looks at this log alone."""
    return _descending(np.where(case.is_called.any(axis=0), _scores(case.now, case.is_called), -np.inf))


def by_score_difference(case: Case) -> list[int]:
    """Methods by how much their score is above its median in the history."""
    earlier = np.array([_scores(one, case.is_called) for one in case.history])
    is_called = case.is_called.any(axis=0)
    return _descending(np.where(is_called, _scores(case.now, case.is_called) - np.median(earlier, axis=0), -np.inf))


def by_growth(case: Case) -> list[int]:
    """Methods by milliseconds per call above the history's median, where it is most."""
    return _descending((case.now - np.median(case.history, axis=0)).max(axis=0))


WAYS: dict[str, Callable[[Case], list[int]]] = {
    "seed's score": by_seed_score,
    "its difference to history": by_score_difference,
    "growth in ms": by_growth,
    "ranking (robust z)": by_ranking,
}


def _profile(log: NDArray[np.float64], is_called: NDArray[np.bool_]) -> Profile:
    self_ms = {
        str(service): {str(method): float(row[method]) for method in np.flatnonzero(called)}
        for service, (row, called) in enumerate(zip(log, is_called, strict=True))
    }
    return Profile({str(service): 1 for service in range(len(log))}, self_ms)


def _scores(log: NDArray[np.float64], is_called: NDArray[np.bool_]) -> NDArray[np.float64]:
    scores = seed_scores((log / log.sum(axis=1, keepdims=True)).T, is_called.T)
    return np.array([0.0 if one is None else one.score for one in scores])  # 0: no service calls it


def _descending(values: NDArray[np.float64]) -> list[int]:
    return [int(method) for method in np.argsort(-values, kind="stable")]


@dataclass(frozen=True)
class Hits:
    """Share of the cases in which a way names the cause at rank 1, and among the first 5."""

    way: str
    kind: Kind
    cases: int
    top_1: float
    top_5: float


def evaluate_causes(
    *, seed: int, cases: int = CASES, kinds: Sequence[Kind] = KINDS, progress: Progress | None = None
) -> list[Hits]:
    """Every way on the same cases of every kind.

    Args:
        seed: of the first case; each further one takes the next.
        progress: called with (kinds done, kinds in all, what).
    """
    found = []
    for number, kind in enumerate(kinds):
        if progress is not None:
            progress(number, len(kinds), "kinds of simulated call logs")
        made = [make_case(kind, seed + 1000 * number + case) for case in range(cases)]
        for way, order in WAYS.items():
            ranks = [_rank(order(case), case.cause) for case in made]
            hits = [sum(rank <= limit for rank in ranks) / cases for limit in (1, 5)]
            found.append(Hits(way, kind, cases, *hits))
    return found


def _rank(order: list[int], cause: int) -> int:
    return order.index(cause) + 1 if cause in order else len(order) + 1


def as_table(hits: Sequence[Hits]) -> str:
    """A line per way, a column per kind: top 1 / top 5."""
    kinds = list(dict.fromkeys(one.kind for one in hits))
    value = {(one.way, one.kind): f"{one.top_1:.2f} / {one.top_5:.2f}" for one in hits}
    lines = [["top 1 / top 5", *(kind.name for kind in kinds)]]
    lines += [[way, *(value[way, kind] for kind in kinds)] for way in dict.fromkeys(one.way for one in hits)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def main() -> None:
    """`python -m perfreg_assets.evaluation.causes [SEED] [CASES]`: prints the table."""
    seed, cases = (
        int(given) if given else usual for given, usual in zip((*sys.argv[1:3], "", ""), (0, CASES), strict=False)
    )
    sys.stdout.write(f"{as_table(evaluate_causes(seed=seed, cases=cases))}\n{cases} causes each, seed {seed}\n")


if __name__ == "__main__":
    main()
