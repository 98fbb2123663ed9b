"""A bench for collections on the stand-in device: short sessions, and what a test asks after them."""

import json
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import standin_apk

from perfreg_assets.collection.collect import CollectionResult, collect
from perfreg_assets.collection.config import CollectionConfig
from perfreg_assets.collection.errors import CollectionError
from perfreg_assets.collection.sweep import remaining, sweep
from perfreg_assets.settings import Settings

APP = "com.rig.notes"
QUICK = {
    "time_limit_s": 2.0,
    "action_interval_s": 0.3,
    "min_free_bytes": 0,
    "file_write_period_ms": 300,
    "explorer_silence_s": 2.5,
    "progress_interval_s": 0.5,
    "keep_screen_on": False,
    "animations_off": False,
    "connect_timeout_s": 5.0,
    "reconnect_timeout_s": 2.0,
    "stop_timeout_s": 2.0,
    "launch_settle_s": 0.1,
}


@dataclass
class Bench:
    """Collects from the stand-in; `at` maps a stage to what happens when the collection enters it."""

    device: object
    folder: Path
    stages: list = field(default_factory=list)

    @property
    def settings(self):
        return Settings(home=self.folder / "home", warehouse=self.folder / "w.duckdb")

    @property
    def out(self):
        return self.folder / "inbox"

    def config(self, **options):
        return CollectionConfig(**{"app": APP, "serial": self.device.serial, **QUICK, **options})

    def apk(self, name="app.apk", package=APP, version_name="1.4.0", version_code=140, **behaviour):
        path = self.folder / name
        standin_apk.write_apk(
            path, package=package, version_name=version_name, version_code=version_code, behaviour=behaviour
        )
        return str(path)

    def collect(self, at=None, each=lambda: None, out=None, repeat=0, **options) -> CollectionResult:
        happenings = dict(at or {})
        self.stages = []

        def progress(now):
            self.stages.append(now)
            each()
            happen = happenings.pop(now.stage, None)
            if happen is not None:
                happen()

        return collect(
            self.config(**options), settings=self.settings, runs_out=out or self.out, progress=progress, repeat=repeat
        )

    def fail(self, **arguments) -> CollectionError:
        with pytest.raises(CollectionError) as caught:
            self.collect(**arguments)
        error = caught.value
        assert error.record.state == "failed"
        assert error.record.reason_code == error.reason.code
        assert error.record.reason == str(error)
        assert "\n" not in str(error)
        self.assert_nothing_accepted()
        return error

    def assert_nothing_accepted(self):
        assert not self.out.exists() or list(self.out.iterdir()) == []

    def assert_clean(self):
        """Nothing on the device, nothing on this computer, nothing listed."""
        left = [item for item in self.device.leftovers() if not item.startswith(f"{APP}.json")]
        assert left == []
        assert remaining(self.settings) == ()
        journals = self.settings.home_dir / "collections"
        assert list(journals.glob("*.jsonl")) == []
        assert not (journals / "work").exists() or list((journals / "work").iterdir()) == []

    def assert_next_works(self):
        """The next collection needs no hand from anybody."""
        self.device.set_faults()
        if not (self.device.path(f"/data/app/{APP}.json")).exists():
            self.device.install(APP, "1.4.0")
        result = self.collect(time_limit_s=1.6, action_interval_s=0.2)
        assert result.run_folder.is_dir()
        self.assert_clean()

    def sweep(self):
        return sweep(self.settings, serial=self.device.serial, connect_timeout_s=5)

    def document(self, result):
        return json.loads((result.run_folder / "run.json").read_text(encoding="utf-8"))

    def script(self, body) -> tuple[str, ...]:
        """A program for the `command` explorer; `path` is the file it writes."""
        program = self.folder / "explorer.py"
        head = "import json, os, sys, time\npath = open(sys.argv[1], 'a', buffering=1)\n"
        program.write_text(head + textwrap.dedent(body), encoding="utf-8")
        return (sys.executable, "-S", str(program), "{path}")


@pytest.fixture
def bench(standin, tmp_path):
    """The bench, with the app installed on the device."""
    standin.install(APP, "1.4.0", 140)
    return Bench(standin, tmp_path)
