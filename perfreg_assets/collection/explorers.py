"""The explorers by name.

| name | runs | path from |
|---|---|---|
| monkey | Android's own, on the device, seeded | the screen's hierarchy and activity at each interval |
| droidbot | DroidBot (MIT) on this computer | its `events/` and `states/` files |
| fastbot2 | Fastbot2, the operator's own copy: its licence forbids passing it on | names of its step files |
| command | any program | the JSON lines it writes |
"""

from __future__ import annotations

from collections.abc import Callable

from perfreg_assets.collection.config import CollectionConfig
from perfreg_assets.collection.exploration import Explorer, ExplorerContext, options_of
from perfreg_assets.collection.explorer_command import CommandExplorer
from perfreg_assets.collection.explorer_droidbot import DroidBotExplorer, droidbot_options
from perfreg_assets.collection.explorer_fastbot import Fastbot2Explorer
from perfreg_assets.collection.explorer_monkey import MonkeyExplorer, monkey_options

EXPLORERS: dict[str, Callable[[ExplorerContext], Explorer]] = {
    "monkey": MonkeyExplorer,
    "droidbot": DroidBotExplorer,
    "fastbot2": Fastbot2Explorer,
    "command": CommandExplorer,
}


def make_explorer(context: ExplorerContext) -> Explorer:
    """The configured explorer, not started yet.

    Raises:
        Rejected: COLLECTION_CONFIG_INVALID, an option of it is not known or not usable.
    """
    return EXPLORERS[context.config.explorer](context)


_OPTIONS: dict[str, Callable[[CollectionConfig], object]] = {"monkey": monkey_options, "droidbot": droidbot_options}


def check_options(config: CollectionConfig) -> None:
    """Refuses options that the configured explorer does not have or cannot use, without a device.

    Raises:
        Rejected: COLLECTION_CONFIG_INVALID.
    """
    _OPTIONS.get(config.explorer, _no_options)(config)


def _no_options(config: CollectionConfig) -> None:
    options_of(config, {})
