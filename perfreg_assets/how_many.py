"""A count with what is counted: 1 run, 3 runs."""


def how_many(count: int, noun: str, plural: str | None = None) -> str:
    """Thousands are set apart: 12,345 runs.

    Args:
        noun: in the singular.
        plural: where it is not the singular with an s.
    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
