"""Devices that share a chip, by code names: what is known of one's frequencies holds for the others.

From the device trees of AOSP and LineageOS; of every chip one device at least has a profile that perfreg brings.
"""

from __future__ import annotations

_CHIPS = (
    frozenset({"oriole", "raven", "bluejay"}),  # gs101
    frozenset({"panther", "cheetah", "lynx", "tangorpro", "felix"}),  # gs201
    frozenset({"flame", "coral"}),  # sm8150
    frozenset({"marlin", "sailfish"}),  # msm8996
)


def of_same_chip(device: str) -> frozenset[str]:
    """The code names of a device's chip, its own among them; empty where the chip is not known."""
    return next((names for names in _CHIPS if device in names), frozenset())
