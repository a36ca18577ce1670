"""Writes the requests of a /v1/score call and reads their responses. The clients only transfer them."""

import hashlib
import json
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from .errors import CursorLost, GatewayRefused
from .images import columns_of, handle_of, is_image, with_files, with_media
from .plain import plain, to_json
from .result import Result
from .sample import SampleLike

GROUP_HEADER = "x-reward-gateway-group"
"""Sent if all samples of a request belong to one group, so that a load balancer can keep the group on one replica."""

PATH = "/v1/score"


MAX_BODY_BYTES = 12 * 2**20
"""A longer call is sent as several requests. The gateway's own limit, `limits.max_body_bytes`, is 16 MiB by default."""


@dataclass(frozen=True, slots=True)
class Row:
    """A sample of a call as JSON."""

    place: int
    """Its index in the call."""
    text: bytes
    group: object
    """Equal for answers that the gateway compares with each other."""
    fields: Mapping[str, Any]
    """Its id and its place in its group, as far as they are known."""
    images: Mapping[str, str]
    """The images that it shares with other samples: data URLs by their hash."""

    def with_fields(self, **fields: Any) -> "Row":
        """The same sample with these fields where it has none of its own."""
        added = {name: value for name, value in fields.items() if name not in self.fields}
        if not added:
            return self
        return replace(self, text=to_json(added)[:-1] + b"," + self.text[1:], fields={**self.fields, **added})


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request for some of a call's samples."""

    headers: Mapping[str, str]
    rows: Sequence[Row]
    envelope: tuple[bytes, bytes]
    """What stands before and after the samples."""

    @property
    def body(self) -> bytes:
        begin, end = self.envelope
        images = {name: url for row in self.rows for name, url in row.images.items()}
        shared = b',"images":' + to_json(images) if images else b""
        return begin + b",".join(row.text for row in self.rows) + b"]" + shared + end

    def parts(self, most: int) -> "Sequence[Exchange]":
        """The same samples in requests of at most so many bytes each, or of one sample."""
        bodies = packed(self.rows, most - sum(map(len, self.envelope)) - 16)
        if len(bodies) > 1:
            bodies = told_apart(bodies)
        return [replace(self, rows=body, headers={**self.headers, **group_header(body)}) for body in bodies]

    def halves(self) -> "Sequence[Exchange]":
        whole = sum(len(row.text) for row in self.rows) + images_size(self.rows, ())
        return self.parts(sum(map(len, self.envelope)) + whole // 2 + 17)


def exchanges_of(
    samples: Iterable[SampleLike],
    reward: str,
    training_step: int | None,
    run: str | None,
    *,
    stream: bool,
    max_body_bytes: int = MAX_BODY_BYTES,
) -> Sequence[Exchange]:
    """Builds the requests of a call, usually one. Raises ValueError if there are no samples."""
    given = list(samples)
    if not given:
        raise ValueError("no samples")
    pictures: dict[int, str] = {}
    fields = [fields_of(sample, pictures) for sample in given]
    handles = shared_images(fields)
    rows = [row_of(one, place, handles) for place, one in enumerate(fields)]
    after: dict[str, Any] = {}
    if training_step is not None:
        after["training_step"] = training_step
    if run is not None:
        after["run"] = run
    end = b"," + to_json(after)[1:] if after else b"}"
    envelope = (b'{"reward":' + to_json(reward) + b',"samples":[', end)
    headers = {"content-type": "application/json", **({"accept": "application/x-ndjson"} if stream else {})}
    return Exchange(headers, rows, envelope).parts(max_body_bytes)


_PLACES = ("id", "group_id", "group_index", "group_size")


def fields_of(sample: SampleLike, pictures: dict[int, str]) -> dict[str, Any]:
    """A sample as plain data, with the images of its prompt. `pictures` keeps what was drawn."""
    fields = {name: value for name, value in sample.items() if name not in _PLACES or value is not None}
    images = fields.pop("images", None)
    if images is not None:
        fields["prompt"] = with_media(fields.get("prompt", ""), columns_of({"images": images})[0])
    if "prompt" in fields:
        fields["prompt"] = with_files(fields["prompt"])
    whole: dict[str, Any] = plain(fields, pictures)
    return whole


def shared_images(samples: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, str]]:
    """The images that several samples hold, by their data URL: the hash, and the text that refers to it."""
    counts: Counter[str] = Counter()
    for sample in samples:
        counts.update({url for part in image_parts(sample) for url in part.values() if isinstance(url, str)})
    found = {url: handle_of(url) for url, count in counts.items() if count > 1 and len(url) > 1024}
    return {url: handle for url, handle in found.items() if handle is not None}


