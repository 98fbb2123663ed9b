"""When a signal ends a collection, and when it is only noted."""

import os
import signal

import pytest

from perfreg_assets.collection.ending import Ending


class Terminated(BaseException):
    """What a host of ours raises, as Dagster does in its runs."""


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM])
def hosted(request):
    """A signal that a host handles."""

    def terminate(*_):
        raise Terminated

    before = signal.signal(request.param, terminate)
    yield request.param
    assert signal.getsignal(request.param) is terminate
    signal.signal(request.param, before)


def send(number):
    os.kill(os.getpid(), number)
    for _ in range(1000):  # the handler runs between two steps
        pass


def test_a_hosts_signal_is_the_hosts_until_it_is_put_off_and_the_second_is_its_again(hosted):
    ending = Ending()
    with ending.heard():
        with pytest.raises(Terminated):
            send(hosted)
        assert not ending.is_asked
        ending.put_off()
        send(hosted)
        assert ending.is_asked
        ending.check()  # raises nothing
        with pytest.raises(Terminated):
            send(hosted)
        ending.put_off()
        send(hosted)


def test_without_a_host_it_is_a_keyboard_interrupt():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        ending = Ending()
        with ending.heard():
            with pytest.raises(KeyboardInterrupt):
                send(signal.SIGINT)
            with pytest.raises(KeyboardInterrupt):
                ending.check()
            ending.put_off()
            send(signal.SIGINT)
            with pytest.raises(KeyboardInterrupt):
                send(signal.SIGTERM)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert signal.getsignal(signal.SIGTERM) != ending._interrupt
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_signal_that_is_ignored_stays_so():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        ending = Ending()
        with ending.heard():
            ending.put_off()
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
