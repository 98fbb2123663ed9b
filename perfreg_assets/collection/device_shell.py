"""What becomes shell text on a device: quoted arguments, and fixed scripts (POSIX sh, toybox) with data as `$1`, …"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from perfreg_assets.reasons import Reason, Rejected

BACKGROUND = (
    'log=$1; shift; command -v "$1" >/dev/null || { echo "$1: not found" >&2; exit 127; }; '
    # Asked again after a lost connection: the one that was started then is the one.
    'old=$(cat "$log.pid" 2>/dev/null); [ -n "$old" ] && kill -0 "$old" 2>/dev/null && { echo "$old"; exit 0; }; '
    'setsid sh -c \'log=$1; shift; "$@"; echo $? >"$log.rc.part"; mv "$log.rc.part" "$log.rc"\' sh "$log" "$@" '
    '</dev/null >"$log" 2>&1 & echo $! >"$log.pid"; echo $!'
)
_STATE_OF = (
    # A process that has ended and is not reaped yet is still there for kill, and may be gone after any look at it:
    # the state is read once, and only where nothing could be read it is asked whether the process is there at all.
    'state_of() { s=$(sed -n "s/^State:[[:space:]]*//p" "/proc/$1/status" 2>/dev/null | cut -c1); '
    '[ -n "$s" ] || { [ -e "/proc/$1" ] && s=unknown; }; echo "$s"; }; '
)
POLL_BACKGROUND = _STATE_OF + (
    # The return code is looked for before the process: the other way round a process that ends in between is lost.
    'rc=$(cat "$1.rc" 2>/dev/null); if [ -n "$rc" ]; then echo "$rc"; '
    'elif case "$(state_of "$3")" in ""|[ZX]) false;; esac; then echo running; '
    'else rc=$(cat "$1.rc" 2>/dev/null); echo "${rc:-gone}"; fi; tail -c "+$2" "$1" 2>/dev/null'
)
PROCESS_STATE = _STATE_OF + 'state_of "$1"'
_KILL = (
    # `kill -TERM -- -PID` is an error in some shells; this spelling is POSIX's.
    'end() { kill -s "$1" -- "-$2" 2>/dev/null; kill -s "$1" "$2" 2>/dev/null; true; }; '
)
SIGNAL = _KILL + 'end "$1" "$2"'
END = _KILL + 'end TERM "$1"; for i in 1 2 3 4 5; do kill -0 "$1" 2>/dev/null || break; sleep 0.1; done; end KILL "$1"'
MARKED = (
    # The searching shell carries the token itself: it and what it starts are left out.
    'for f in $(grep -l -s -z -x -F -e "$1" /proc/[0-9]*/environ); do p=${f#/proc/}; p=${p%/environ}; '
    'stat=$(cat "/proc/$p/stat" 2>/dev/null) || continue; set -- ${stat##*) }; '
    '[ "$p" = "$$" ] || [ "$2" = "$$" ] || [ "$1" = Z ] || echo "$p"; done'
)
END_BY_ARGUMENT = (
    # By one whole argument, which this shell has as well.
    'for f in $(grep -l -s -z -x -F -e "$1" /proc/[0-9]*/cmdline); do p=${f#/proc/}; p=${p%/cmdline}; '
    '[ "$p" = "$$" ] || kill -s TERM "$p" 2>/dev/null; done; true'
)
REMOVE = 'rm -rf -- "$1" 2>/dev/null; [ ! -e "$1" ]'
CLOCKS = "cat /proc/uptime; date +%s.%N"


def quote_command(argv: Sequence[str]) -> str:
    """Shell text that makes the device's `sh` see exactly these arguments.

    Raises:
        Rejected: COLLECTION_CONFIG_INVALID, an argument holds NUL or half of a surrogate pair.
    """
    for part in argv:
        if "\0" in part or not _is_unicode(part):
            raise Rejected(Reason.COLLECTION_CONFIG_INVALID, f"{part[:80]!r} cannot be an argument of a command")
    return shlex.join(argv)


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
