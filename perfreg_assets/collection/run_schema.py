"""The JSON Schema of run.json, made from the model that checks it; docs/run.schema.json is what `python -m` writes.

For editors and validators. It cannot say all that reading checks: that `exploration` goes forward, that steps ascend,
that the trace is in the folder; a document that it refuses is refused by reading too.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from perfreg_assets.collection.run_json import RunDocument
from perfreg_assets.run import RUN_ID

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ABOUT = {
    "RunDocument": {
        "schema_version": "Version of this format.",
        "run_id": "Left out: the first 16 hex digits of the trace's SHA-256.",
        "app": "Android application id; the process name in the trace.",
        "version_name": "The version as its makers name it.",
        "version_code": "Android's integer version; ranks versions where all runs of the app state it.",
        "config": "C = (D, S, T, I): runs are comparable only when all four are the same.",
        "started_at": "ISO 8601 with a time zone; decides which runs are earlier.",
        "exploration": "The part of the recording that counts; left out: all of it.",
        "scenario": "What a script did: runs of one scenario are comparable without a path.",
        "path": "The steps in ascending order; decides which earlier runs are comparable.",
        "functional_problems": "[]: none were found. Left out: unknown, and the run is no reference for others.",
        "trace": "The trace's file name in the folder; .gz is read as it is.",
        "trace_bytes": "Checked when present.",
        "trace_sha256": "Checked when present.",
    },
    "_Config": {
        "device": "Model and Android version.",
        "strategy": "Which explorer, with what.",
        "time_limit_s": "Of the exploration, seconds.",
        "action_interval_s": "Between actions, seconds.",
        "unit": "Serial number of the very device; no part of C.",
    },
    "_Exploration": {
        "start_ns": "On the trace's clock (BOOTTIME).",
        "end_ns": "On the trace's clock, after start_ns.",
    },
    "_Step": {
        "step": "Left out: its place in the list.",
        "ts_ns": "When the action was sent, on the trace's clock.",
        "state_hash": "The state in which the action was sent.",
        "screen": "Its name.",
        "action": "What was done.",
        "screen_after": "Where it led, if that is known before the next step.",
        "state_hash_after": "The state that it led to.",
    },
    "_FunctionalProblem": {
        "kind": "crash, anr, native_crash, …",
        "message": "As the log has it.",
        "ts_ns": "When, on the trace's clock.",
    },
}


def run_schema() -> dict[str, Any]:
    """The schema, draft 2020-12. Keys that it does not name are allowed."""
    schema = RunDocument.model_json_schema(by_alias=True)
    parts = {"RunDocument": schema, **schema["$defs"]}
    for part, about in _ABOUT.items():
        for key in ("title", "description"):  # names of classes, and what they say to readers of the code
            parts[part].pop(key, None)
        for name, sentence in about.items():
            parts[part]["properties"][name]["description"] = sentence
            parts[part]["properties"][name].pop("title", None)
    # Reading numbers the steps that have no number, and takes null or "" for a run_id that is left out.
    parts["_Step"]["required"].remove("step")
    parts["_Step"]["properties"]["step"] = {
        "anyOf": [parts["_Step"]["properties"]["step"], {"type": "null"}],
        "description": _ABOUT["_Step"]["step"],
    }
    schema["properties"]["run_id"]["anyOf"][0]["pattern"] = f"^({RUN_ID.pattern})?$"
    return {"$schema": _DIALECT, **schema, "title": "run.json of a run folder"}


def main() -> None:
    """Writes the schema to stdout."""
    sys.stdout.write(json.dumps(run_schema(), indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
