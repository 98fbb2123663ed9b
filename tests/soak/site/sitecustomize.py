"""First on the PYTHONPATH of a process that may die at a named point: Python imports it before anything else."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import points

points.install()
sys.path.pop(0)
