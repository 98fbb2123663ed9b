"""What tests of made-up projects share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from perfreg_assets.methods import empirical_null


@pytest.fixture(scope="module")
def three_is_far() -> Iterator[None]:
    """A score above 3 tells what is normal only after a review; no waiting for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(empirical_null, "UNLIKELY_SCORE", 3.0)
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield
