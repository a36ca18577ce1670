"""The HTTP connections of a client."""

import asyncio
import math
import socket
from collections.abc import Mapping
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass

import aiohttp

from .errors import ClientUnusable
from .exchange import refusal
from .retry import Tries

CONNECT_TIMEOUT_S = 10.0

PASSING = (aiohttp.ClientError, asyncio.TimeoutError, OSError)
"""Exceptions of broken, refused or silent connections."""


class Connections:
    """Requests to one gateway from one event loop. Connections are opened with the first request and reused. A pickled
    one has the same settings and no connection."""

    def __init__(self, url: str, api_key: str | None, *, most: int, verify: Any, trust_env: bool) -> None:
        self.url = url
        self._headers = default_headers(api_key)
        self._most = most
        self._verify = verify
        self._trust_env = trust_env
        self._proxy: str | None = None
        self._opened: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None, "_loop": None, "_is_closed": False}

    def ask(
        self,
        method: str,
        path: str,
        timeout_s: float,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> Any:
        """A context manager with the response. Raises ClientUnusable if it is closed or used in another event loop."""
        loop = asyncio.get_running_loop()
        if self._is_closed:
            raise ClientUnusable("this client is closed: create a new one")
        if self._opened is None:
            # Created here because it belongs to the running loop.
            self._loop = loop
            self._proxy = proxy_of(self.url) if self._trust_env else None
            self._opened = aiohttp.ClientSession(
                connector=connector(self._most, self._verify),
                headers=self._headers,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        if self._loop is not loop:
            raise ClientUnusable(
                "this client belongs to another event loop: create one for each loop, or use the client for threads"
            )
        return self._opened.request(
            method,
            self.url + path,
            # As a file, because a long body as bytes would hold the loop.
            data=None if body is None else BytesIO(body),
            headers=headers,
            timeout=timeout_of(timeout_s),
            proxy=self._proxy,
        )

    async def reply(
        self,
        method: str,
        path: str,
        tries: Tries,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        longest_s: float = math.inf,
    ) -> bytes:
        """The reply to a request that may be sent again; one try takes `longest_s` at most. Raises GatewayRefused and
        GatewayUnreachable."""
        while True:
            retry_after: str | None = None
            try:
                limit_s = min(tries.remaining_s(), longest_s)
                async with self.ask(method, path, limit_s, headers=headers, body=body) as response:
                    content: bytes = await response.read()
                    if response.status == 200:
                        return content
                    retry_after = response.headers.get("retry-after")
                    failure: Exception = refusal(response.status, content)
            except PASSING as error:
                failure = error
            await asyncio.sleep(tries.pause_s(failure, retry_after))

    async def close(self) -> None:
        self._is_closed = True
        if self._opened is not None:
            await self._opened.close()


def connector(max_connections: int, verify: Any) -> aiohttp.TCPConnector:
    """Keeps idle connections for less time than the gateway, so that the gateway never closes one in use."""
    return aiohttp.TCPConnector(limit=max_connections, keepalive_timeout=60, ssl=verify, socket_factory=watched_socket)


def watched_socket(address: Any) -> socket.socket:
    """A socket that detects a lost peer within two minutes, however long an answer takes."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, name):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made


def timeout_of(remaining_s: float) -> aiohttp.ClientTimeout:
    """The timeout of one try. A judge may think for minutes, so only connecting has its own limit."""
    return aiohttp.ClientTimeout(total=remaining_s, sock_connect=min(CONNECT_TIMEOUT_S, remaining_s))


def proxy_of(url: str) -> str | None:
    """The proxy that the environment names for this address. aiohttp's own `trust_env` would also send a password of
    .netrc, which no gateway expects."""
    parts = urlsplit(url)
    return None if proxy_bypass(parts.netloc) else getproxies_environment().get(parts.scheme)


def default_headers(api_key: str | None) -> dict[str, str]:
    headers = {"user-agent": "reward-gateway-client"}
    if api_key:
        headers["authorization"] = f"Bearer {api_key}"
    return headers
