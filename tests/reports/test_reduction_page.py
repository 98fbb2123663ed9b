"""The page of a reduced trace says what perfreg.reduction.json says, and shades what is kept."""

from __future__ import annotations

import re

from perfreg_assets.reports.reduction_page import HEIGHT, WIDTH, render_reduction_page


def told(**changes):
    windows = [
        {
            "start_ns": i * 250_000_000, "end_ns": (i + 1) * 250_000_000, "is_kept": 40 <= i < 48,
            "is_anomalous": 43 <= i < 46, "reason": "unusual" if 43 <= i < 46 else None, "events": 10 + i % 3,
            "kl": 0.1 + (43 <= i < 46), "score": 5.0 if 43 <= i < 46 else None,
        }
        for i in range(80)
    ]  # fmt: skip
    return {
        "trace": "a<b>.perfetto-trace", "bytes_before": 10_000, "bytes_after": 900, "kept_share": 0.1,
        "mode": "default", "window_s": 0.25, "reference": None, "reference_windows": 1200, "theta": 0.5, "alpha": 2.0,
        "stretches": [{"start_ns": 10_000_000_000, "end_ns": 12_000_000_000}], "windows": windows,
        "types": ["sched_switch app/main", "other"],
        "seconds": [
            {
                "start_ns": s * 10**9, "is_kept": s in (10, 11), "counts": {"0": 30, "1": 1},
                "running_s": {"com.rig.media": 0.25}, "rss_bytes": {"com.rig.media": 1_000_000 + s},
            }
            for s in range(20)
        ],
        **changes,
    }  # fmt: skip


def test_kept_parts_are_shaded_and_listed_and_thresholds_drawn():
    page = render_reduction_page(told(), "kept")
    shaded = re.findall(r'<rect x="([\d.]+)" y="0" width="([\d.]+)"', page)
    assert shaded == [(str(WIDTH * 10 / 20), str(WIDTH * 2 / 20))] * 3
    assert page.count("stroke-dasharray") == 2
    assert f'y1="{HEIGHT * (1 - 0.5 / 1.1):.1f}"' in page
    assert "10000000000 – 12000000000" in page
    assert "<td>unusual</td>" in page
    assert "10,000 bytes became 900: 10.0 % of 20 s are kept, in 1 part." in page


def test_dropped_seconds_alone_are_counted():
    page = render_reduction_page(told(), "kept")
    assert "18 s; what happened most often" in page
    assert f'<td class="n">{18 * 30}</td><td class="n">30.0</td>' in page


def test_each_kept_part_leads_to_perfetto_and_dropped_seconds_tell_what_processes_used():
    page = render_reduction_page(told(), "kept")
    address = "http://127.0.0.1:9001/perfetto/#!/?url=http://127.0.0.1:9001/reduced/kept/a%253Cb%253E.perfetto-trace"
    assert f'href="{address}&amp;visStart=10000000000&amp;visEnd=12000000000"' in page
    files = [
        {"name": "kept-0001.perfetto-trace", "stretches": [{"start_ns": 10_000_000_000, "end_ns": 11_000_000_000}]}
    ]
    assert "/reduced/kept/kept-0001.perfetto-trace&amp;" in render_reduction_page(told(files=files), "kept")
    assert '<td>com.rig.media</td><td class="n">0.250</td><td class="n">1.0 MB</td>' in page


def test_the_page_says_at_which_address_its_links_lead_to_perfetto():
    """A server that was started at another port, or elsewhere, is none that they reach."""
    page = render_reduction_page(told(), "kept", server="http://127.0.0.1:9200")
    assert 'href="http://127.0.0.1:9200/perfetto/#!/?url=http://127.0.0.1:9200/reduced/kept/' in page
    assert "lead to Perfetto at <code>http://127.0.0.1:9200</code>" in page
    assert "on this computer" not in page


def test_names_are_text_and_nothing_of_it_runs():
    page = render_reduction_page(told(), "kept")
    assert "a&lt;b&gt;" in page
    assert "<b>" not in page
    assert "<script" not in page
    assert "default-src &#39;none&#39;; style-src" in page


def test_a_trace_of_which_nothing_is_kept_says_so():
    assert "no window is unlike the reference" in render_reduction_page(told(stretches=[]), "kept")
