"""Many machines, rehearsed on one: PostgreSQL, an object store, worker runs, one writer; and what dies meanwhile.

A dozen recorded runs arrive as objects of S3 and end in the verdicts of a plain local ingest, although a worker is
killed while it reads a trace, the writer in its transaction, and the database under all of them.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import dagster as dg
import fsspec
import pytest
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parent))

from rehearsal import Cluster, postgres, postgres_binaries, wait_until

from perfreg_assets.assets.outstanding import outstanding
from perfreg_assets.bundled import demo_runs_dir
from perfreg_assets.cli import main
from perfreg_assets.reasons import Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.warehouse.connection import Warehouse

BINARIES = postgres_binaries()
RUNS = sorted(demo_runs_dir().iterdir())[:12]
SIMILARITY = "0.6"
WORKERS = 2

# What must be the same, whoever computed it and when; a run's number is only the place it arrived at.
END_STATE = {
    "runs": "SELECT run_id, state, reason_code, run_verdict, run_explanation, trace_sha256 FROM marts.runs",
    "verdicts": "SELECT * EXCLUDE (evaluated_at, run_no, distance_id, distance_no) FROM marts.verdicts",
    "series": "SELECT run_id, series, is_missing, reason, values_hash, code_version FROM core.time_series",
    "measurements": "SELECT subject_id, metric, value, reason, code_version FROM core.measurements",
    "discords": "SELECT run_id, series, start_s, end_s FROM marts.discords",
}


def end_state(path):
    with Warehouse(path, lock_timeout_s=30).reading() as reader:
        return {name: reader.rows(f"{sql} ORDER BY ALL") for name, sql in END_STATE.items()}


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """The end state of a plain ingest of the same folders."""
    folder = tmp_path_factory.mktemp("local")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERFREG_PATH_SIMILARITY_MINIMUM", SIMILARITY)
        patch.delenv("PERFREG_EXCHANGE", raising=False)
        warehouse = folder / "perfreg.duckdb"
        done = CliRunner().invoke(main, ["ingest", *map(str, RUNS), "--warehouse", str(warehouse)])
        assert done.exit_code == 0, done.output
        return end_state(warehouse)


def upload(files, url, folder):
    """run.json last, as docs/deploy.md asks for."""
    paths = sorted((path for path in folder.rglob("*") if path.is_file()), key=lambda path: path.name == "run.json")
    for path in paths:
        files.put_file(str(path), f"{url}/inbox/{folder.name}/{path.relative_to(folder).as_posix()}")


@pytest.mark.skipif(BINARIES is None, reason="needs PostgreSQL (apt install postgresql)")
@pytest.mark.timeout(2400)  # two to three minutes on two idle cores
def test_runs_end_in_the_same_verdicts_whatever_dies_on_the_way(local, bucket, tmp_path):
    url = bucket
    files = fsspec.filesystem("s3", skip_instance_cache=True, use_listings_cache=False)
    with postgres(BINARIES) as database:
        cluster = Cluster(
            tmp_path / "cluster",
            database=database.url,
            exchange=url,
            PERFREG_PATH_SIMILARITY_MINIMUM=SIMILARITY,
            PERFREG_INBOX_SETTLE_S="1",
            PERFREG_WORKERS=str(WORKERS),
        )
        try:
            rehearse(cluster, database, files, url)
            assert end_state(cluster.warehouse) == local
            check_runs(cluster, database)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{cluster.logs()}") from error
        finally:
            cluster.stop()


def rehearse(cluster, database, files, url):
    begin = time.monotonic()
    settings = Settings(warehouse=cluster.warehouse, path_similarity_minimum=float(SIMILARITY))

    def say(text):
        print(f"{time.monotonic() - begin:6.1f} s  {text}", flush=True)  # noqa: T201

    def kept_up(do):
        cluster.keep_up()
        return do()

    for folder in RUNS:
        upload(files, url, folder)
    say(f"{len(RUNS)} folders uploaded, {WORKERS} worker runs at a time")

    say(
        "killed a worker: "
        + wait_until("a worker with an engine", lambda: kept_up(cluster.kill_a_worker), pause_s=0.02)
    )
    say("killed the writer: " + wait_until("a writer", lambda: kept_up(cluster.kill_the_writer), pause_s=0.001))
    database.crash()
    say("killed the database")
    time.sleep(2)
    database.start()

    def judged():
        cluster.keep_up()
        try:
            with Warehouse(cluster.warehouse, lock_timeout_s=30).reading() as reader:
                verdicts = dict(reader.rows("SELECT run_id, run_verdict FROM marts.runs"))
                if len(verdicts) < len(RUNS) or not all(verdicts.values()) or outstanding(reader, settings).keys:
                    return False
        except Rejected:  # there is none yet
            return False
        return not files.find(f"{url}/inbox") and not files.find(f"{url}/results")

    wait_until("an end, with nothing due and nothing waiting,", judged, pause_s=2)
    say("nothing is due")


def check_runs(cluster, database):
    """That it was done by worker runs at the same time, and that the killed ones are known as failed."""
    os.environ["DAGSTER_POSTGRES_URL"] = database.url
    with dg.DagsterInstance.from_config(str(cluster.home)) as instance:
        statuses = {
            name: [record.dagster_run.status.value for record in instance.get_run_records(dg.RunsFilter(job_name=name))]
            for name in ("read_traces", "commit_results", "judge_versions")
        }
    assert statuses["read_traces"].count("SUCCESS") >= WORKERS - 1, statuses
    assert "FAILURE" in statuses["read_traces"], statuses
    assert statuses["commit_results"].count("SUCCESS") >= 1, statuses
    assert not (cluster.workers.folder / "perfreg.duckdb").exists()
