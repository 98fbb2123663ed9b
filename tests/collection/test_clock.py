"""Host and device times in the trace's clock."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.collection.clock import ClockSample, TraceClock
from perfreg_assets.reasons import Reason, Rejected


def sample(host=100.0, device=5000.0, host_wall=1.8e9, device_wall=1.7e9, error=0.01):
    return ClockSample(host, host_wall, device, device_wall, error)


def test_a_host_moment_becomes_trace_time_and_drift_is_spread_over_the_session():
    clock = TraceClock(sample(), sample(host=200.0, device=5100.2, host_wall=1.8e9 + 100, device_wall=1.7e9 + 100.2))
    assert clock.from_host_boot(100.0) == pytest.approx(5000.0e9)
    assert clock.from_host_boot(150.0) == pytest.approx(5050.1e9)
    assert clock.from_host_boot(200.0) == pytest.approx(5100.2e9)
    assert clock.error_s == pytest.approx(0.21)


def test_wall_clocks_that_were_not_set_are_usable():
    clock = TraceClock(sample(), sample(host=200.0, device=5100.0, host_wall=1.8e9 + 100, device_wall=1.7e9 + 100))
    assert clock.from_host_wall(1.8e9 + 30) == pytest.approx(5030e9)
    assert clock.from_device_wall(1.7e9 + 30) == pytest.approx(5030e9)


@pytest.mark.parametrize(("host_jump", "device_jump"), [(3600.0, 0.0), (-5.0, 0.0), (0.0, 3600.0), (0.0, -1.0)])
def test_a_wall_clock_that_was_set_is_refused_and_time_since_boot_is_not(host_jump, device_jump):
    end = sample(host=200.0, device=5100.0, host_wall=1.8e9 + 100 + host_jump, device_wall=1.7e9 + 100 + device_jump)
    clock = TraceClock(sample(), end)
    use, other = (
        (clock.from_host_wall, clock.from_device_wall) if host_jump else (clock.from_device_wall, clock.from_host_wall)
    )
    with pytest.raises(Rejected) as refusal:
        use(1.75e9)
    assert refusal.value.reason is Reason.CLOCK_JUMPED
    other(1.75e9)
    assert clock.from_host_boot(150.0) == pytest.approx(5050e9)


def test_time_that_began_again_is_a_restart():
    with pytest.raises(Rejected) as refusal:
        TraceClock(sample(), sample(host=200.0, device=30.0))
    assert refusal.value.reason is Reason.DEVICE_REBOOTED


@given(
    host=st.floats(0, 1e7),
    device=st.floats(0, 1e7),
    length=st.floats(0.1, 1e5),
    drift=st.floats(-0.05, 0.05),
    share=st.floats(0, 1),
)
def test_the_stated_error_bounds_the_true_one(host, device, length, drift, share):
    """A device clock that runs evenly faster or slower, compared with an error of up to 10 ms each time."""
    start = sample(host=host, device=device + 0.01)
    end = sample(host=host + length, device=device + length + drift - 0.01)
    if end.device_boot_s < start.device_boot_s:
        return
    clock = TraceClock(start, end)
    true_ns = (device + share * (length + drift)) * 1e9
    assert abs(clock.from_host_boot(host + share * length) - true_ns) <= clock.error_s * 1e9 + 10
