"""Performance regressions of mobile apps, found, placed and explained."""

__version__ = "0.1.0"
