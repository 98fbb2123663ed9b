"""Figures for files, not for windows: matplotlib, imported by those who draw."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from perfreg_assets.named_files import write_named

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = ("png", "svg", "pdf")
"""That files are written in, the usual one first; matplotlib has more, which nobody looked at."""


def blank(width: float, height: float, *, dpi: int = 100) -> Figure:
    """An empty figure that is saved by the renderer of PNG files.

    Args:
        width, height: inches.
    """
    # Half a second of import, only for those who draw: most processes that load the assets do not.
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(width, height), dpi=dpi, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def as_png(figure: Figure) -> bytes:
    """The figure as a PNG file that names no program: the same figure gives the same bytes."""
    return _saved(figure, "png")


def require_kind(path: Path) -> None:
    """Checks that a picture of this name can be written; without a suffix it is a PNG.

    Raises:
        ValueError: in words: its suffix is of no kind that is written here.
    """
    if _kind(path) not in KINDS:
        raise ValueError(f"{path} is no name of a picture that is written here; end it in .png, .svg or .pdf")


def write(figure: Figure, path: Path) -> None:
    """PNG, SVG or PDF by the file's suffix; its folder is made.

    Raises:
        ValueError: as `require_kind`.
        Rejected: as `write_named`.
    """
    require_kind(path)
    write_named(path, _saved(figure, _kind(path)))


def _kind(path: Path) -> str:
    return path.suffix.removeprefix(".").lower() or KINDS[0]


def _saved(figure: Figure, kind: str) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        # Names of apps and screens may be in scripts that the font lacks: boxes stand for them.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        figure.savefig(buffer, format=kind, metadata={"Software": None} if kind == "png" else None)
    return buffer.getvalue()
