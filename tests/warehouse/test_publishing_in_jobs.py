"""The steps of a job read what the one before wrote; everybody else reads it when the job ends, or after a while."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.warehouse.connection import Warehouse
from tests.warehouse.noted import note
from tests.warehouse.noted import notes as in_order


@pytest.fixture
def job(warehouse: Warehouse) -> Warehouse:
    with warehouse.writing():
        pass
    return Warehouse(warehouse.path, lock_timeout_s=5, publish_every_s=30)


def notes(warehouse: Warehouse) -> list[str]:
    """By name: jobs write beside each other."""
    return sorted(in_order(warehouse))


def grow_old(path: Path, seconds: float) -> None:
    os.utime(path, (time.time() - seconds,) * 2)


def test_a_step_reads_what_the_one_before_wrote_and_others_when_the_job_ends(warehouse, job):
    note(job, "first step")
    note(job, "second step")
    assert notes(job) == ["first step", "second step"]
    assert notes(warehouse) == []
    assert job.publish()
    assert notes(warehouse) == notes(job) == ["first step", "second step"]
    assert not job.publish()  # nothing is left to publish


def test_a_long_job_is_seen_to_advance(warehouse, job):
    note(job, "early")
    grow_old(job.path.with_name(f"{job.path.name}.unpublished"), 31)
    note(job, "late")
    assert notes(warehouse) == ["early", "late"]
    assert not warehouse.has_unpublished


def test_a_job_after_a_quiet_time_publishes_once_at_its_end(warehouse, job):
    note(warehouse, "before")
    grow_old(warehouse.published, 3600)
    note(job, "first step")
    note(job, "second step")
    assert notes(warehouse) == ["before"]
    assert job.publish()
    assert notes(warehouse) == ["before", "first step", "second step"]


def test_what_a_killed_job_wrote_is_published_by_whoever_writes_or_publishes_next(warehouse, job):
    note(job, "of the job")
    assert warehouse.has_unpublished
    assert warehouse.publish()
    assert notes(warehouse) == ["of the job"]
    note(job, "more of it")
    note(warehouse, "of somebody else")
    assert notes(warehouse) == ["more of it", "of somebody else", "of the job"]
    assert not warehouse.has_unpublished


def test_a_step_that_fails_leaves_nothing_to_read(warehouse, job):
    with pytest.raises(ZeroDivisionError), job.writing() as writer:  # noqa: PT012
        writer.execute("INSERT INTO core.settings (changed_at, name, value) VALUES (now(), 'note', 'lost')")
        raise ZeroDivisionError
    job.publish()
    assert notes(warehouse) == notes(job) == []


def test_the_first_write_is_published_at_once(tmp_path):
    job = Warehouse(tmp_path / "new.duckdb", lock_timeout_s=5, publish_every_s=30)
    note(job, "there")
    assert notes(Warehouse(job.path, lock_timeout_s=5)) == ["there"]


def test_a_step_that_reads_keeps_writers_out_and_says_so_when_it_waits_in_vain(job):
    note(job, "one")
    impatient = Warehouse(job.path, lock_timeout_s=0.1, publish_every_s=30)
    with job.reading() as reader:
        for attempt in (lambda: note(impatient, "two"), lambda: notes(impatient), impatient.publish):
            with pytest.raises(Rejected) as refused:
                attempt()
            assert refused.value.reason is Reason.WAREHOUSE_LOCKED
        assert reader.value("SELECT count(*) FROM core.settings WHERE name = 'note'") == 1


def test_jobs_side_by_side_lose_nothing(warehouse, job):
    def work(name: str) -> None:
        mine = Warehouse(job.path, lock_timeout_s=60, publish_every_s=30)
        for n in range(5):
            note(mine, f"{name}{n}")
            assert f"{name}{n}" in notes(mine)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    job.publish()
    assert notes(warehouse) == sorted(f"{name}{n}" for name in "abc" for n in range(5))


def test_the_steps_of_a_job_write_their_changes_once(job):
    """To the log; the file, of blocks of 256 kB, is written when it is published."""
    log = job.path.with_name(f"{job.path.name}.wal")
    before = job.path.read_bytes()
    for step in range(5):
        note(job, f"step {step}")
    assert job.path.read_bytes() == before
    assert 0 < log.stat().st_size < 64_000
    job.publish()
    assert not log.exists()
    assert job.path.read_bytes() == job.published.read_bytes() != before
    assert len(notes(job)) == 5


def test_what_stood_in_the_log_of_a_killed_job_is_there_for_a_step_that_fails(job):
    note(job, "of the job")
    with pytest.raises(ZeroDivisionError), job.writing() as writer:  # noqa: PT012
        assert writer.value("SELECT count(*) FROM core.settings WHERE name = 'note'") == 1
        raise ZeroDivisionError
    job.publish()
    assert notes(job) == ["of the job"]
