"""Facts that SQL must not say twice: the ω rule and its inverse, reason codes, names of detectors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perfreg_assets import detection
from perfreg_assets.bundled import sql_dir
from perfreg_assets.reasons import Reason

FILES = sorted([*(sql_dir() / "marts").glob("*.sql"), *(sql_dir() / "examples").glob("*.sql")])
WAREHOUSE = sorted((Path(__file__).parents[2] / "perfreg_assets" / "warehouse").glob("*.py"))
SCOPES = {"run", "trace", "series", "history", "collection", "benchmark"}


def _code(path: Path) -> str:
    """The statements without comments and texts."""
    text = re.sub(r"--.*|COMMENT ON .*", "", path.read_text())
    return re.sub(r"'[^']*'", "''", text) if path.suffix == ".sql" else re.sub(r'"""(?!\n)[^\n]*', "", text)


def _files_with(pattern: str) -> set[str]:
    return {path.stem for path in (*FILES, *WAREHOUSE) if re.search(pattern, _code(path))}


def test_the_threshold_its_rule_and_its_inverse_stand_in_one_macro_each() -> None:
    assert _files_with(r"q3\s*\+\s*\S*omega") == {"threshold_at"}
    assert _files_with(r">\s*marts\.threshold_at\(") == {"is_over_threshold"}
    assert _files_with(r"distance\s*/") == {"excess_ratio_at"}
    assert _files_with(r"distance\s*-\s*\S*q3") == {"critical_omega"}
    assert _files_with(r">\s*(\w+\.)?threshold\b") == set()


@pytest.mark.parametrize("name", ["verdicts", "false_alarm_rates", "axis_verdicts"])
def test_a_view_and_its_macro_at_any_omega_share_one_body(name: str) -> None:
    body = _code(sql_dir() / "marts" / f"{name}.sql")
    assert f"FROM marts.{name}_at(NULL, '')" in body
    assert "core." not in body


def test_reason_codes_in_sql_are_reasons() -> None:
    literals = set(re.findall(r"'([a-z]+(?:_[a-z]+)*)'", (sql_dir() / "marts" / "data_quality.sql").read_text()))
    codes = literals - SCOPES - {"detector", "omega", "ready", "scored"}  # the settings and the states it asks for
    assert len(codes) >= 9
    assert codes <= {reason.code for reason in Reason}


def test_states_that_are_reasons_are_spelt_like_them() -> None:
    text = (sql_dir() / "marts" / "verdict_state.sql").read_text()
    states = set(re.findall(r"THEN '(\w+)'", text)) - {"anomalous", "improved"}
    assert states == {Reason.SERIES_MISSING.code}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_statement_names_a_detector(path: Path) -> None:
    text = re.sub(r"--.*|COMMENT ON .*", "", path.read_text())
    assert not [name for name in detection.detector_names() if f"'{name}'" in text]
