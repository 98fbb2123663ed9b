"""A call log as one page that needs nothing else: what grew, times of services, flame graph and circle packing.

Scripts, styles and data stand in the file itself; the content policy names the scripts by their hashes, so that nothing
else runs, whatever a log calls its methods.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from perfreg_assets.methods.call_trees import CallTrees
from perfreg_assets.methods.causes import MethodCause
from perfreg_assets.methods.folded import before_and_after
from perfreg_assets.methods.method_uses import Profile
from perfreg_assets.methods.service_times import ServiceTimes
from perfreg_assets.reports.flame_tree import Names, flame_tree
from perfreg_assets.reports.site_assets import contents
from perfreg_assets.reports.templating import embed_json, render

SCRIPTS = ("d3-hierarchy.min.js", "call-log.js")
SHOWN_CAUSES = 20


def render_call_log_page(
    log_name: str,
    trees: CallTrees,
    services: Sequence[ServiceTimes],
    causes: Sequence[MethodCause],
    baselines: Sequence[Profile],
) -> str:
    """The page as HTML text.

    Args:
        causes: what is listed, by rank.
        baselines: what flame graphs are coloured against; none: by self time alone.
    """
    scripts = [contents()[name].decode("utf-8") for name in SCRIPTS]
    return render(
        "call_log.html.j2",
        {
            "content_policy": _policy(scripts),
            "log_name": log_name,
            "baseline_count": len(baselines),
            "causes": list(causes)[:SHOWN_CAUSES],
            "services": services,
            "payload": embed_json(_payload(trees, causes, baselines)),
            "scripts": [Markup(script) for script in scripts],  # published code and ours
        },
    )


def _policy(scripts: Sequence[str]) -> str:
    digests = (hashlib.sha256(script.encode("utf-8")).digest() for script in scripts)
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def _payload(trees: CallTrees, causes: Sequence[MethodCause], baselines: Sequence[Profile]) -> dict[str, Any]:
    """Names once; per service its nodes, each behind its parent: number of parent and name, self time before and now in
    ms per call of the service (before is null without a baseline that has the service). The service of the first cause
    is shown first."""
    names: Names = {}
    paths: dict[str, dict[tuple[str, ...], tuple[float | None, float]]] = {}
    for (service, *path), values in before_and_after(trees, baselines).items():
        paths.setdefault(service, {})[tuple(path)] = values
    services = [{"name": name, **flame_tree(own, names)} for name, own in sorted(paths.items())]
    return {"names": list(names), "services": services, "shown": causes[0].service if causes else None}
