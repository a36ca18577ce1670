"""The client for code that awaits."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from types import TracebackType
from typing import Any

import httpx

from .connection import default_headers, timeout_of, transport_options
from .errors import GatewayRefused
from .exchange import PATH, Exchange, exchange_of, read_line, read_results, refusal
from .plain import to_json
from .result import Result
from .retry import Tries
from .sample import Sample
from .settings import api_key_or_env, reward_or_env, run_or_env, url_or_env


class AsyncRewardGateway:
    """As RewardGateway, for one event loop."""

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        reward: str | None = None,
        run: str | None = None,
        timeout_s: float = 600.0,
        retries: int = 10,
        max_connections: int = 256,
        verify: Any = True,
    ) -> None:
        self.url = url_or_env(url)
        self._reward = reward
        self._run = run_or_env(run)
        self._timeout_s = timeout_s
        self._retries = retries
        self._http = httpx.AsyncClient(
            base_url=self.url,
            headers=default_headers(api_key_or_env(api_key)),
            transport=httpx.AsyncHTTPTransport(**transport_options(max_connections, verify)),
        )

    async def score(
        self,
        samples: Iterable[Sample],
        *,
        reward: str | None = None,
        training_step: int | None = None,
        timeout_s: float | None = None,
    ) -> list[Result]:
        """As RewardGateway.score."""
        exchange = exchange_of(samples, reward_or_env(reward or self._reward), training_step, self._run, stream=False)
        return read_results(await self._post(PATH, exchange, self._tries(timeout_s)), exchange.count)

    async def stream(
        self,
        samples: Iterable[Sample],
        *,
        reward: str | None = None,
        training_step: int | None = None,
        timeout_s: float | None = None,
    ) -> AsyncIterator[tuple[int, Result]]:
        """As RewardGateway.stream."""
        exchange = exchange_of(samples, reward_or_env(reward or self._reward), training_step, self._run, stream=True)
        tries = self._tries(timeout_s)
        seen: set[int] = set()
        while True:
            retry_after: str | None = None
            try:
                async with self._http.stream(
                    "POST",
                    PATH,
                    content=exchange.body,
                    headers=exchange.headers,
                    timeout=timeout_of(tries.remaining_s()),
                ) as response:
                    retry_after = response.headers.get("retry-after")
                    if response.status_code != 200:
                        raise refusal(response.status_code, await response.aread())
                    async for line in response.aiter_lines():
                        index, result = read_line(line)
                        if index not in seen:
                            seen.add(index)
                            yield index, result
                        tries.remaining_s()
                if len(seen) == exchange.count:
                    return
                failure: Exception = ConnectionError("the stream ended before its last result")
            except (httpx.TransportError, GatewayRefused, ValueError) as error:
                failure = error
            await asyncio.sleep(tries.pause_s(failure, retry_after))

    async def post(self, path: str, body: Any, *, timeout_s: float | None = None) -> bytes:
        """As RewardGateway.post."""
        return await self._post(
            path, Exchange({"content-type": "application/json"}, to_json(body), 0), self._tries(timeout_s)
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> "AsyncRewardGateway":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _tries(self, timeout_s: float | None) -> Tries:
        return Tries(self._timeout_s if timeout_s is None else timeout_s, self._retries)

    async def _post(self, path: str, exchange: Exchange, tries: Tries) -> bytes:
        while True:
            retry_after: str | None = None
            try:
                left = tries.remaining_s()
                response = await asyncio.wait_for(
                    self._http.post(path, content=exchange.body, headers=exchange.headers, timeout=timeout_of(left)),
                    left,
                )
                if response.status_code == 200:
                    return response.content
                retry_after = response.headers.get("retry-after")
                failure: Exception = refusal(response.status_code, response.content)
            except (httpx.TransportError, asyncio.TimeoutError) as error:
                failure = error
            await asyncio.sleep(tries.pause_s(failure, retry_after))
