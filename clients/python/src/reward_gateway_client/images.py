"""Images of trainers and data sets as data URLs, and their places in a prompt."""

import base64
import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import PurePath
from typing import Any

COLUMNS = ("images", "image", "multi_modal_data", "videos", "video", "audios", "audio")
"""Columns that hold media beside the prompt, as TRL, ms-swift, EasyR1, AReaL and verl name them."""

_IMAGE_TYPES = ("image", "image_url", "input_image")
_SOURCES = ("image", "image_url", "url", "bytes", "path", "base64", "data", "source", "file_id")
_PLACE = re.compile(r"(<image>|<video>|<audio>)")

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
)


def media_type(content: bytes) -> str | None:
    """The type of an image by its first bytes. None if it is no image that models read."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _MAGIC if content.startswith(magic)), None)


def data_url(content: bytes) -> str | None:
    """None if the bytes are no image."""
    kind = media_type(content)
    return kind and f"data:{kind};base64,{base64.b64encode(content).decode()}"


def is_picture(value: Any) -> bool:
    """Whether this is an image of PIL, which the client does not import."""
    return hasattr(value, "save") and hasattr(value, "getbbox") and hasattr(value, "mode")


def drawn(picture: Any) -> str:
    """An image of PIL as a data URL: PNG, which loses nothing."""
    stream = BytesIO()
    kept = picture if picture.mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I", "I;16") else picture.convert("RGB")
    kept.save(stream, format="PNG", compress_level=1)
    return f"data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}"


def is_file(value: Mapping[Any, Any]) -> bool:
    """Whether this is an image as data sets of Hugging Face keep it: `{"bytes": ..., "path": ...}`."""
    return isinstance(value.get("bytes"), (bytes, bytearray)) and set(value) <= {"bytes", "path"}


def read(source: Any) -> Any:
    """The content of a path that exists, as a data URL. Anything else unchanged."""
    if isinstance(source, PurePath):
        return read(str(source))
    if not isinstance(source, str) or len(source) > 4096 or source.startswith(("data:", "http://", "https://")):
        return source
    path = source.removeprefix("file://")
    if not os.path.isfile(path):
        return source
    with open(path, "rb") as file:
        return data_url(file.read()) or source


def with_files(prompt: Any) -> Any:
    """A prompt whose images are read: paths too, which are read nowhere else, because a policy can write one."""
    if isinstance(prompt, str) or not isinstance(prompt, Iterable):
        return prompt
    return [_with_files(message) for message in prompt]


def _with_files(message: Any) -> Any:
    content = message.get("content") if isinstance(message, Mapping) else None
    if content is None or isinstance(content, str) or not isinstance(content, Iterable):
        return message
    parts = list(content)
    if not any(is_image(part) for part in parts):
        return message
    return {**message, "content": [filled(part) if is_image(part) else part for part in parts]}


def image_part(source: Any) -> dict[str, Any]:
    """A part with an image of any form: an image of PIL, bytes, a path, a URL, or an object that holds one."""
    if isinstance(source, Mapping):
        return {"type": "image", **filled(source)}
    return {"type": "image", "image": read(source)}


def filled(part: Mapping[str, Any]) -> dict[str, Any]:
    """A part with its image read: verl's parts hold the bytes, the path and the opened image at once."""
    others = {key: value for key, value in part.items() if key not in _SOURCES and value is not None}
    for name in ("bytes", "image", "path", *_SOURCES):
        value = part.get(name)
        if value is not None:
            return {**others, name if name == "image_url" else "image": read(value)}
    return others


def is_image(part: Any) -> bool:
    """Whether this is a part for an image. Templates of Qwen also take parts that are only `{"image": ...}`."""
    if not isinstance(part, Mapping):
        return False
    return part.get("type") in _IMAGE_TYPES or ("type" not in part and part.get("image") is not None)


def handle_of(url: str) -> tuple[str, str] | None:
    """The SHA-256 of the bytes of a data URL, and the text by which parts refer to it. None for any other text."""
    head, comma, _ = url[:64].partition(";base64,")
    if not head.startswith("data:image/") or not comma:
        return None
    try:
        content = base64.b64decode(url[len(head) + len(comma) :], validate=True)
    except ValueError:
        return None
    found = hashlib.sha256(content).hexdigest()
    return found, f"sha256:{found}"


def columns_of(row: Mapping[str, Any]) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """The media of a row by kind (`image`, `video`, `audio`), and the row's other columns."""
    media: dict[str, list[Any]] = {"image": [], "video": [], "audio": []}
    rest = dict(row)
    for name in COLUMNS:
        value = rest.get(name)
        if name == "multi_modal_data" and isinstance(value, Mapping):
            inner, others = columns_of(value)
            for kind, found in inner.items():
                media[kind] += found
            rest.pop(name)
            if others:
                rest[name] = others
        elif value is None:
            rest.pop(name, None)
        elif all(_is_medium(one) for one in _listed(value)):
            media[name.rstrip("s")] += _listed(value)
            rest.pop(name)
    return media, rest


def _is_medium(value: Any) -> bool:
    """A column `image` of another meaning, such as a container's name, stays a column."""
    if not isinstance(value, (str, PurePath)):
        return not isinstance(value, (bool, int, float))
    text = str(value)
    return len(text) > 4096 or text.startswith(("data:", "http://", "https://", "file://")) or os.path.isfile(text)


def _listed(value: Any) -> list[Any]:
    is_list = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
    if not is_list and type(value).__module__ == "numpy" and getattr(value, "ndim", 0) == 1:
        is_list, value = True, list(value)
    return list(value) if is_list else [value]


def with_media(prompt: Any, media: Mapping[str, Iterable[Any]]) -> Any:
    """A prompt with the media of its columns in their places: parts without a source, and `<image>` in texts. What has
    no place comes before the last turn of the user, and what is in the prompt already is not added again. Sound and
    film are named only, so that a reward that cannot see them says so."""
    left = {kind: list(found) for kind, found in media.items()}
    if not any(left.values()):
        return prompt
    turns = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    messages: list[dict[str, Any]] = [dict(one) for one in turns]
    known = sum(_is_filled(part) for message in messages for part in _parts(message.get("content")))
    for message in messages:
        if message.get("role") != "assistant":
            message["content"] = _placed(message.get("content"), left)
    rest = [_part(kind, source) for kind, found in left.items() for source in found[known if kind == "image" else 0 :]]
    if rest:
        asked = next((one for one in reversed(messages) if one.get("role") == "user"), None)
        if asked is None:
            messages.append({"role": "user", "content": rest})
        else:
            asked["content"] = [*rest, *_parts(asked.get("content"))]
    return messages


def _parts(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content) if content is not None else []


def _is_filled(part: Any) -> bool:
    return is_image(part) and any(part.get(name) is not None for name in _SOURCES)


def _part(kind: str, source: Any) -> dict[str, Any]:
    return image_part(source) if kind == "image" else {"type": kind}


def _placed(content: Any, left: dict[str, list[Any]]) -> Any:
    if isinstance(content, str):
        if not _PLACE.search(content):
            return content
        pieces = [piece for piece in _PLACE.split(content) if piece]
        return [_next(piece[1:-1], left, _text(piece)) for piece in pieces]
    return [
        {**part, **_next("image", left, part)} if is_image(part) and not _is_filled(part) else part
        for part in _parts(content)
    ]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _next(kind: str, left: dict[str, list[Any]], otherwise: Any) -> Any:
    found = left.get(kind)
    return _part(kind, found.pop(0)) if found else otherwise
