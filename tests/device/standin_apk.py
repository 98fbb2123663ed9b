"""Small but real APK files: a zip with a binary AndroidManifest.xml, and the stand-in's behaviour beside it."""

import json
import struct
import zipfile
from xml.etree import ElementTree

_ANDROID = "http://schemas.android.com/apk/res/android"
_VERSION_CODE, _VERSION_NAME = 0x0101021B, 0x0101021C
_NONE = 0xFFFFFFFF
_TYPE_STRING, _TYPE_INT = 0x03, 0x10


def binary_manifest(package, version_name, version_code):
    """AndroidManifest.xml as aapt writes it (ResXMLTree): string pool, resource map, one `manifest` element."""
    strings = ["versionCode", "versionName", "package", "manifest", "android", _ANDROID, package, version_name]
    pool = _string_pool(strings)
    resource_map = _chunk(0x0180, struct.pack("<II", _VERSION_CODE, _VERSION_NAME))
    namespace = struct.pack("<IIII", 1, _NONE, 4, 5)
    attributes = (
        struct.pack("<IIIHBBI", 5, 0, _NONE, 8, 0, _TYPE_INT, version_code)
        + struct.pack("<IIIHBBI", 5, 1, 7, 8, 0, _TYPE_STRING, 7)
        + struct.pack("<IIIHBBI", _NONE, 2, 6, 8, 0, _TYPE_STRING, 6)
    )
    element = struct.pack("<IIIIHHHHHH", 1, _NONE, _NONE, 3, 20, 20, 3, 0, 0, 0) + attributes
    body = (
        pool
        + resource_map
        + _chunk(0x0100, namespace, header=16)
        + _chunk(0x0102, element, header=16)
        + _chunk(0x0103, struct.pack("<IIII", 1, _NONE, _NONE, 3), header=16)
        + _chunk(0x0101, namespace, header=16)
    )
    return _chunk(0x0003, body)


def binary_xml(text):
    """Any XML without namespaces as aapt writes it, texts and values of attributes as strings."""
    root = ElementTree.fromstring(text)
    strings = []

    def number(word):
        if word not in strings:
            strings.append(word)
        return strings.index(word)

    def element(node):
        attributes = b"".join(
            struct.pack("<IIIHBBI", _NONE, number(name), number(value), 8, 0, _TYPE_STRING, number(value))
            for name, value in node.items()
        )
        head = struct.pack("<IIIIHHHHHH", 1, _NONE, _NONE, number(node.tag), 20, 20, len(node.attrib), 0, 0, 0)
        body = _chunk(0x0102, head + attributes, header=16)
        if (node.text or "").strip():
            text = number(node.text.strip())
            body += _chunk(0x0104, struct.pack("<IIIHBBI", 1, _NONE, text, 8, 0, _TYPE_STRING, text), header=16)
        body += b"".join(element(child) for child in node)
        return body + _chunk(0x0103, struct.pack("<IIII", 1, _NONE, _NONE, number(node.tag)), header=16)

    body = element(root)
    return _chunk(0x0003, _string_pool(strings) + body)


def _chunk(kind, body, header=8):
    return struct.pack("<HHI", kind, header, 8 + len(body)) + body


def _string_pool(strings):
    data, offsets = b"", []
    for text in strings:
        offsets.append(len(data))
        encoded = text.encode("utf-16-le")
        data += struct.pack("<H", len(encoded) // 2) + encoded + b"\0\0"
    data += b"\0" * (-len(data) % 4)
    header = struct.pack("<IIIII", len(strings), 0, 0, 28 + 4 * len(strings), 0)
    return _chunk(0x0001, header + struct.pack(f"<{len(strings)}I", *offsets) + data, header=28)


def write_apk(path, *, package, version_name="1.0", version_code=1, behaviour=None):
    """An APK that the stand-in installs and runs; `behaviour` is described in `standin_shims`."""
    with zipfile.ZipFile(path, "w") as apk:
        apk.writestr("AndroidManifest.xml", binary_manifest(package, version_name, version_code))
        facts = {"package": package, "versionName": version_name, "versionCode": version_code, **(behaviour or {})}
        apk.writestr("assets/standin.json", json.dumps(facts))
    return path


def write_resources(path, text):
    """An APK of the framework's resources, or of an overlay of them, with a binary power_profile.xml."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as apk:
        apk.writestr("AndroidManifest.xml", binary_manifest("android", "14", 34))
        apk.writestr("res/xml/power_profile.xml", binary_xml(text))
    return path
