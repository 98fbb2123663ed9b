"""A step that fails once: the command computes the rest afterwards, and says both."""

from __future__ import annotations

import pytest

from perfreg_assets.assets import history_sets
from perfreg_assets.bundled import demo_runs_dir
from perfreg_assets.cli.ingesting import take_in


def test_what_was_made_up_for_is_said_beside_what_failed(make_site, monkeypatch, capsys):
    """It said only what had failed: nobody knew whether verdicts were missing."""
    site, select, failures = make_site(), history_sets.select_due, [ValueError("the disk hiccuped")]

    def failing_once(*given):
        if failures:
            raise failures.pop()
        return select(*given)

    monkeypatch.setattr(history_sets, "select_due", failing_once)
    with pytest.raises(SystemExit) as ended:
        take_in(site.settings, [demo_runs_dir() / "notes-000"])
    told = capsys.readouterr().err.splitlines()
    assert (ended.value.code, told[-2:]) == (
        1,
        ["perfreg: ValueError: the disk hiccuped", "what failed was made up for afterwards: nothing is due any more"],
    )
    assert site.rows("SELECT state FROM marts.run_verdicts WHERE is_current") == [{"state": "not_enough_history"}]
