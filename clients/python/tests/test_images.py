"""Images of every form that trainers hold arrive as their bytes, and long calls in parts."""

import asyncio
import base64
import hashlib
import random
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from reward_gateway_client import AsyncRewardGateway, GatewayRefused, RewardGateway
from reward_gateway_client.sample import sample_of
from scripted import ScriptedServer, lines, result, results, status

PICTURE = Image.new("RGB", (4, 3), (255, 0, 0))


def saved(kind: str, image: Any = PICTURE) -> bytes:
    stream = BytesIO()
    image.save(stream, format=kind)
    return stream.getvalue()


def sent(scripted: ScriptedServer, *samples: Any) -> list[dict[str, Any]]:
    """The samples as the gateway gets them."""
    with RewardGateway(scripted.url, reward="r") as gateway:
        gateway.score([{"response": "0", **sample} for sample in samples])
    return [sample for request in scripted.requests for sample in request["body"]["samples"]]


def shown(url: str) -> Image.Image:
    head, _, body = url.partition(",")
    assert head.startswith("data:image/")
    assert head.endswith(";base64")
    return Image.open(BytesIO(base64.b64decode(body)))


def test_every_form_of_an_image_becomes_a_data_url(scripted: ScriptedServer, tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(saved("JPEG"))
    forms: list[Any] = [
        {"image": PICTURE},
        {"image": saved("WEBP")},
        {"image": {"bytes": saved("GIF"), "path": None}},
        {"image": str(path)},
        {"image": path},
        {"path": str(path), "bytes": None},
        {"image": f"file://{path}"},
        {"bytes": saved("PNG"), "image": PICTURE, "path": "gone.png"},
        {"image": PICTURE.convert("CMYK")},
        {"image_url": {"url": PICTURE}},
    ]
    prompt = [{"role": "user", "content": [{"type": "image", **form} for form in forms]}]
    (sample,) = sent(scripted, {"prompt": prompt})
    for part, form in zip(sample["prompt"][0]["content"], forms, strict=True):
        source = part.get("image") or part["image_url"]["url"]
        assert shown(source).size == (4, 3), form
        assert set(part) <= {"type", "image", "image_url"}
    addresses = ["https://host/a.png", "data:image/png;base64,AAAA", "gone.png"]
    parts = [{"type": "image", "image": address} for address in addresses]
    (_, kept) = sent(scripted, {"prompt": [{"role": "user", "content": parts}]})
    assert [part["image"] for part in kept["prompt"][0]["content"]] == addresses


def test_a_path_is_read_in_a_prompt_alone(scripted: ScriptedServer, tmp_path: Path) -> None:
    path = tmp_path / "secret.png"
    path.write_bytes(saved("PNG"))
    turn = {
        "role": "assistant",
        "content": [{"type": "image", "image": str(path)}, {"type": "image", "path": str(path)}],
    }
    call = {"name": "look", "arguments": {"bytes": None, "path": str(path)}}
    response = [{"role": "assistant", "content": "", "tool_calls": [call]}, turn]
    scripted.answers = [_scored]
    (sample,) = sent(scripted, {"prompt": "q", "response": response})
    assert sample["response"] == response


def _scored(handler: Any, body: dict[str, Any]) -> None:
    handler.send(200, {"results": [result(0, 1)], "reward": {"name": body["reward"], "version": "1"}})


def test_images_of_columns_find_their_places() -> None:
    def placed(prompt: Any, **row: Any) -> Any:
        sample = sample_of(prompt, "x", {"level": 3, **row})
        assert sample["extra_info"] == {"level": 3}
        return sample["prompt"]

    one, two = {"type": "image", "image": "data:,1"}, {"type": "image", "image": "data:,2"}
    ask, text = {"role": "user", "content": "what?"}, {"type": "text", "text": "what?"}
    images = ["data:,1", "data:,2"]
    assert placed("what?", images=images) == [{"role": "user", "content": [one, two, text]}]
    assert placed("<image>what?<image>", images=images) == [{"role": "user", "content": [one, text, two]}]
    assert placed([ask], image="data:,1") == [{"role": "user", "content": [one, text]}]
    assert placed([ask], multi_modal_data={"images": images}) == [{"role": "user", "content": [one, two, text]}]
    holes = [{"role": "user", "content": [{"type": "image"}, text, {"type": "image"}]}]
    assert placed(holes, images=np.array(images, dtype=object)) == [{"role": "user", "content": [one, text, two]}]
    filled = [{"role": "user", "content": [one, two, text]}]
    assert placed(filled, images=images) == filled, "TRL passes the images in both places"
    assert placed("watch", videos=[object()]) == [
        {"role": "user", "content": [{"type": "video"}, {"type": "text", "text": "watch"}]}
    ]
    assert placed("<video>what?", images=["data:,1"])[0]["content"] == [one, {"type": "text", "text": "<video>"}, text]
    assert sample_of("q", "x", {"image": "python:3.12"})["extra_info"] == {"image": "python:3.12"}
    assert sample_of("q", "x", {"images": None})["prompt"] == "q"


def test_the_images_of_a_sample_are_given_beside_its_prompt(scripted: ScriptedServer) -> None:
    (sample,) = sent(scripted, {"prompt": "what?", "images": [PICTURE]})
    image, text = sample["prompt"][0]["content"]
    assert (shown(image["image"]).size, text) == ((4, 3), {"type": "text", "text": "what?"})
    assert set(sample) == {"prompt", "response"}


def test_an_image_of_several_samples_is_sent_once(scripted: ScriptedServer) -> None:
    noise = Image.frombytes("RGB", (30, 30), random.Random(2).randbytes(2700))
    others = [Image.frombytes("RGB", (30, 30), random.Random(seed).randbytes(2700)) for seed in range(3, 6)]
    rows: list[Any] = [{"prompt": "what?", "images": [noise], "response": "0.5"} for _ in range(4)]
    rows += [{"prompt": "what?", "images": [other, saved("PNG", other)], "response": "0.5"} for other in others * 2]
    with RewardGateway(scripted.url, reward="r", max_body_bytes=9000) as gateway:
        assert len(gateway.score(rows)) == len(rows)
    assert len(scripted.requests) > 1
    assert max(sizes(scripted)) <= 9000
    for request in scripted.requests:
        images = request["body"]["images"]
        used = set()
        for sample in request["body"]["samples"]:
            for part in sample["prompt"][0]["content"][:-1]:
                kind, _, name = part["image"].partition(":")
                assert (kind, shown(images[name]).size) == ("sha256", (30, 30))
                assert hashlib.sha256(base64.b64decode(images[name].partition(",")[2])).hexdigest() == name
                used.add(name)
        assert used == set(images)


def sizes(scripted: ScriptedServer) -> list[int]:
    return [len(request["raw"]) for request in scripted.requests]


def test_a_long_call_is_sent_in_parts_with_groups_whole(scripted: ScriptedServer) -> None:
    count, most = 60, 4096
    rows = [{"prompt": f"q{at // 4}{' ' * 100}", "response": str(at / 100)} for at in range(count)]
    random.Random(7).shuffle(rows)
    with RewardGateway(scripted.url, reward="r", max_body_bytes=most) as gateway:
        found = gateway.score(rows, training_step=2)
        assert [one.reward for one in found] == [float(row["response"]) for row in rows]
    assert len(scripted.requests) > 1
    assert max(sizes(scripted)) <= most
    homes: dict[str, set[int]] = {}
    for home, request in enumerate(scripted.requests):
        assert request["body"]["training_step"] == 2
        for sample in request["body"]["samples"]:
            homes.setdefault(sample["prompt"], set()).add(home)
            assert rows[int(sample["id"])]["response"] == sample["response"]
            assert "group_id" not in sample
    assert {len(found) for found in homes.values()} == {1}


def test_a_group_that_does_not_fit_says_how_it_was_split(scripted: ScriptedServer) -> None:
    rows: list[Any] = [{"prompt": "q", "response": str(at / 10) + " " * 900} for at in range(8)]
    rows += [{"response": "0.5" + " " * 900}, {"prompt": "p", "group_id": "own", "response": "0.25"}]
    with RewardGateway(scripted.url, reward="r", max_body_bytes=2500) as gateway:
        assert len(gateway.score(rows)) == len(rows)
    told = [sample for request in scripted.requests for sample in request["body"]["samples"]]
    members = [sample for sample in told if sample.get("prompt") == "q"]
    assert len({sample["group_id"] for sample in members}) == 1
    assert {sample["group_size"] for sample in members} == {8}
    assert sorted(sample["group_index"] for sample in members) == list(range(8))
    others = {sample["id"]: sample for sample in told if sample.get("prompt") != "q"}
    assert "group_id" not in others["8"], "a row without a prompt is in no group"
    assert (others["9"]["group_id"], "group_size" in others["9"]) == ("own", False)
    alone = [request for request in scripted.requests if len(request["body"]["samples"]) > 1]
    assert all("x-reward-gateway-group" in request["headers"] for request in alone if len(request["raw"]) > 1900)


def test_what_is_too_long_for_the_gateway_is_halved(scripted: ScriptedServer) -> None:
    def limited(handler: Any, body: dict[str, Any]) -> None:
        if len(body["samples"]) > 3:
            status(413, "RG_REQUEST_TOO_LARGE")(handler, body)
        else:
            results(handler, body)

    rows = [{"prompt": f"q{at}", "response": str(at / 10)} for at in range(9)]
    for streamed in (False, True):
        scripted.answers = [limited] * 20
        with RewardGateway(scripted.url, reward="r") as gateway:
            if streamed:
                scripted.answers = [lambda handler, body: _lines(handler, body, 3)] * 20
                found = dict(gateway.stream(rows))
                assert [found[at].reward for at in range(9)] == [at / 10 for at in range(9)]
            else:
                assert [one.reward for one in gateway.score(rows)] == [at / 10 for at in range(9)]
    scripted.answers = [status(413, "RG_REQUEST_TOO_LARGE")]
    with (
        RewardGateway(scripted.url, reward="r") as gateway,
        pytest.raises(GatewayRefused, match="RG_REQUEST_TOO_LARGE"),
    ):
        gateway.score(rows[:1])


def _lines(handler: Any, body: dict[str, Any], most: int) -> None:
    if len(body["samples"]) > most:
        return status(413, "RG_REQUEST_TOO_LARGE")(handler, body)
    rows = [{"index": at, **result(at, float(one["response"]))} for at, one in enumerate(body["samples"])]
    return lines(*rows)(handler, body)


def test_a_failed_part_ends_the_call(scripted: ScriptedServer) -> None:
    scripted.answers = [results, status(400, "RG_REQUEST_INVALID"), results]
    rows = [{"prompt": f"q{at}", "response": "0.5" + " " * 900} for at in range(3)]
    with (
        RewardGateway(scripted.url, reward="r", max_body_bytes=1200) as gateway,
        pytest.raises(GatewayRefused, match="RG_REQUEST_INVALID"),
    ):
        gateway.score(rows)


def test_samples_with_images_beyond_a_body_are_scored_with_default_limits(gateway_url: str) -> None:
    noise = random.Random(1)
    head = saved("PNG")
    images = [head + noise.randbytes(300_000) for _ in range(64)]
    rows = [
        {"prompt": [{"role": "user", "content": [{"type": "image", "image": image}]}], "response": "0.5"}
        for image in images
    ]

    async def run() -> Any:
        async with AsyncRewardGateway(gateway_url, reward="seen") as gateway:
            return await gateway.score(rows)

    found = asyncio.run(run())
    hashes = [one.terms["seen"]["details"]["hashes"] for one in found]
    assert hashes == [[hashlib.sha256(image).hexdigest()] for image in images]


def test_a_group_of_answers_to_one_image_is_one_short_call(gateway_url: str) -> None:
    image = saved("PNG") + random.Random(1).randbytes(300_000)
    rows = [{"prompt": "?", "images": [image], "response": str(at)} for at in range(64)]
    with RewardGateway(gateway_url, reward="seen", max_body_bytes=500_000) as gateway:
        found = gateway.score(rows)
    wanted = [hashlib.sha256(image).hexdigest()]
    assert [one.terms["seen"]["details"]["hashes"] for one in found] == [wanted] * 64
