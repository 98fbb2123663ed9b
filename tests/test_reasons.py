"""Reason codes: each is given by something; one that nothing gives is looked for in vain."""

import re
from pathlib import Path

from perfreg_assets.reasons import Reason

ROOT = Path(__file__).parent.parent
HOME = ROOT / "perfreg_assets" / "reasons.py"


def test_every_reason_is_given_by_something():
    sources = [*(ROOT / "perfreg_assets").rglob("*.py"), *(ROOT / "sql").rglob("*.sql")]
    words = {word for path in sources if path != HOME for word in re.findall(r"\w+", path.read_text("utf-8"))}
    assert [one.code for one in Reason if not {one.name, one.code} & words] == []
