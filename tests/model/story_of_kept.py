"""What commands compute once and keep as it was, where a run or what is said of one meets it, as a part of a story."""

from __future__ import annotations

import hashlib

from hypothesis import strategies as st
from hypothesis.stateful import rule
from made_folders import TRACE
from made_power_profiles import DEVICES, PROFILES
from story_of_folders import NAMES
from story_of_words import StoryOfWords


class StoryOfKept(StoryOfWords):
    """Reductions of traces, before or after there is a run of them, and logs of methods, whose power profiles stay."""

    @rule(name=st.sampled_from(NAMES))
    def reduce(self, name: str) -> None:
        trace = self.folder / "given" / name / TRACE
        if trace.exists() and not self.folders[name].is_damaged:
            sha256 = hashlib.sha256(trace.read_bytes()).hexdigest()
            self.house.reduce(sha256)
            self.left.reduced.add(sha256)

    @rule(name=st.sampled_from(tuple(PROFILES)), device=st.sampled_from(DEVICES))
    def import_method_log(self, name: str, device: str) -> None:
        self.house.import_method_log(name, device)
        self.left.method_logs.append((name, device))
