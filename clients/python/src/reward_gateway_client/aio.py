"""The asynchronous client."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from types import TracebackType
from typing import Any

import aiohttp

from .connection import connector, default_headers, timeout_of
from .errors import ClientUnusable, GatewayRefused
from .exchange import PATH, Exchange, exchange_of, header_of_group, read_line, read_results, refusal
from .plain import to_json
from .result import Result
from .retry import Tries
from .sample import SampleLike
from .settings import api_key_or_env, reward_or_env, run_or_env, url_or_env

_PASSING = (aiohttp.ClientError, asyncio.TimeoutError, OSError)
"""Exceptions of broken, refused or silent connections."""


class AsyncRewardGateway:
    """A client for one event loop. It reuses connections; `close` frees them and ends the client.

    `timeout_s` limits a call with all its tries. A pickled client becomes a new one with the same settings, including
    the key.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        reward: str | None = None,
        run: str | None = None,
        timeout_s: float = 600.0,
        retries: int = 10,
        max_connections: int = 1024,
        verify: Any = True,
    ) -> None:
        self.url = url_or_env(url)
        self._headers = default_headers(api_key_or_env(api_key))
        self._reward = reward
        self._run = run_or_env(run)
        self._timeout_s = timeout_s
        self._retries = retries
        self._max_connections = max_connections
        self._verify = verify
        self._opened: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None, "_loop": None, "_is_closed": False}

    async def score(
        self,
        samples: Iterable[SampleLike],
        *,
        reward: str | None = None,
        training_step: int | None = None,
        timeout_s: float | None = None,
    ) -> list[Result]:
        """Returns one result per sample, in order. The result of a sample that cannot be scored says why; only a failed
        call raises. `reward` overrides the client's reward."""
        exchange = self._exchange(samples, reward, training_step, stream=False)
        return read_results(await self._post(PATH, exchange, timeout_s), exchange.count)

    async def stream(
        self,
        samples: Iterable[SampleLike],
        *,
        reward: str | None = None,
        training_step: int | None = None,
        timeout_s: float | None = None,
    ) -> AsyncIterator[tuple[int, Result]]:
        """Yields each result once, with its sample's index, as soon as it is ready. After a broken stream, requests all
        samples again, so that groups stay together, and yields the missing results."""
        exchange = self._exchange(samples, reward, training_step, stream=True)
        tries = self._tries(timeout_s)
        seen: set[int] = set()
        while True:
            retry_after: str | None = None
            try:
                async with self._ask(PATH, exchange, tries) as response:
                    retry_after = response.headers.get("retry-after")
                    if response.status != 200:
                        raise refusal(response.status, await response.read())
                    async for line in _lines(response.content):
                        index, result = read_line(line)
                        if index not in seen:
                            seen.add(index)
                            yield index, result
                if len(seen) == exchange.count:
                    return
                failure: Exception = ConnectionError("the stream ended before its last result")
            except (*_PASSING, GatewayRefused, ValueError) as error:
                failure = error
            await asyncio.sleep(tries.pause_s(failure, retry_after))

    async def post(self, path: str, body: Any, *, group: object = None, timeout_s: float | None = None) -> bytes:
        """Posts JSON to any path, such as a trainer's, with the same retries. Behind a load balancer that reads the
        header, requests with the same `group` reach the same replica."""
        headers = {"content-type": "application/json", **header_of_group(group)}
        return await self._post(path, Exchange(headers, to_json(body), 0), timeout_s)

    async def close(self) -> None:
        self._is_closed = True
        if self._opened is not None:
            await self._opened.close()

    async def __aenter__(self) -> "AsyncRewardGateway":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _exchange(
        self, samples: Iterable[SampleLike], reward: str | None, training_step: int | None, *, stream: bool
    ) -> Exchange:
        return exchange_of(samples, reward_or_env(reward or self._reward), training_step, self._run, stream=stream)

    def _tries(self, timeout_s: float | None) -> Tries:
        return Tries(self._timeout_s if timeout_s is None else timeout_s, self._retries)

    def _ask(self, path: str, exchange: Exchange, tries: Tries) -> Any:
        loop = asyncio.get_running_loop()
        if self._is_closed:
            raise ClientUnusable("this client is closed: create a new one")
        if self._opened is None:
            # Created here because it belongs to the running loop.
            self._loop = loop
            self._opened = aiohttp.ClientSession(
                connector=connector(self._max_connections, self._verify),
                headers=self._headers,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        if self._loop is not loop:
            raise ClientUnusable(
                "this client belongs to another event loop: create one for each loop, or use RewardGateway"
            )
        return self._opened.post(
            self.url + path, data=exchange.body, headers=exchange.headers, timeout=timeout_of(tries.remaining_s())
        )

    async def _post(self, path: str, exchange: Exchange, timeout_s: float | None) -> bytes:
        tries = self._tries(timeout_s)
        while True:
            retry_after: str | None = None
            try:
                async with self._ask(path, exchange, tries) as response:
                    content: bytes = await response.read()
                    if response.status == 200:
                        return content
                    retry_after = response.headers.get("retry-after")
                    failure: Exception = refusal(response.status, content)
            except _PASSING as error:
                failure = error
            await asyncio.sleep(tries.pause_s(failure, retry_after))


async def _lines(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Yields lines of any length; aiohttp limits its own."""
    rest = b""
    async for piece in content.iter_any():
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line
    if rest:
        yield rest
