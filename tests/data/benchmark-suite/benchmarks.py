"""Benchmarks in Python, for the tests of the runners."""

import hashlib
import os
import time
from pathlib import Path

from perfreg_assets.benchmarks.abstract_test import AbstractTest, ValidationError


class Digest(AbstractTest):
    paramSize: int = 1000
    paramGoldenfile: str = ""

    def init(self, config):
        self.data = bytes(range(256)) * (self.paramSize // 256)

    def iteration(self):
        found = hashlib.sha256(self.data).hexdigest()
        if self.is_validating:
            expected = Path(self.paramGoldenfile).read_text("utf-8").strip()
            if found != expected:
                raise ValidationError("SHA-256", expected, found)
        return len(self.data)


class Trouble(AbstractTest):
    """Does what its parameter says."""

    param_kind: str = "none"

    def iteration(self):
        if self.param_kind == "hang":
            time.sleep(600)
        if self.param_kind == "die":
            os._exit(7)
        if self.param_kind == "junk":
            os.write(1, b"what is this\n")
        if self.param_kind == "raise":
            raise RuntimeError("no luck")
        if self.param_kind == "nothing":
            return 0
        time.sleep(0.002)
        return 1

    def done(self):
        if marker := os.environ.get("BENCHMARK_DONE_MARKER"):
            Path(marker).write_text("done", "utf-8")
