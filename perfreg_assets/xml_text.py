"""Reading XML by expat, with one error for whatever is wrong with the text."""

from __future__ import annotations

from xml.parsers import expat


class XmlError(Exception):
    """The text is no XML that can be read; `str()` says where and why."""


def parse(parser: expat.XMLParserType, content: bytes) -> None:
    """Feeds all of a document to a parser; what its handlers raise goes through.

    Raises:
        XmlError: it is not well-formed, or declares an encoding that expat and Python do not read.
    """
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise XmlError(f"line {error.lineno}: {expat.ErrorString(error.code)}") from error
    except (LookupError, ValueError) as error:  # of Python's codecs, which expat asks for what it does not know itself
        before = content[: parser.CurrentByteIndex].replace(b"\0", b"")  # in UTF-16 every other byte is one
        if b"<?xml" not in before or b"?>" in before:
            raise
        raise XmlError(f"line 1: its encoding is not read ({error}); write it as UTF-8"[:300]) from error
