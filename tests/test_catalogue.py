"""The catalogue of series: names, sources, axes and what spoils them."""

from __future__ import annotations

import re

import pytest

from perfreg_assets import catalogue
from perfreg_assets.catalogue import AXES, DATA_SOURCES, EVERYTHING, LOSS_COUNTERS, SERIES
from perfreg_assets.collection.perfetto_config import SOURCES


def test_names_are_unique_and_no_name_fits_two_definitions():
    names = [one.name for one in SERIES]
    assert len(names) == len(set(names))
    for one in SERIES:
        name = one.numbered(7)
        assert [other.name for other in SERIES if re.fullmatch(other.pattern, name)] == [one.name]
        assert (catalogue.definition_of(name).name, catalogue.definition_of(name).unit) == (name, one.unit)
        assert "<n>" not in catalogue.definition_of(name).label


def test_a_collection_can_record_the_sources_of_every_series():
    for one in SERIES:
        assert one.sources or one.kind == "scalar", one.name
        assert set(one.sources) <= set(SOURCES), one.name
    assert set(SOURCES) <= set(DATA_SOURCES)


def test_what_changes_the_load_is_asked_for_by_name():
    for axis in ("cpu", "memory", "frames", "io", "network", "gpu", "thermal", "energy"):
        sources = catalogue.sources_for([axis])
        assert sources, axis
        assert not [name for name in sources if DATA_SOURCES[name].changes_load]
    assert {"syscalls", "heap", "atrace"} <= {name for name, source in DATA_SOURCES.items() if source.changes_load}
    assert catalogue.sources_for(["io", "gpu"]) == ("sched", "io_wait", "block_io", "gpu")
    assert "process_stats" in catalogue.sources_for(["memory"])
    assert "heap" not in catalogue.sources_for(["memory"])


def test_an_unknown_axis_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="'memroy' is no axis; the known ones are " + ", ".join(AXES)):
        catalogue.sources_for(["cpu", "memroy"])


def test_every_loss_counter_spoils_data_sources_that_there_are():
    for counter in LOSS_COUNTERS:
        assert set(counter.spoils) <= {*DATA_SOURCES, EVERYTHING}, counter.prefix
        assert counter.why
    prefixes = [counter.prefix for counter in LOSS_COUNTERS]
    assert len(prefixes) == len(set(prefixes))
    assert catalogue.loss_counter("rss_stat_unknown_keys").spoils == ()  # the longest beginning decides
    assert catalogue.loss_counter("rss_stat_new").spoils == ("process_stats",)


def test_every_unit_of_a_series_is_shown_as_something():
    for one in SERIES:
        shown = catalogue.display_unit(one.unit)
        assert shown.axis
        assert shown.exact
        assert shown.factor > 0
