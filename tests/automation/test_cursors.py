"""A cursor that somebody broke is the same as none, for every sensor that has one."""

from __future__ import annotations

import json

import pytest

from perfreg_assets.automation import inbox
from perfreg_assets.automation.cursors import read_cursor
from perfreg_assets.automation.new_builds import Seen as SeenBuilds
from perfreg_assets.automation.sensors import Seen

BROKEN = ["garbage", "{", "[]", "null", "1", '{"witness": 5}', '{"plan": "x", "files": {"a.apk": "new"}}', '"\\ud800"']


@pytest.mark.parametrize("cursor", BROKEN)
def test_a_broken_cursor_is_none(cursor):
    assert Seen.read(cursor) is None
    assert read_cursor(cursor, SeenBuilds) in (None, SeenBuilds())
    assert inbox.decide([], cursor, now=0.0, settle_s=1.0, limit=5).cursor == "{}"


def test_a_whole_cursor_is_read():
    assert Seen.read(json.dumps({"witness": "w", "runs": None, "until": 5.5})) == Seen("w", None, 5.5)
    assert read_cursor('{"plan": "p", "files": {"a.apk": [1, 2, 1]}}', SeenBuilds) == SeenBuilds(
        "p", {"a.apk": [1, 2, 1]}
    )
