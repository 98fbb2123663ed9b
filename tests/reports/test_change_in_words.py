"""A change in percent, as every page writes it."""

import pytest

from perfreg_assets.reports import templating


@pytest.mark.parametrize(
    ("ratio", "digits", "told"),
    [(0.0512, 1, "+5.1 %"), (-0.0512, 1, "-5.1 %"), (-0.0004, 1, "+0.0 %"), (-0.004, 0, "+0 %"), (None, 1, "–")],
)
def test_what_rounds_to_nothing_has_no_minus(ratio, digits, told):
    parts = templating._environment().get_template("parts.html.j2").module
    assert parts.change(ratio, digits) == told  # type: ignore[attr-defined]
