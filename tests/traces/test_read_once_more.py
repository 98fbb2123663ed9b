"""An engine that something else ended says nothing of its trace, which is read once more, whoever reads it."""

from __future__ import annotations

import os
import signal
from contextlib import nullcontext

import pytest

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.engine import TraceSession
from perfreg_assets.traces.inspection import inspect_trace
from perfreg_assets.traces.overview import look_over
from perfreg_assets.traces.rpc_client import RpcClient
from perfreg_assets.traces.window_details import window_details

APP = "androidx.benchmark.integration.macrobenchmark.target"
EVER = (0, 2**62)


@pytest.fixture
def path(data_folder):
    return data_folder / "android-traces" / "pixel6a_api32_startup_warm.perfetto-trace.gz"


@pytest.fixture
def killing(monkeypatch):
    """Has the first engines killed: how many of them, and before they told their version or in a query."""

    def kill(count: int, moment: str = "query") -> list[int]:
        killed: list[int] = []
        original, pid = TraceSession.__init__, [0]

        def init(self, process, *arguments):
            pid[0] = process.pid
            original(self, process, *arguments)

        def before(call):
            def ask(self, *arguments):
                if len(killed) < count and pid[0] not in killed:
                    killed.append(pid[0])
                    os.kill(pid[0], signal.SIGKILL)
                return call(self, *arguments)

            return ask

        monkeypatch.setattr(TraceSession, "__init__", init)
        monkeypatch.setattr(RpcClient, moment, before(getattr(RpcClient, moment)))
        return killed

    return kill


def inspected(path, settings):
    return inspect_trace(path, app=APP, exploration=None, time_limit_s=0.1, settings=settings).health


@pytest.mark.parametrize("moment", ["version", "query"])
def test_a_trace_is_read_once_more(path, settings, killing, moment):
    killed = killing(1, moment)
    health = inspected(path, settings)
    assert (len(killed), health.is_complete, health.reason) == (1, True, None)


@pytest.mark.parametrize("moment", ["version", "query"])
def test_a_trace_whose_engine_is_ended_twice_has_that_as_its_reason(path, settings, killing, moment):
    """In a batch it takes nothing from the other traces."""
    killed = killing(2, moment)
    health = inspected(path, settings)
    assert (len(killed), health.is_complete, health.reason) == (2, False, Reason.ENGINE_KILLED)


@pytest.mark.parametrize(
    "look",
    [
        lambda path, settings, _: look_over(path, settings, APP, with_series=True),
        lambda path, settings, name: window_details(nullcontext(path), name, APP, [EVER], settings),
    ],
    ids=["overview", "details"],
)
def test_what_is_looked_at_apart_from_a_run_is_read_once_more_too(path, settings, killing, look, tmp_path):
    killed = killing(1)
    look(path, settings, f"{tmp_path} once")
    assert len(killed) == 1
    killed = killing(2)
    with pytest.raises(Rejected) as caught:
        look(path, settings, f"{tmp_path} twice")
    assert (len(killed), caught.value.reason) == (2, Reason.ENGINE_KILLED)
