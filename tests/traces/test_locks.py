"""Names of waits for locks, as ART writes them and as they are kept."""

from __future__ import annotations

import pytest

from perfreg_assets.traces.locks import Contention, contention

MONITOR = (
    "monitor contention with owner binder:1286_10 (4113) at int com.android.server.wm.ActivityStarter.execute()"
    "(ActivityStarter.java:765) waiters=0 blocking from void "
    "com.android.server.wm.RootWindowContainer$RankTaskLayersRunnable.run()(RootWindowContainer.java:3849)"
)


def test_who_held_the_lock_where_and_where_it_was_wanted():
    found = contention(MONITOR)
    assert found == Contention(
        None, "binder:1286_10", "ActivityStarter.execute", "RootWindowContainer$RankTaskLayersRunnable.run"
    )
    assert found.words == (
        "held by binder:1286_10 in ActivityStarter.execute, wanted in RootWindowContainer$RankTaskLayersRunnable.run"
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "monitor contention with owner Thread-# (#) at void a.B.c(java.lang.String, int)(B.java:-#) waiters=# "
            "blocking from a.D a.D.e()(D.java:#)",
            Contention(None, "Thread-#", "B.c", "D.e"),
        ),
        (
            "monitor contention with owner a (b) (7) at <unknown> waiters=2 blocking from <unknown>",
            Contention(None, "a (b)", "<unknown>", "<unknown>"),
        ),
        ("Lock contention on thread list lock (owner tid: 27145)", Contention("thread list lock")),
        ("Lock contention on a monitor lock (owner tid: #)", Contention("a monitor lock")),
        ("Lock contention on x", Contention("x")),
        ("monitor contention with owner cut sho", Contention("owner cut sho")),
        ("monitor contentions", None),
        ("draw", None),
        ("", None),
    ],
)
def test_names_with_and_without_numbers_and_those_that_are_no_wait(name, expected):
    assert contention(name) == expected


def test_words_of_a_lock_that_nobody_is_named_of():
    assert Contention("thread list lock").words == "thread list lock"
