"""Reading XML by expat."""

from __future__ import annotations

from xml.parsers import expat

import pytest

from perfreg_assets.xml_text import XmlError, parse


@pytest.mark.parametrize("declaration", [b"", b'<?xml version="1.0"?>'])
def test_what_a_handler_raises_is_its_own(declaration):
    def fail(*_):
        raise ValueError("of the handler")

    parser = expat.ParserCreate()
    parser.StartElementHandler = fail
    with pytest.raises(ValueError, match="of the handler"):
        parse(parser, declaration + b"<a/>")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"<a>\n</b>", "line 2: mismatched tag"),
        (b'<?xml version="1.0" encoding="gb2312"?><a/>', "line 1: its encoding is not read"),
        (b'<?xml version="1.0" encoding="no-such"?><a/>', "unknown encoding: no-such"),
        ('<?xml version="1.0" encoding="no-such"?><a/>'.encode("utf-16"), "line 1: "),
    ],
)
def test_what_is_wrong_with_a_text_is_one_error_with_its_line(content, words):
    with pytest.raises(XmlError, match=words):
        parse(expat.ParserCreate(), content)
