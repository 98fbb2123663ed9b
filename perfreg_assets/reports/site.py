"""The report site: one page per run, the index and the ω page. Only what changed is written again.

`manifest.json` holds, per page, the hash of everything the page was made of. A page is replaced by an atomic
rename, so that a reader never sees half of one; one build at a time holds the lock.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from perfreg_assets.reports import loading
from perfreg_assets.reports.data import Run
from perfreg_assets.reports.index_page import render_index
from perfreg_assets.reports.links import DEFAULT_SERVER, page_name
from perfreg_assets.reports.omega_page import render_omega_page
from perfreg_assets.reports.run_page import render_run_page
from perfreg_assets.reports.templating import asset_files, code_hash
from perfreg_assets.warehouse.connection import Reader
from perfreg_assets.warehouse.lock import file_lock

MANIFEST = "manifest.json"
MANIFEST_FORMAT = 1
OVERVIEW_PAGES = ("index.html", "omega.html")
OVERVIEW = "overview"
"""In the manifest, beside the pages: the hash of what index and ω page were made of."""
GROUP_SIZE = 20
"""Run pages loaded at once: about 20 × 12 series × 13 runs of arrays."""

LOCK_TIMEOUT_S = 600.0


def build_site(
    reader: Reader, out_dir: Path, *, server: str = DEFAULT_SERVER, due: Mapping[str, str] | None = None
) -> list[str]:
    """Brings the site in `out_dir` up to date with the warehouse: every page that would come out different.

    Args:
        server: address of `perfreg serve` that the pages' links name when opened from a file.
        due: run_id → what about it is being brought up to date, which its page then says.

    Returns:
        The written and removed pages, relative to `out_dir`.

    Raises:
        Rejected: WAREHOUSE_LOCKED when another build holds the site for too long.
    """
    (out_dir / "runs").mkdir(parents=True, exist_ok=True)
    with file_lock(out_dir / ".lock", timeout_s=LOCK_TIMEOUT_S, what=f"the report site {out_dir}"):
        return _build(reader, out_dir, server, due or {})


def due_pages(
    reader: Reader, out_dir: Path, *, server: str = DEFAULT_SERVER, due: Mapping[str, str] | None = None
) -> tuple[list[str], bool]:
    """(runs whose page is not there or would come out different, whether index or ω page may)."""
    pages = _read_manifest(out_dir)
    prints = _fingerprints(reader, loading.load_runs(reader), server)
    late = [
        run_id
        for page, (run_id, digest) in _run_pages(prints, due or {}).items()
        if not _is_current(out_dir, pages, page, digest)
    ]
    is_overview_there = all((out_dir / page).is_file() for page in OVERVIEW_PAGES)
    return late, not is_overview_there or pages.get(OVERVIEW) != _overview_digest(reader, prints)


def _fingerprints(reader: Reader, runs: Mapping[str, Run], server: str) -> dict[str, str]:
    """Run → hash of everything its page is made of."""
    salt = f"{code_hash()} {server}"
    return {
        run_id: _digest(f"{salt} {fingerprint}")
        for run_id, fingerprint in loading.run_fingerprints(reader, runs).items()
    }


def _run_pages(prints: Mapping[str, str], due: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Page → (run, hash of everything the page is made of and of what it says is out of date)."""
    return {
        f"runs/{page_name(run_id)}.html": (run_id, _digest(f"{due.get(run_id)} {fingerprint}"))
        for run_id, fingerprint in prints.items()
    }


def _overview_digest(reader: Reader, prints: Mapping[str, str]) -> str:
    """Of what index and ω page are made of, without making them: all runs' pages, and what is said of no run."""
    return _digest(repr((sorted(prints.items()), loading.overview_facts(reader))))


def _is_current(out_dir: Path, pages: Mapping[str, str], page: str, digest: str) -> bool:
    return pages.get(page) == digest and (out_dir / page).is_file()


def _build(reader: Reader, out_dir: Path, server: str, due: Mapping[str, str]) -> list[str]:
    pages = _read_manifest(out_dir)
    changed: list[str] = []
    _copy_assets(out_dir)
    runs = loading.load_runs(reader)
    prints = _fingerprints(reader, runs, server)
    wanted = _run_pages(prints, due)
    stale = [
        (page, run_id, digest)
        for page, (run_id, digest) in wanted.items()
        if not _is_current(out_dir, pages, page, digest)
    ]
    similarities = loading.PathSimilarities()
    for start in range(0, len(stale), GROUP_SIZE):
        group = stale[start : start + GROUP_SIZE]
        details = loading.load_details(reader, [run_id for _, run_id, _ in group], runs, similarities)
        for (page, run_id, digest), detail in zip(group, details, strict=True):
            _write(out_dir / page, render_run_page(detail, server=server, due=due.get(run_id)))
            pages[page] = digest
            changed.append(page)
    for page, text in (
        ("index.html", render_index(loading.load_overview(reader))),
        ("omega.html", render_omega_page(loading.load_omega_overview(reader))),
    ):
        digest = _digest(text)
        if not _is_current(out_dir, pages, page, digest):
            _write(out_dir / page, text)
            pages[page] = digest
            changed.append(page)
    pages[OVERVIEW] = _overview_digest(reader, prints)
    changed += _remove_vanished(out_dir, pages, set(wanted))
    _write(out_dir / MANIFEST, json.dumps({"format": MANIFEST_FORMAT, "pages": dict(sorted(pages.items()))}, indent=0))
    return changed


def _remove_vanished(out_dir: Path, pages: dict[str, str], existing: set[str]) -> list[str]:
    removed = []
    for path in sorted((out_dir / "runs").glob("*.html")):
        page = f"runs/{path.name}"
        if page not in existing:
            path.unlink()
            removed.append(page)
    for page in [p for p in pages if p.startswith("runs/") and p not in existing]:
        del pages[page]
    return removed


def _read_manifest(out_dir: Path) -> dict[str, str]:
    """Page -> hash of its inputs; empty when there is none or it is not ours: everything is written again then."""
    try:
        manifest = json.loads((out_dir / MANIFEST).read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    if (
        not isinstance(manifest, dict)
        or manifest.get("format") != MANIFEST_FORMAT
        or not isinstance(manifest.get("pages"), dict)
    ):
        return {}
    return dict(manifest["pages"])


def _copy_assets(out_dir: Path) -> None:
    folder = out_dir / "assets"
    folder.mkdir(exist_ok=True)
    for name, source in asset_files().items():
        target = folder / name
        if not target.is_file() or _digest_file(target) != _digest_file(source):
            with tempfile.NamedTemporaryFile(dir=folder, prefix=".", delete=False) as part:
                shutil.copyfileobj(source.open("rb"), part)
            _publish(Path(part.name), target)


def _write(path: Path, text: str) -> None:
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, prefix=".", encoding="utf-8", errors="replace", delete=False
    ) as part:
        part.write(text)
    _publish(Path(part.name), path)


def _publish(part: Path, target: Path) -> None:
    part.chmod(0o644)  # temporary files are private; a site may be put behind a web server
    os.replace(part, target)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _digest_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
