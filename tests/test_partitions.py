"""Partition keys: exact inverse, and nothing in them that Dagster or its UI cannot take."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfreg_assets.partitions import from_key, to_key

names = st.text(min_size=1).filter(lambda text: not any("\ud800" <= char <= "\udfff" for char in text))


@given(app=names, version=names)
def test_the_key_is_reversible_and_plain(app, version):
    key = to_key(app, version)
    assert from_key(key) == (app, version)
    assert key.isascii()
    assert key.isprintable()
    assert "..." not in key
    assert not set(key) & set(",|'\" \\")


def test_ordinary_names_stay_readable():
    assert to_key("com.rig.notes", "1.5.0-rc+1") == "com.rig.notes@1.5.0-rc+1"


@pytest.mark.parametrize("text", ["", "no-version", "@1.0"])
def test_a_foreign_key_is_refused(text):
    with pytest.raises(ValueError, match="app@version"):
        from_key(text)
