"""One launch of a benchmark in Python: `python -m perfreg_assets.benchmarks.python_worker FILE:CLASS key=value…`.

A thread is a process of its own: the interpreter's lock would make threads wait for each other. What was measured is
written as JSON lines when it is over, so that writing disturbs no measurement.
"""

from __future__ import annotations

import importlib.util
import json
import multiprocessing
import sys
from collections.abc import Mapping
from multiprocessing.sharedctypes import Synchronized
from typing import Any

from perfreg_assets.benchmarks.abstract_test import AbstractTest, ValidationError, make
from perfreg_assets.benchmarks.phases import Iteration, run_phases


def main(arguments: list[str]) -> int:
    """Exit status 0 when all threads measured."""
    target, config = arguments[0], dict(one.split("=", 1) for one in arguments[1:])
    count = int(config["threads"])
    # Not locked: whoever adds one has a slot of its own.
    context = multiprocessing.get_context("spawn")
    finished = [context.Value("b", 0, lock=False) for _ in range(count)]
    writing = context.Lock()  # for when it is over
    if count == 1:
        return _thread(0, target, config, finished, writing)
    processes = [
        context.Process(target=_exit, args=(number, target, config, finished, writing)) for number in range(count)
    ]
    for one in processes:
        one.start()
    for one in processes:
        one.join()
    return max(abs(one.exitcode or 0) for one in processes)


def _exit(number: int, target: str, config: Mapping[str, str], finished: list[Any], writing: Any) -> None:
    sys.exit(_thread(number, target, config, finished, writing))


def _thread(
    number: int, target: str, config: Mapping[str, str], finished: list[Synchronized[int]], writing: Any
) -> int:
    """One thread's part; an error ends it, the others finish theirs."""

    def has_measured() -> None:
        finished[number].value = 1

    def all_have_measured() -> bool:
        return all(one.value for one in finished)

    try:
        params = {name: value for name, value in config.items() if name.startswith("param")}
        test = make(_load(target), config, params)
        try:
            test.init(config)
            warm, measured = run_phases(
                test.iteration,
                warmup_s=float(config["warmup_s"]),
                measure_s=float(config["measure_s"]),
                iterations_min=int(config["iterations_min"]),
                has_measured=has_measured,
                all_have_measured=all_have_measured,
            )
        finally:
            test.done()
    except ValidationError as error:
        has_measured()
        told = {"kind": "validation", "test": error.test, "expected": repr(error.expected), "got": repr(error.got)}
        _write([{"phase": "error", "thread": number, "message": str(error), **told}], writing)
        return 1
    except Exception as error:  # noqa: BLE001  (whatever the benchmark raises is its error, and said)
        has_measured()
        _write([{"phase": "error", "thread": number, "message": f"{type(error).__name__}: {error}"}], writing)
        return 1
    lines = _lines("warmup", number, warm) + _lines("measure", number, measured)
    _write([*lines, {"phase": "conclude", "thread": number}], writing)
    return 0


def _load(target: str) -> type[AbstractTest]:
    path, _, name = target.rpartition(":")
    spec = importlib.util.spec_from_file_location("benchmark_under_test", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, name, None)
    if not (isinstance(found, type) and issubclass(found, AbstractTest)):
        raise ValueError(f"{path} has no class {name} that is an AbstractTest")
    return found


def _lines(phase: str, number: int, iterations: list[Iteration]) -> list[dict[str, Any]]:
    return [
        {"phase": phase, "thread": number, "iteration": place, "count": one.count, "elapsed_ns": one.elapsed_ns,
         "at_ns": one.begin_ns}
        for place, one in enumerate(iterations)
    ]  # fmt: skip


def _write(lines: list[dict[str, Any]], writing: Any) -> None:
    """One thread after the other: they share a pipe."""
    text = "".join(json.dumps(one) + "\n" for one in lines)
    with writing:
        sys.stdout.write(text)
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
