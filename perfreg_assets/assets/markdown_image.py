"""A picture inside a Markdown text, for Dagster's metadata."""

import base64

PNG, SVG = "image/png", "image/svg+xml"


def markdown_image(picture: bytes, alt: str, media_type: str) -> str:
    """The picture as part of the text; `alt` is kept from closing the brackets."""
    clean = alt.replace("\\", "").replace("[", "(").replace("]", ")").replace("\n", " ")
    return f"![{clean}](data:{media_type};base64,{base64.b64encode(picture).decode('ascii')})"
