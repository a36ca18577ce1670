"""Settings of the HTTP connections, the same for both clients."""

import socket
from typing import Any

import httpx

CONNECT_TIMEOUT_S = 10.0


def keep_alive() -> list[tuple[int, int, int]]:
    """Socket options that find out within two minutes that the other machine is gone, however long an answer takes."""
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
    for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, name):
            options.append((socket.IPPROTO_TCP, getattr(socket, name), value))
    return options


def transport_options(max_connections: int, verify: Any) -> dict[str, Any]:
    return {
        "verify": verify,
        "limits": httpx.Limits(max_connections=max_connections, max_keepalive_connections=max_connections),
        "socket_options": keep_alive(),
    }


def timeout_of(remaining_s: float) -> httpx.Timeout:
    """For one try. A judge may think for minutes, so only connecting has a limit of its own."""
    return httpx.Timeout(remaining_s, connect=min(CONNECT_TIMEOUT_S, remaining_s))


def default_headers(api_key: str | None) -> dict[str, str]:
    headers = {"user-agent": "reward-gateway-client"}
    if api_key:
        headers["authorization"] = f"Bearer {api_key}"
    return headers
