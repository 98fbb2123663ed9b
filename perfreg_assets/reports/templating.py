"""HTML from templates: autoescaped, with a content policy, JSON that cannot leave its script element."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup, escape

from perfreg_assets.how_many import how_many
from perfreg_assets.methods.benchmark_words import told_ratio
from perfreg_assets.reports import wording
from perfreg_assets.reports.data import Verdict
from perfreg_assets.reports.template_cache import template_cache

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' 'unsafe-inline' file:; "
    "img-src 'self' data: blob: file:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
"""Nothing is loaded from elsewhere. `file:` is for browsers that do not count a folder as the page's own origin; a
served page cannot load such addresses anyway. Plotly writes its style rules into the page, hence 'unsafe-inline' for
styles (only)."""

FORM_POLICY = CONTENT_POLICY.replace("form-action 'none'", "form-action 'self'")
"""Of pages that `perfreg serve` makes itself and that send forms back to it."""

ALONE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Of pages that need nothing beside them and have no scripts."""

VIRIDIS_STEPS = 20


def viridis_step(share: float) -> int:
    """Class number 0..20 of the sequential colour scale for a value in 0..1."""
    return round(min(max(share, 0.0), 1.0) * VIRIDIS_STEPS)


NO_MULTIPLE = 0.005
"""Below, a multiple of the limit reads 0.00."""


def limit_multiple(ratio: float) -> str:
    """d over its limit for reading: 0.92, 1.5, 14."""
    return f"{ratio:.2f}" if ratio < 1.995 else f"{ratio:.1f}" if ratio < 9.95 else f"{ratio:,.0f}"


def beside_limit(ratio: float) -> str:
    """d beside its limit in words; a distance that half of the normal runs have tells no multiple."""
    return "no more than usual" if ratio < NO_MULTIPLE else f"{limit_multiple(ratio)}× the limit"


def verdict_beside_limit(verdict: Verdict | None) -> str | None:
    """What was judged beside its limit in words; None where nothing was, or the limit is not positive."""
    if verdict is None or verdict.limit_ratio is None:
        return None
    if verdict.state == "improved" and verdict.improvement is not None and verdict.threshold:
        return f"{limit_multiple(verdict.improvement / verdict.threshold)}× the limit on its better side"
    return beside_limit(verdict.limit_ratio)


def limit_step(ratio: float | None) -> str:
    """Class of the scale around 1.0 = at the limit: b4 (far below) … b0, a0 … a4 (far above)."""
    if ratio is None:
        return "none"
    if ratio <= 1.0:
        return f"b{min(4, int((1.0 - ratio) * 5))}"
    return f"a{min(4, int((ratio - 1.0) / 0.25))}"


def isolated(text: str, name: str | None) -> Markup:
    """A sentence with a name in it, which may be in any script and direction, set apart wherever it stands."""
    if not name:
        return escape(text)
    parts = re.split(rf"(?<!\w){re.escape(name)}(?!\w)", text)
    return Markup("<bdi>{}</bdi>").format(name).join(parts)  # join escapes the parts


def embed_json(value: Any) -> Markup:
    """JSON for a `<script type="application/json">`: nothing in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # escaped above


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, datetime):
        return moment(value)
    raise TypeError(f"cannot put a {type(value).__name__} into a page")


def numbers(values: Iterable[float] | None, *, digits: int | None = 5) -> list[float | None] | None:
    """Numbers for a chart: `digits` significant digits (None: exact), missing ones as None."""
    if values is None:
        return None
    return [_rounded(float(value), digits) for value in values]


def _rounded(value: float, digits: int | None) -> float | None:
    if not np.isfinite(value):
        return None
    short = value if digits is None else float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 2**53 else short


def moment(value: datetime | None) -> str:
    """`2026-11-20 09:36 UTC`."""
    if value is None:
        return "–"
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("perfreg_assets.reports", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=template_cache(Path(__file__)),
    )
    environment.filters.update(
        number=wording.number,
        size=wording.size,
        seconds=wording.plain_seconds,
        moment=moment,
        series_label=wording.series_label,
        series_short=wording.series_short,
        axis_label=wording.axis_label,
        viridis=viridis_step,
        limit_step=limit_step,
        multiple=limit_multiple,
        beside_limit=beside_limit,
        isolated=isolated,
        told_ratio=told_ratio,
        sentence=lambda text: f"{text[:1].upper()}{text[1:]}.",
    )
    environment.globals.update(
        content_policy=CONTENT_POLICY,
        how_many=how_many,
        state_label=lambda state: wording.STATE_LABELS.get(state or "not_judged", state),
        state_symbol=lambda state: wording.STATE_SYMBOLS.get(state or "not_judged", "○"),
        review_label=lambda status: wording.SAID_LABELS.get(status, status),
        exclusion_label=lambda reason: wording.EXCLUSION_LABELS.get(reason, reason),
    )
    return environment


def render(template: str, context: Mapping[str, Any]) -> str:
    """One page as text."""
    return _environment().get_template(template).render(**context)


@cache
def code_hash() -> str:
    """Hash of everything that shapes a page besides its data: templates and the code of this package."""
    package = Path(str(files("perfreg_assets.reports")))
    digest = hashlib.sha256()
    for path in sorted([*package.glob("*.py"), *package.glob("templates/*")]):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
