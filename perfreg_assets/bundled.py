"""Where the files that ship beside the code are: SQL models, dagster.yaml, the recorded demo runs.

In a checkout (and an editable install) they lie at the repository's top; in a wheel they are copied into
the package (see `force-include` in pyproject.toml). This file is the only one that knows both places.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent


def _locate(in_wheel: str, in_checkout: str) -> Path:
    for candidate in (_PACKAGE / "_bundled" / in_wheel, _CHECKOUT / in_checkout):
        if candidate.exists():
            return candidate
    raise FileNotFoundError(f"the installation lacks {in_wheel}: install perfreg again from a complete checkout")


def sql_dir() -> Path:
    """Folder with `perfetto/`, `migrations/`, `marts/` and `examples/`."""
    return _locate("sql", "sql")


def dagster_yaml() -> Path:
    """The instance configuration that `perfreg ui` puts into a new Dagster home."""
    return _locate("dagster.yaml", "dagster.yaml")


def dictionary() -> Path:
    """The data dictionary of this release, as `perfreg dictionary` prints it of its warehouses."""
    return _locate("dictionary.md", "docs/dictionary.md")


def demo_runs_dir() -> Path:
    """The recorded runs that `perfreg demo` ingests."""
    return _locate("sessions", "tests/data/sessions")


def power_profiles_dir() -> Path:
    """power_profile.xml of devices, named by their code names."""
    return _locate("power_profiles", "power_profiles")


def evaluation_dataset() -> Path:
    """The simulated data set that quality is measured on by default."""
    return _locate("simulated_noise2.parquet", "tests/data/evaluation/simulated_noise2.parquet")


def docs_site() -> Path:
    """The documentation as a site, made when a checkout is installed (deploy/docs); need not exist."""
    return _PACKAGE / "_bundled" / "docs"
