"""What commands compute once and keep as it was, made up."""

from __future__ import annotations

import numpy as np
from synthetic import APP

from perfreg_assets.warehouse.method_logs import MethodLogRow
from perfreg_assets.warehouse.reductions import ReductionRow


def reduction(original_sha256: str) -> ReductionRow:
    """As `perfreg reduce` stores it of a trace, of three windows of which one was kept."""
    return ReductionRow(
        original_sha256=original_sha256, reduced_sha256=original_sha256[::-1], trace_file="a", reduced_file="b",
        reference_name=None, reduction_mode="default", window_s=0.25, kl_maximum=0.1, score_minimum=1.5,
        bytes_before=1000, bytes_after=100, kept_ratio=0.3, window_count=3, start_ns=10**9, event_types=["other"],
        window_events=(5, 5, 5), kls=np.array([0.1, 0.9, np.nan]), scores=np.array([np.nan, 3.0, np.nan]),
        anomalous=(False, True, False), kept=(False, True, False), reasons=("", "unusual", "empty"),
        second_events=[{"start_ns": 10**9, "is_kept": True, "counts": {"other": 15}}],
    )  # fmt: skip


def method_log(profile_id: str, device: str) -> MethodLogRow:
    """Of a log of methods' entries and exits, priced by a power profile."""
    return MethodLogRow(
        method_log_id=f"{profile_id[:8]}-{device}", app=APP, version_name="1", log_name="log", device_name=device,
        profile_id=profile_id, nominal_voltage_v=3.85, test_count=1, thread_count=1, refused_count=0, refused=(),
    )  # fmt: skip
