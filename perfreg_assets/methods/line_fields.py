"""What a line of a call log is made of, and what can become of one: shared by templates, scanner and kernels."""

import numpy as np

# Fields, in the order of what `Scanner` keeps. The first four are names.
TRANSACTION, SERVICE, LABEL, METHOD, ELAPSED, TIME = range(6)
NAME_KINDS = 4
IGNORED, NONE = 6, -1
"""A field that nobody reads; no field at all (the template begins or ends with a literal)."""

# What became of a line.
CALL, UNFIT, NAME_EMPTY, LABEL_INVALID, NUMBER_INVALID, DECIMAL_COMMA = range(6)
STATUS_COUNT = 6

MAX_LINE_BYTES = 1 << 16
"""So much of a line is looked at; longer ones are counted."""
NO_TIME = np.iinfo(np.int64).min
