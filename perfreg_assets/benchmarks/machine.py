"""Where a suite's programs run: this machine, or a device over adb."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from perfreg_assets.benchmarks.suite import Configured, Suite
from perfreg_assets.methods.adequacy import Caveat


class Programs(Protocol):
    """The programs of one suite, compiled and brought there when they are first needed."""

    def launch(self, one: Configured) -> str:
        """What one launch of a benchmark wrote: lines of the protocol, or the document of a tool.

        Raises:
            Rejected: a reason why there is no result; other benchmarks go on.
        """

    def close(self) -> None:
        """Removes what was made for them."""


class Machine(Protocol):
    """A place to measure.

    Attributes:
        name: the device's, in results.
        environment: what else there is to know of it.
    """

    @property
    def name(self) -> str: ...

    @property
    def environment(self) -> Mapping[str, Any]: ...

    def programs(self, suite: Suite) -> Programs: ...

    def caveats(self) -> list[Caveat]:
        """What is wrong there just now: hot, an emulator, …"""


class Ended(Protocol):
    """How a command on a device ended; `text` is what it wrote, `error_text` the end of its stderr on one line."""

    @property
    def returncode(self) -> int: ...

    @property
    def text(self) -> str: ...

    @property
    def error_text(self) -> str: ...


class Remote(Protocol):
    """A device as runners use it; whatever is put or started there is removed and ended with the session.

    Attributes:
        name: model and release.
        sdk: API level.
        folder: on the device, ours alone.
    """

    @property
    def name(self) -> str: ...

    @property
    def environment(self) -> Mapping[str, Any]: ...

    @property
    def sdk(self) -> int: ...

    @property
    def folder(self) -> str: ...

    def caveats(self) -> list[Caveat]: ...

    def put(self, source: Path, name: str) -> str:
        """Copies a file into the folder, under a relative name; its path there. Executable files stay so."""

    def run(self, argv: Sequence[str], *, timeout_s: float, inside: str) -> Ended:
        """Runs a command in a folder of the device.

        Raises:
            Rejected: BENCHMARK_TIMEOUT; DEVICE_LOST and the like: it was waited for.
        """

    def output_folder(self, package: str) -> str:
        """A new folder into which an app of the device may write."""

    def documents(self, folder: str, ending: str) -> list[str]:
        """The texts of the files in a folder whose names end so, in order of their names; they are removed there."""

    def will_run(self, package: str) -> None:
        """Notes that an app is started, to be stopped whatever happens."""

    def stop(self, package: str) -> None:
        """Ends an app that was started; one that has ended is fine. While the device is away the session's end does."""
