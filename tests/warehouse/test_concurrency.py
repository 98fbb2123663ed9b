"""Several writers and readers at once: no error reaches anybody, and no reader sees half a write."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from perfreg_assets.warehouse import series
from perfreg_assets.warehouse.connection import Warehouse

WRITER_COUNT = 2
READER_COUNT = 2
WRITES_EACH = 9

# Each write sets all runs of two tables to one new number: a reader that sees two numbers sees a torn state.
WRITER = """
import sys
from pathlib import Path
import numpy as np
from perfreg_assets.warehouse import runs, series, traces
from perfreg_assets.warehouse.connection import Warehouse

warehouse, start = Warehouse(Path(sys.argv[1]), lock_timeout_s=60), int(sys.argv[2])
for number in range(start, start + int(sys.argv[3])):
    try:
        with warehouse.writing() as writer:
            runs.upsert(writer, [
                runs.RunRow(run_id=f"r{i}", folder_name="f", content_hash="h", is_quarantined=True,
                            reason_code="key_missing") for i in range(20)])
            series.upsert(writer, [
                series.SeriesRow(run_id=f"r{i}", series="x", unit="cores", interval_s=1.0, start_ns=0,
                                 values=np.full(500, float(number)), is_missing=False) for i in range(20)])
            traces.upsert(writer, [
                traces.TraceRow(run_id=f"r{i}", is_complete=True, packet_count=number) for i in range(20)])
            if number % 5 == 4:
                raise ZeroDivisionError
    except ZeroDivisionError:
        pass
"""
READER = """
import json, sys, time
from pathlib import Path
from perfreg_assets.warehouse.connection import Warehouse

warehouse, seen = Warehouse(Path(sys.argv[1]), lock_timeout_s=0), set()
reads = errors = torn = 0
while not Path(sys.argv[2]).exists() or reads == 0:
    try:
        with warehouse.reading() as reader:
            numbers = {v for (v,) in reader.rows('SELECT DISTINCT unnest("values") FROM core.time_series '
                                                 'JOIN core.series_values USING (values_file, run_id, series)')}
            numbers |= {v for (v,) in reader.rows("SELECT packet_count FROM core.traces")}
            count = reader.value("SELECT count(*) FROM core.traces")
        seen |= numbers
        torn += len(numbers) != 1 or count != 20
        reads += 1
    except Exception as error:
        print(repr(error), file=sys.stderr)
        errors += 1
    time.sleep(0.03)
print(json.dumps({"reads": reads, "errors": errors, "torn": torn, "states": sorted(seen)}))
"""


def _start(code: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_writers_queue_and_readers_see_whole_states_only(warehouse: Warehouse, tmp_path: Path) -> None:
    first = _start(WRITER, warehouse.path, 0, 1)
    first.communicate(timeout=60)
    assert first.returncode == 0
    stop = tmp_path / "stop"
    readers = [_start(READER, warehouse.path, stop) for _ in range(READER_COUNT)]
    writers = [_start(WRITER, warehouse.path, 1000 * (i + 1), WRITES_EACH) for i in range(WRITER_COUNT)]
    for writer in writers:
        _, complaints = writer.communicate(timeout=120)
        assert writer.returncode == 0, complaints
    stop.touch()
    failed_writes = {float(1000 * (i + 1) + n) for i in range(WRITER_COUNT) for n in range(WRITES_EACH) if n % 5 == 4}
    for reader in readers:
        report, complaints = reader.communicate(timeout=60)
        told = json.loads(report)
        assert (told["errors"], told["torn"]) == (0, 0), complaints
        assert told["reads"] > 0
        assert not failed_writes & set(told["states"])
    with warehouse.reading() as final:
        last = {1000.0 * (i + 1) + WRITES_EACH - 1 for i in range(WRITER_COUNT)}
        stored = next(iter(series.find(final, ["r0"]).values())).values
        assert stored is not None
        assert stored[0] in last