def image_parts(sample: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Where the images of a sample are: the objects whose values are their addresses."""
    for name in ("prompt", "response"):
        messages = sample.get(name)
        for message in messages if isinstance(messages, list) else ():
            content = message.get("content") if isinstance(message, dict) else None
            for part in content if isinstance(content, list) else ():
                if is_image(part):
                    yield part
                    yield from (value for value in part.values() if isinstance(value, dict))


def row_of(whole: Mapping[str, Any], place: int, handles: Mapping[str, tuple[str, str]]) -> Row:
    images: dict[str, str] = {}
    for part in image_parts(whole) if handles else ():
        for name, url in part.items():
            if isinstance(url, str) and url in handles:
                images[handles[url][0]] = url
                part[name] = handles[url][1]
    known = {name: whole[name] for name in _PLACES if name in whole}
    group: object = known.get("group_id")
    if group is None:
        # Without a prompt, a row is in no group.
        asked = to_json([whole["prompt"], whole.get("ground_truth")]) if whole.get("prompt") else str(place).encode()
        group = hashlib.sha256(asked).digest()
    return Row(place, to_json(whole), group, known, images)


def images_size(rows: Iterable[Row], known: Container[str]) -> int:
    """The bytes of the images that these rows add to a body."""
    return sum(
        len(name) + len(url) + 6
        for name, url in {name: url for row in rows for name, url in row.images.items()}.items()
        if name not in known
    )


def packed(rows: Sequence[Row], most: int) -> list[list[Row]]:
    """Rows in bodies of at most so many bytes. A group is split only if it does not fit into one."""
    groups: dict[object, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    bodies: list[list[Row]] = [[]]
    size = 0
    images: set[str] = set()
    for group in groups.values():
        whole = sum(len(row.text) + 1 for row in group)
        fits = whole + images_size(group, ()) <= most
        for at, row in enumerate(group):
            begins = at == 0 and fits
            needed = whole + images_size(group, images) if begins else len(row.text) + 1 + images_size([row], images)
            if bodies[-1] and size + needed > most:
                bodies.append([])
                size = 0
                images.clear()
            size += len(row.text) + 1 + images_size([row], images)
            images.update(row.images)
            bodies[-1].append(row)
    return [sorted(body, key=lambda row: row.place) for body in bodies]


def told_apart(bodies: Sequence[Sequence[Row]]) -> list[list[Row]]:
    """Samples keep their index as their id. Those of a group that several bodies hold say which answer of it they are,
    so that the gateway joins them again; it waits for the others as long as the reward's `group.wait_s` says."""
    homes: dict[object, set[int]] = {}
    sizes: Counter[object] = Counter()
    for home, body in enumerate(bodies):
        for row in body:
            homes.setdefault(row.group, set()).add(home)
            sizes[row.group] += 1
    seen: Counter[object] = Counter()
    told: list[list[Row]] = []
    for body in bodies:
        told.append([])
        for row in body:
            one = row.with_fields(id=str(row.place))
            if len(homes[row.group]) > 1:
                group = row.group.hex() if isinstance(row.group, bytes) else row.group
                one = one.with_fields(group_id=group, group_index=seen[row.group], group_size=sizes[row.group])
                seen[row.group] += 1
            told[-1].append(one)
    return told


def group_header(rows: Sequence[Row]) -> dict[str, str]:
    groups = {row.fields.get("group_id") for row in rows}
    return header_of_group(groups.pop() if len(groups) == 1 else None)


def header_of_group(group: object) -> dict[str, str]:
    """None: any replica may answer the request."""
    return {} if group is None else {GROUP_HEADER: quote(str(group), safe="")[:256]}


def read_results(content: bytes, count: int) -> list[Result]:
    """Raises GatewayRefused unless the response has one result per sample."""
    try:
        results = [Result.read(row) for row in json.loads(content)["results"]]
    except (KeyError, TypeError, ValueError) as error:
        raise not_a_gateway(content) from error
    if len(results) != count:
        raise GatewayRefused(f"{len(results)} results for {count} samples", status=200)
    return results


def read_line(line: bytes) -> tuple[int, Result]:
    """Reads a line of a stream: index and result. Raises GatewayRefused for a line with an error, ValueError for an
    incomplete one."""
    row = json.loads(line)
    if "error" in row:
        raise refusal(200, line)
    try:
        return row["index"], Result.read(row)
    except (KeyError, TypeError) as error:
        raise not_a_gateway(line) from error


def refusal(status: int, content: bytes) -> GatewayRefused:
    """Turns an error response, of the gateway or another server, into an exception."""
    try:
        error = json.loads(content)["error"]
        problems = error.get("problems", [])
        places = "".join(f"\n  {problem['path']}: {problem['message']}" for problem in problems)
        if error["code"] == "RG_CURSOR_UNKNOWN":
            return cursor_lost(error, status)
        return GatewayRefused(
            f"{error['code']}: {error['message']}{places}",
            status=status,
            code=error["code"],
            problems=problems,
            request_id=error.get("request_id"),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return not_a_gateway(content, status)


def cursor_lost(error: Mapping[str, Any], status: int) -> CursorLost:
    refused = CursorLost(
        f"{error['code']}: {error['message']}",
        status=status,
        code=error["code"],
        request_id=error.get("request_id"),
    )
    refused.go_on, refused.lost = str(error["cursor"]), error["lost"]
    return refused


def not_a_gateway(content: bytes, status: int = 200) -> GatewayRefused:
    shown = content[:200].decode("utf-8", "replace")
    return GatewayRefused(f"HTTP {status}, and the response is not from a reward gateway: {shown!r}", status=status)
