"""Names of processes and threads as they are compared between runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from perfreg_assets.methods.thread_times import entity_name
from perfreg_assets.traces.contents import TraceContents
from perfreg_assets.traces.processes import app_threads, find_app


@dataclass(frozen=True)
class Names:
    """Of one trace: who is the app's, and what threads and processes are called (see `entity_name`)."""

    contents: TraceContents
    app: str

    def thread(self, utid: int | None) -> tuple[bool, str, str]:
        """Whether it is the app's, and the names of process and thread."""
        upid, name = self._threads.get(utid, (None, None))
        process = self._orphans.get(utid) or self._of_app.get(upid) or self._processes.get(upid)
        return utid in self._utids, entity_name(process), entity_name(name)

    def process(self, upid: int | None) -> tuple[bool, str]:
        """Whether it is the app's, and its name."""
        return upid in self._of_app, entity_name(self._of_app.get(upid) or self._processes.get(upid))

    @property
    def app_utids(self) -> list[int]:
        """The app's threads."""
        return sorted(utid for utid in self._utids if utid is not None)

    @cached_property
    def _app(self) -> tuple[dict[int | None, str], dict[int | None, str], set[int | None]]:
        upids: dict[int | None, str] = {}
        orphans: dict[int | None, str] = {}
        processes = find_app(self.contents.processes, self.contents.threads, self.app)
        for process in processes:
            upids |= dict.fromkeys(process.upids, process.name)
            orphans |= dict.fromkeys(process.orphans, process.name)
        return upids, orphans, set(app_threads(self.contents.threads, processes))

    @property
    def _of_app(self) -> dict[int | None, str]:
        return self._app[0]

    @property
    def _orphans(self) -> dict[int | None, str]:
        return self._app[1]

    @property
    def _utids(self) -> set[int | None]:
        return self._app[2]

    @cached_property
    def _processes(self) -> dict[int | None, str | None]:
        processes = self.contents.processes
        return dict(zip(processes["upid"].tolist(), processes["name"], strict=True))

    @cached_property
    def _threads(self) -> dict[int | None, tuple[int | None, str | None]]:
        threads = self.contents.threads
        places = zip(threads["upid"].tolist(), threads["name"], strict=True)
        return dict(zip(threads["utid"].tolist(), places, strict=True))
