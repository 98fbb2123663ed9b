"""deploy/compose.yaml in containers, where there is Docker."""

from __future__ import annotations

import pytest

from tests import containers

LACKING = containers.missing()


@pytest.mark.skipif(LACKING is not None, reason=f"needs Docker and its compose plugin: {LACKING}")
@pytest.mark.timeout(3600)  # five to ten minutes on two idle cores, most of it the image
def test_compose_starts_and_judges_whatever_is_killed():
    assert containers.main() == 0
