"""`python -m perfreg_assets.cli`."""

from perfreg_assets.cli import run

run()
