"""What stands beside the pages: style sheet, scripts, symbol, Plotly's and d3's bundles as published (*.LICENSE)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from perfreg_assets.reports.files import write_bytes
from perfreg_assets.reports.scripting import bundles

FOLDER = "assets"
_KINDS = (".css", ".js", ".svg", ".LICENSE")


@cache
def contents() -> Mapping[str, bytes]:
    """File name → what is in it."""
    own = Path(str(files("perfreg_assets.reports"))) / "assets"
    found = {path.name: path.read_bytes() for path in sorted(own.iterdir()) if path.suffix in _KINDS}
    return found | {name: script.encode("utf-8") for name, script in bundles().items()}


def write_assets(out_dir: Path) -> None:
    """Brings `assets/` of a site up to date; files that nothing loads any more go."""
    folder = out_dir / FOLDER
    folder.mkdir(exist_ok=True)
    for name, content in contents().items():
        write_bytes(folder / name, content)
    for path in folder.iterdir():
        if path.suffix in _KINDS and path.name not in contents():
            path.unlink(missing_ok=True)
