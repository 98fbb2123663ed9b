"""Figures and pages; reads the marts only."""
