"""What the thesis printed (Mikhaltsov 2023, tables 5 and 6), to stand beside measured figures."""

from __future__ import annotations

from typing import Any

# ω: (tp, tn, fp, fn) of 6300 cases. They are 3 apps · (19 + 19) · 30 · 1 series + 3 apps · (8 + 8) · 30 · 2 series:
# p_A is 2, not the printed 3, which would make 7740.
VERDICTS = {
    0.0: (2500, 1669, 1481, 650),
    0.5: (2169, 2094, 1056, 981),
    1.0: (1979, 2396, 754, 1171),
    1.5: (1688, 2550, 600, 1462),
}
# app: (tp, fp, fn) of injected events, 12 runs by 3 people
EVENTS = {"RedReader": (95, 31, 5), "Forecastie": (110, 18, 0), "OmniNotes": (84, 33, 0)}


def verdict_rows() -> list[dict[str, Any]]:
    """The printed counts with the figures that follow from them (the thesis prints no false-positive rate)."""
    rows = []
    for omega, (tp, tn, fp, fn) in VERDICTS.items():
        rows.append(
            {
                "omega": omega,
                "tp": tp,
                "tn": tn,
                "fp": fp,
                "fn": fn,
                "precision": tp / (tp + fp),
                "recall": tp / (tp + fn),
                "f1": 2 * tp / (2 * tp + fp + fn),
                "false_positive_rate": fp / (fp + tn),
                "mcc": (tp * tn - fp * fn) / ((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)) ** 0.5,
            }
        )
    return rows


def event_row() -> dict[str, Any]:
    """The printed events of all apps together."""
    tp, fp, fn = (sum(counts[index] for counts in EVENTS.values()) for index in range(3))
    precision, recall = tp / (tp + fp), tp / (tp + fn)
    return {"precision": precision, "recall": recall, "f1": 2 * precision * recall / (precision + recall)}
