"""The asynchronous client."""

import asyncio
import copy
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

import aiohttp

from .connection import PASSING, Connections
from .errors import GatewayRefused
from .exchange import (
    MAX_BODY_BYTES,
    PATH,
    Exchange,
    exchanges_of,
    header_of_group,
    read_line,
    read_results,
    refusal,
)
from .plain import to_json
from .progress import bar_of
from .result import Result
from .retry import Tries
from .sample import SampleLike
from .settings import (
    api_key_or_env,
    retries_or_env,
    reward_or_env,
    run_or_env,
    timeout_or_env,
    trust_env_or_env,
    url_or_env,
)
from .wandb_log import log_results, log_stalls

RETRIES = 10
"""About 90 s of tries: whoever waits at a terminal learns soon that there is no gateway. Adapters go on."""


class AsyncRewardGateway:
    """A client for one event loop. It reuses connections; `close` frees them and ends the client.

    A call is tried for `timeout_s` (REWARD_GATEWAY_TIMEOUT_S, else 600), and at most `retries` times after the first
    (REWARD_GATEWAY_RETRIES, else 10, which is about 90 s; `math.inf` leaves the limit to `timeout_s`). A call of more
    than `max_body_bytes` is sent as several requests at once. `trust_env` uses the proxies of HTTP_PROXY, HTTPS_PROXY
    and NO_PROXY. A pickled client becomes a new one with the same settings, including the key.

        async with AsyncRewardGateway("http://gateway:8080", reward="gsm8k") as gateway:
            (result,) = await gateway.score([{"prompt": "6 * 7?", "response": "#### 42", "ground_truth": "42"}])
            print(result.reward, result.failure)
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        reward: str | None = None,
        run: str | None = None,
        timeout_s: float | None = None,
        retries: float | None = None,
        max_connections: int = 1024,
        max_body_bytes: int = MAX_BODY_BYTES,
        verify: Any = True,
        trust_env: bool | None = None,
    ) -> None:
        self.url = url_or_env(url)
        self._reward = reward
        self._run = run_or_env(run)
        self._timeout_s = timeout_or_env(timeout_s)
        self._retries = retries_or_env(retries, RETRIES)
        self._max_body_bytes = max_body_bytes
        self._connections = Connections(
            self.url,
            api_key_or_env(api_key),
            most=max_connections,
            verify=verify,
            trust_env=trust_env_or_env(trust_env),
        )

    def __copy__(self) -> "AsyncRewardGateway":
        """Another client with the same settings."""
        other = type(self).__new__(type(self))
        other.__dict__ = {**self.__dict__, "_connections": copy.copy(self._connections)}
        return other

    async def score(
        self,
        samples: Iterable[SampleLike],
        *,
        reward: str | None = None,
        training_step: int | None = None,
        timeout_s: float | None = None,
        progress: bool = False,
    ) -> list[Result]:
        """Returns one result per sample, in order. The result of a sample that cannot be scored says why; only a failed
        call raises. `reward` overrides the client's reward. `progress` shows a bar (needs tqdm), for long calls."""
        rows = list(samples)
        started = time.monotonic()
        if progress:
            ready: dict[int, Result] = {}
            with bar_of(len(rows)) as bar:
                async for index, result in self.stream(
                    rows, reward=reward, training_step=training_step, timeout_s=timeout_s
                ):
                    ready[index] = result
                    bar.add(result)
            results = [ready[index] for index in range(len(rows))]
        else:
            exchanges = self._exchanges(rows, reward, training_step, stream=False)
            found = await self._scored(exchanges, self._tries(timeout_s))
            results = [result for _, result in sorted(found, key=lambda one: one[0])]
        if log_results(results, rows, time.monotonic() - started):
            await log_stalls(self._connections, self._run or "")
        return results

    async def stream(
        self,
        samples: Iterable[SampleLike],
        *,
        reward: str | None = None,
        training_step: int | None = None,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[tuple[int, Result], None]:
        """Yields each result once, with its sample's index, as soon as it is ready. After a broken stream, requests all
        samples again, so that groups stay together, and yields the missing results."""
        exchanges = self._exchanges(samples, reward, training_step, stream=True)
        found = self._merged(exchanges, self._tries(timeout_s))
        try:
            async for one in found:
                yield one
        finally:
            await found.aclose()

    async def post(self, path: str, body: Any, *, group: object = None, timeout_s: float | None = None) -> bytes:
        """Posts JSON to any path, such as a trainer's, with the same retries. Behind a load balancer that reads the
        header, requests with the same `group` reach the same replica."""
        headers = {"content-type": "application/json", **header_of_group(group)}
        return await self._post(path, headers, to_json(body), self._tries(timeout_s))

    async def close(self) -> None:
        await self._connections.close()

    async def __aenter__(self) -> "AsyncRewardGateway":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _exchanges(
        self, samples: Iterable[SampleLike], reward: str | None, training_step: int | None, *, stream: bool
    ) -> Sequence[Exchange]:
        name = reward_or_env(reward or self._reward)
        most = self._max_body_bytes
        return exchanges_of(samples, name, training_step, self._run, stream=stream, max_body_bytes=most)

    async def _scored(self, exchanges: Sequence[Exchange], limit: Tries) -> list[tuple[int, Result]]:
        """All results with their samples' indices. What is too long for the gateway is sent in parts."""
        if len(exchanges) == 1:
            (exchange,) = exchanges
            try:
                content = await self._post(PATH, exchange.headers, exchange.body, limit.again())
            except GatewayRefused as refused:
                parts = exchange.halves() if refused.status == 413 else ()
                if len(parts) < 2:
                    raise
                return await self._scored(parts, limit)
            results = read_results(content, len(exchange.rows))
            return [(row.place, result) for row, result in zip(exchange.rows, results, strict=True)]
        tasks = [asyncio.ensure_future(self._scored([exchange], limit)) for exchange in exchanges]
        try:
            return [one for found in await asyncio.gather(*tasks) for one in found]
        finally:
            await _ended(tasks)

    async def _merged(self, exchanges: Sequence[Exchange], limit: Tries) -> AsyncGenerator[tuple[int, Result], None]:
        """The results of all requests as they come."""
        if len(exchanges) == 1:
            (exchange,) = exchanges
            try:
                async for one in self._streamed(exchange, limit):
                    yield one
                return
            except GatewayRefused as refused:
                exchanges = exchange.halves() if refused.status == 413 else ()
                if len(exchanges) < 2:
                    raise
        ready: asyncio.Queue[tuple[int, Result] | Exception | None] = asyncio.Queue()

        async def follow(exchange: Exchange) -> None:
            try:
                async for one in self._merged([exchange], limit):
                    ready.put_nowait(one)
                ready.put_nowait(None)
            except Exception as error:
                ready.put_nowait(error)

        tasks = [asyncio.ensure_future(follow(exchange)) for exchange in exchanges]
        left = len(tasks)
        try:
            while left > 0:
                found = await ready.get()
                if isinstance(found, Exception):
                    raise found
                if found is None:
                    left -= 1
                else:
                    yield found
        finally:
            await _ended(tasks)

    async def _streamed(self, exchange: Exchange, limit: Tries) -> AsyncGenerator[tuple[int, Result], None]:
        tries = limit.again()
        seen: set[int] = set()
        while True:
            retry_after: str | None = None
            try:
                async with self._connections.ask(
                    "POST", PATH, tries.remaining_s(), headers=exchange.headers, body=exchange.body
                ) as response:
                    retry_after = response.headers.get("retry-after")
                    if response.status != 200:
                        raise refusal(response.status, await response.read())
                    async for line in _lines(response.content):
                        index, result = read_line(line)
                        if index not in seen:
                            seen.add(index)
                            yield exchange.rows[index].place, result
                if len(seen) == len(exchange.rows):
                    return
                failure: Exception = ConnectionError("the stream ended before its last result")
            except (*PASSING, GatewayRefused, ValueError) as error:
                failure = error
            await asyncio.sleep(tries.pause_s(failure, retry_after))

    def _tries(self, timeout_s: float | None) -> Tries:
        return Tries(self._timeout_s if timeout_s is None else timeout_s, self._retries)

    async def _post(self, path: str, headers: Mapping[str, str], body: bytes, tries: Tries) -> bytes:
        return await self._connections.reply("POST", path, tries, headers=headers, body=body)


async def _ended(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Ends requests that nobody waits for."""
    waiting = [task for task in tasks if not task.done()]
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def _lines(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Yields lines of any length; aiohttp limits its own."""
    rest = b""
    async for piece in content.iter_any():
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line
    if rest:
        yield rest
