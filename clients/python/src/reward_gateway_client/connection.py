"""Settings of the HTTP connections."""

import socket
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass

import aiohttp

CONNECT_TIMEOUT_S = 10.0


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
