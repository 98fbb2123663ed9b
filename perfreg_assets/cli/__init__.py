"""`perfreg …`: thin; each command calls the functions that the assets call, and shows what came of it."""

from perfreg_assets.cli import (
    benchmark_compare,
    benchmark_run,
    benchmarks,
    causes,
    collecting,
    comparing,
    energy,
    exporting,
    health,
    importing,
    ingesting,
    inspecting,
    judging,
    notifying,
    quality,
    reading,
    reduction,
    servers,
    spreading,
)
from perfreg_assets.cli.process import run
from perfreg_assets.cli.root import main

__all__ = [
    "benchmark_compare",
    "benchmark_run",
    "benchmarks",
    "causes",
    "collecting",
    "comparing",
    "energy",
    "exporting",
    "health",
    "importing",
    "ingesting",
    "inspecting",
    "judging",
    "main",
    "notifying",
    "quality",
    "reading",
    "reduction",
    "run",
    "servers",
    "spreading",
]
