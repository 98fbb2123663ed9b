"""Call logs, whole: the slow method is named, a log is stored once, and a stored baseline says what its file says."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfreg_assets.model import call_logs
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.call_log_template import parse_template
from perfreg_assets.warehouse import call_logs as table
from perfreg_assets.warehouse.connection import Warehouse

DATA = Path(__file__).parents[1] / "data" / "call-logs"
NORMAL, SLOW = DATA / "calllog_small.txt.gz", DATA / "calllog_small_slow.txt.gz"
SLOW_METHOD = "com.x.dataaccess.util.AFCLotLevelHoldings217 - Close Listener"  # 5 times as long, as it was made
TEMPLATE = parse_template()


@pytest.fixture(scope="module")
def normal():
    return call_logs.profile_of_file(NORMAL, TEMPLATE)


@pytest.fixture(scope="module")
def slow(normal):
    return call_logs.analyse(SLOW, TEMPLATE, {"normal": normal}, with_sha256=True)


@pytest.fixture
def warehouse(tmp_path):
    return Warehouse(tmp_path / "perfreg.duckdb", lock_timeout_s=5)


def test_the_method_that_was_made_slow_is_at_rank_1(slow):
    first = slow.listed[0]
    assert (first.rank, first.method) == (1, SLOW_METHOD)
    assert first.after_ms / first.before_ms == pytest.approx(5, rel=0.15)
    assert first.z > 3 * slow.listed[1].z


def test_a_log_against_itself_has_nothing_that_grew(normal):
    assert call_logs.analyse(NORMAL, TEMPLATE, {"itself": normal}).listed == []


def test_what_is_told_adds_up(slow):
    trees = slow.trees
    assert trees.nodes.self_ms.sum() == pytest.approx(trees.trees.elapsed_ms.sum(), abs=1e-3)
    assert trees.counts.orphan_count == trees.counts.refused_call_count == 0
    assert slow.reason is None
    assert sum(one.call_count for one in slow.services) == len(trees.trees) == 1500
    assert sum(window.call_count for window in slow.windows) == 1500
    assert len({len(slow.scores), len({use.method for use in slow.uses})}) == 1


def test_a_log_is_stored_once_and_comes_back_as_the_baseline_that_it_is(slow, warehouse):
    with warehouse.writing() as writer:
        key = call_logs.store(writer, slow, "ledger", "2.0", "night")
    counts = "SELECT table_name, estimated_size FROM duckdb_tables() WHERE schema_name = 'core' ORDER BY ALL"
    tables = [one.name for one in (table.CALL_LOGS, *table._DEPENDENT)]
    with warehouse.reading() as reader:
        before = {name: reader.value(f"SELECT count(*) FROM {name}") for name in tables}
    assert all(before.values()), counts
    with warehouse.writing() as writer:
        assert call_logs.store(writer, slow, "ledger", "2.0", "night") == key
        profile = call_logs.profile_of_stored(writer, key)
        assert {name: writer.value(f"SELECT count(*) FROM {name}") for name in tables} == before
        assert call_logs.named_log(writer, "night").sha256 == slow.sha256
        (row,) = writer.dicts("SELECT * FROM marts.method_causes WHERE cause_rank = 1")
        shares = writer.value("SELECT sum(self_share) FROM marts.call_tree_nodes")
        roots = writer.rows("SELECT DISTINCT root_share FROM marts.call_tree_nodes WHERE parent_index IS NULL")
    assert row["method"] == SLOW_METHOD
    assert row["baselines"] == ["normal"] if "baselines" in row else row["history_count"] == 1
    assert shares == pytest.approx(6.0), "self times of each of six services are all of its time"
    assert max(share for (share,) in roots) <= 1 + 1e-9
    again = call_logs.profile_of_file(SLOW, TEMPLATE)
    assert profile.service_calls == again.service_calls
    assert profile.path_self_ms == pytest.approx(again.path_self_ms)
    assert profile.self_ms.keys() == again.self_ms.keys()


def test_other_versions_are_baselines_and_names_must_be_clear(slow, warehouse):
    with warehouse.writing() as writer:
        call_logs.store(writer, slow, "ledger", "1.0", "night")
        call_logs.store(writer, slow, "ledger", "2.0", "night")
        call_logs.store(writer, slow, "other", "1.0", "day")
        assert [row.version_name for row in call_logs.earlier_logs(writer, "ledger", "2.0")] == ["1.0"]
        assert call_logs.earlier_logs(writer, "other", "1.0") == []
        assert call_logs.named_log(writer, "ledger/1.0/night").version_name == "1.0"
        with pytest.raises(Rejected, match=r"ledger/1\.0/night") as ambiguous:
            call_logs.named_log(writer, "night")
        with pytest.raises(Rejected) as absent:
            call_logs.named_log(writer, "noon")
    assert (ambiguous.value.reason, absent.value.reason) == (Reason.CALL_LOG_AMBIGUOUS, Reason.CALL_LOG_MISSING)


def test_a_log_of_orphans_is_incomplete_and_no_baseline(tmp_path, warehouse):
    path = tmp_path / "orphans.txt"
    path.write_text("".join(f"x PERF tx={i} svc=S 1.{i % 3} m elapsed=1ms\n" for i in range(30)))
    found = call_logs.analyse(path, TEMPLATE, with_sha256=True)
    assert found.reason is Reason.CALL_LOG_INCOMPLETE
    with warehouse.writing() as writer:
        call_logs.store(writer, found, "ledger", "1.0", "cut")
        assert call_logs.earlier_logs(writer, "ledger", "2.0") == []
        assert writer.rows("SELECT reason_code, orphan_count FROM marts.call_logs") == [("call_log_incomplete", 30)]


def test_what_cannot_be_stored_says_so(warehouse, normal):
    unhashed = call_logs.analyse(NORMAL, TEMPLATE)
    with warehouse.writing() as writer, pytest.raises(ValueError, match="SHA-256"):
        call_logs.store(writer, unhashed, "a", "1", "n")
