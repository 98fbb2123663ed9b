"""Numbers as people read them."""

import pytest

from perfreg_assets.methods.explanation import readable

TOLD = {
    **{0.0: "0", 0.0004: "0.0004", 1.234: "1.23", 99.96: "100", 999.4: "999", 999.5: "1,000", 999.6: "1,000"},
    **{-999.6: "-1,000", 1000.0: "1,000", 1234567.8: "1,234,568"},
}


@pytest.mark.parametrize("value", TOLD)
def test_no_number_is_told_with_an_exponent_that_is_readable_without(value):
    assert readable(value) == TOLD[value]
