"""The client for code that waits."""

import time
from collections.abc import Iterable, Iterator
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


class RewardGateway:
    """Safe to share between threads. Connections are kept and used again; `close` frees them.

    `timeout_s` is for one call with all its tries; between the pieces of an answer it is looked at again.
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
        max_connections: int = 256,
        verify: Any = True,
    ) -> None:
        self.url = url_or_env(url)
        self._reward = reward
        self._run = run_or_env(run)
        self._timeout_s = timeout_s
        self._retries = retries
        self._http = httpx.Client(
            base_url=self.url,
            headers=default_headers(api_key_or_env(api_key)),
            transport=httpx.HTTPTransport(**transport_options(max_connections, verify)),
        )

    def score(
        self,
        samples: Iterable[Sample],
        *,
        reward: str | None = None,
        training_step: int | None = None,
        timeout_s: float | None = None,
    ) -> list[Result]:
        """One result a sample, in their order. A sample that cannot be scored has a result that says why; only a call
        that got no answer raises. `reward` goes before the one that the client was made with."""
        exchange = exchange_of(samples, reward_or_env(reward or self._reward), training_step, self._run, stream=False)
        return read_results(self._post(PATH, exchange, self._tries(timeout_s)), exchange.count)

    def stream(
        self,
        samples: Iterable[Sample],
        *,
        reward: str | None = None,
        training_step: int | None = None,
        timeout_s: float | None = None,
    ) -> Iterator[tuple[int, Result]]:
        """Each result with its sample's index, once, as soon as it is there. A stream that breaks is asked for again as
        a whole, so that groups stay together, and goes on with what is still missing."""
        exchange = exchange_of(samples, reward_or_env(reward or self._reward), training_step, self._run, stream=True)
        tries = self._tries(timeout_s)
        seen: set[int] = set()
        while True:
            retry_after: str | None = None
            try:
                with self._http.stream(
                    "POST",
                    PATH,
                    content=exchange.body,
                    headers=exchange.headers,
                    timeout=timeout_of(tries.remaining_s()),
                ) as response:
                    retry_after = response.headers.get("retry-after")
                    if response.status_code != 200:
                        raise refusal(response.status_code, response.read())
                    for line in response.iter_lines():
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
            time.sleep(tries.pause_s(failure, retry_after))

    def post(self, path: str, body: Any, *, timeout_s: float | None = None) -> bytes:
        """Any path that answers JSON to JSON, such as a wire's, with the same tries."""
        return self._post(
            path, Exchange({"content-type": "application/json"}, to_json(body), 0), self._tries(timeout_s)
        )

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> "RewardGateway":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _tries(self, timeout_s: float | None) -> Tries:
        return Tries(self._timeout_s if timeout_s is None else timeout_s, self._retries)

    def _post(self, path: str, exchange: Exchange, tries: Tries) -> bytes:
        while True:
            retry_after: str | None = None
            try:
                response = self._http.post(
                    path,
                    content=exchange.body,
                    headers=exchange.headers,
                    timeout=timeout_of(tries.remaining_s()),
                )
                if response.status_code == 200:
                    return response.content
                retry_after = response.headers.get("retry-after")
                failure: Exception = refusal(response.status_code, response.content)
            except httpx.TransportError as error:
                failure = error
            time.sleep(tries.pause_s(failure, retry_after))
