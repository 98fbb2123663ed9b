"""`perfreg …`: thin; each command calls the functions that the assets call, and shows what came of it."""

from perfreg_assets.cli import (
    benchmarks,
    causes,
    collecting,
    energy,
    health,
    ingesting,
    judging,
    quality,
    reading,
    reduction,
    servers,
    spreading,
)
from perfreg_assets.cli.process import run
from perfreg_assets.cli.root import main

__all__ = [
    "benchmarks",
    "causes",
    "collecting",
    "energy",
    "health",
    "ingesting",
    "judging",
    "main",
    "quality",
    "reading",
    "reduction",
    "run",
    "servers",
    "spreading",
]
