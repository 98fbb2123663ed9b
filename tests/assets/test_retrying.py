"""Steps are tried again after errors that pass, and after no others."""

import dagster as dg
import pytest

from perfreg_assets.assets import retrying
from perfreg_assets.assets.retrying import retried
from perfreg_assets.reasons import Reason, Rejected


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(retrying, "FIRST_PAUSE_S", 0.0)


def run(reason, fails):
    calls = []

    @dg.asset
    @retried
    def step(context: dg.AssetExecutionContext) -> None:
        calls.append(context.retry_number)
        if len(calls) <= fails:
            raise Rejected(reason, "here")

    @dg.multi_asset(specs=[dg.AssetSpec("after", deps=[step])])
    @retried
    def generator(context: dg.AssetExecutionContext):
        yield dg.MaterializeResult(asset_key="after")

    result = dg.materialize([step, generator], raise_on_error=False)
    return result.success, calls


def test_a_locked_warehouse_is_tried_again_a_bounded_number_of_times():
    assert run(Reason.WAREHOUSE_LOCKED, 2) == (True, [0, 1, 2])
    succeeded, calls = run(Reason.WAREHOUSE_LOCKED, 99)
    assert (succeeded, len(calls)) == (False, 1 + retrying.ATTEMPTS)


def test_bad_input_is_not_tried_again():
    assert run(Reason.RUN_JSON_MISSING, 1) == (False, [0])


def test_the_pause_doubles(monkeypatch):
    monkeypatch.setattr(retrying, "FIRST_PAUSE_S", 2.0)
    pauses = []
    for attempt in range(3):
        with pytest.raises(dg.RetryRequested) as caught, retrying.tried_again(attempt):
            raise Rejected(Reason.WAREHOUSE_LOCKED, "here")
        pauses.append(caught.value.seconds_to_wait)
    assert pauses == [2.0, 4.0, 8.0]
