"""Reads the finals of a run, and what the gateway knows of it, over restarts and broken connections."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from .connection import Connections
from .errors import GatewayRefused
from .exchange import not_a_gateway
from .finals import FINAL_STATES, Final, RunStatus
from .retry import Tries

_LIMIT = 1000
_SLACK_S = 30.0
"""How much longer than asked a reply may take before the gateway counts as away."""
_LONGEST_PAUSE_S = 5.0


@dataclass(frozen=True, slots=True)
class Page:
    """Finals behind a cursor, as the gateway wrote them."""

    rows: "list[Mapping[str, Any]]"
    partials: "list[Mapping[str, Any]]"
    cursor: str
    unfinished: int


class FinalReader:
    """Requests about one run. Each is repeated while the gateway is away, for `timeout_s` at most."""

    def __init__(self, connections: Connections, path: str, timeout_s: float) -> None:
        self._connections = connections
        self._path = path
        self._timeout_s = timeout_s

    def tries(self, timeout_s: float | None = None) -> Tries:
        """The tries of one request: as many as fit."""
        limit_s = self._timeout_s if timeout_s is None else timeout_s
        return Tries(limit_s, float("inf"), longest_s=_LONGEST_PAUSE_S)

    async def page(self, after: str, wait_s: float, *, partials: bool = False) -> Page:
        """The next finals, and with `partials` also early results; none if none comes within `wait_s`. Raises
        CursorLost."""
        asked = {"wait_s": f"{wait_s:g}", "limit": str(_LIMIT)}
        if after:
            asked["after"] = after
        if partials:
            asked["partials"] = "true"
        query = urlencode(asked)
        content = await self.ask("GET", f"/rewards?{query}", wait_s=wait_s)
        try:
            reply = json.loads(content)
            return Page(reply["results"], reply.get("partials", []), reply["cursor"], reply["unfinished"])
        except (KeyError, TypeError, ValueError) as error:
            raise not_a_gateway(content) from error

    async def final_of(self, uid: str) -> Final | None:
        """None if the rollout has no final yet. Raises GatewayRefused with the status 404 if the gateway does not know
        it."""
        content = await self.ask("GET", f"/rollouts/{quote(uid, safe='')}")
        try:
            row = json.loads(content)
            return Final.read(row) if row["state"] in FINAL_STATES else None
        except (KeyError, TypeError, ValueError) as error:
            raise not_a_gateway(content) from error

    async def status(self) -> RunStatus:
        try:
            content = await self.ask("GET", "")
        except GatewayRefused as refused:
            # A gateway without a queue says so with the same code.
            if refused.status != 404 or "no such run" not in str(refused):
                raise
            return RunStatus(unfinished=0, oldest=None, finals=0, cursor="", bytes=0)
        try:
            row = json.loads(content)
            return RunStatus(row["unfinished"], row["oldest"], row["finals"], row["cursor"], row["bytes"])
        except (KeyError, TypeError, ValueError) as error:
            raise not_a_gateway(content) from error

    async def ask(self, method: str, path: str, body: bytes | None = None, *, wait_s: float = 0.0) -> bytes:
        """The reply to a request that may be sent again. Raises GatewayRefused, and GatewayUnreachable once the gateway
        has been away for `timeout_s`."""
        tries = self.tries(self._timeout_s + wait_s)
        headers = None if body is None else {"content-type": "application/json"}
        return await self._connections.reply(
            method, self._path + path, tries, headers=headers, body=body, longest_s=wait_s + _SLACK_S
        )
