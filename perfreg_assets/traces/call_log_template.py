"""What a line with a method call looks like: a template of literals and fields, or a regular expression.

`{_} PERF tx={transaction} svc={service} {label} {method} elapsed={elapsed_ms}ms`: each field is the shortest text up to
what follows it, `{_}` is ignored, and what comes behind the last literal is too. A text with named groups,
`(?P<label>…)`, is a regular expression with the same names, for what literals cannot say; it is searched for in every
line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from perfreg_assets.methods.line_fields import ELAPSED, IGNORED, LABEL, METHOD, NONE, SERVICE, TIME, TRANSACTION
from perfreg_assets.methods.line_scanner import Layout
from perfreg_assets.reasons import Reason, Rejected

DEFAULT_TEMPLATE = "{_} PERF tx={transaction} svc={service} {label} {method} elapsed={elapsed_ms}ms"

ELAPSED_UNITS_MS = {"elapsed_ms": 1.0, "elapsed_s": 1e3, "elapsed_us": 1e-3, "elapsed_ns": 1e-6}
_KINDS = {
    "transaction": TRANSACTION,
    "service": SERVICE,
    "label": LABEL,
    "method": METHOD,
    "time": TIME,
    "_": IGNORED,
    **dict.fromkeys(ELAPSED_UNITS_MS, ELAPSED),
}
_NEEDED = ("transaction", "label", "method")
_FIELD = re.compile(r"\{(\w*)\}")


@dataclass(frozen=True)
class Template:
    """How to read a line.

    Attributes:
        text: as given.
        pattern: the regular expression on bytes that says the same; groups by `group_of`.
        layout: for the scanner; None where only the regular expression can say it.
        elapsed_field: name of the field of the elapsed time.
        ends_open: the last field reaches to the line's end, so a line cut short cannot be told from a whole one.
    """

    text: str
    pattern: re.Pattern[bytes]
    layout: Layout | None
    elapsed_field: str
    ends_open: bool

    @property
    def elapsed_unit_ms(self) -> float:
        return ELAPSED_UNITS_MS[self.elapsed_field]


def parse_template(text: str = DEFAULT_TEMPLATE) -> Template:
    """Reads a template.

    Raises:
        Rejected: CALL_LOG_TEMPLATE_INVALID.
    """
    return _regular_expression(text) if "(?P<" in text else _of_literals(text)


def _of_literals(text: str) -> Template:
    parts = _FIELD.split(text)  # literal, field, literal, …, literal
    literals, fields = parts[0::2], parts[1::2]
    for name in fields:
        if name not in _KINDS:
            raise _invalid(text, f"{{{name}}} is no field; the fields are {', '.join(_KINDS)}")
    if "" in literals[1:-1]:
        raise _invalid(text, "two fields stand side by side; put a text between them")
    elapsed = _checked(text, fields)
    kinds = [_KINDS[name] for name in fields]
    if literals[0]:
        kinds.insert(0, NONE)
    if literals[-1]:
        kinds.append(NONE)
    written = [literal.encode() for literal in literals if literal]
    if not written:
        raise _invalid(text, "it has no text to find a call by")
    groups = "".join(
        re.escape(literal) + (_group(name, is_last=position == len(fields) - 1 and not literals[-1]) if name else "")
        for position, (literal, name) in enumerate(zip(literals, [*fields, ""], strict=True))
    )
    bounds = np.cumsum([0, *(len(one) for one in written)]).astype(np.int64)
    layout = Layout(
        np.frombuffer(b"".join(written), np.uint8),
        bounds,
        np.array(kinds, np.int64),
        ELAPSED_UNITS_MS[elapsed],
    )
    pattern = re.compile((r"\A" + groups).encode(), re.DOTALL)
    return Template(text, pattern, layout, elapsed, ends_open=kinds[-1] not in (NONE, IGNORED))


def _group(name: str, *, is_last: bool) -> str:
    shortest = ".*" if is_last else ".*?"
    return f"(?:{shortest})" if name == "_" else f"(?P<{name}>{shortest})"


def _regular_expression(text: str) -> Template:
    try:
        pattern = re.compile(text.encode())
    except re.error as error:
        raise _invalid(text, f"the regular expression has a mistake ({error})") from error
    names = sorted(pattern.groupindex)
    for name in names:
        if name not in _KINDS:
            raise _invalid(text, f"group {name} is no field; the fields are {', '.join(_KINDS)}")
    # Whether an expression could also match a line that was cut short is not known: such a line is left out.
    return Template(text, pattern, None, _checked(text, names), ends_open=True)


def _checked(text: str, names: list[str]) -> str:
    """The name of the elapsed time's field."""
    read = [name for name in names if name != "_"]
    double = sorted({name for name in read if read.count(name) > 1})
    if double:
        raise _invalid(text, f"field {double[0]} stands twice")
    missing = [name for name in _NEEDED if name not in read]
    elapsed = [name for name in read if name in ELAPSED_UNITS_MS]
    if not elapsed:
        missing.append("elapsed_ms")
    if missing:
        raise _invalid(text, f"there is no {{{missing[0]}}}")
    if len(elapsed) > 1:
        raise _invalid(text, f"{elapsed[0]} and {elapsed[1]} are the same time twice")
    return elapsed[0]


def _invalid(text: str, what: str) -> Rejected:
    return Rejected(Reason.CALL_LOG_TEMPLATE_INVALID, f"template '{text}': {what}")
