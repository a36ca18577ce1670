"""What can go wrong with a call. All of it survives pickling: trainers raise across processes."""

from collections.abc import Mapping, Sequence
from typing import Any


class RewardGatewayError(Exception):
    """Base of everything this package raises on purpose."""


class GatewayRefused(RewardGatewayError):
    """The gateway answered with an error; sending the same again does not help."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        code: str = "",
        problems: Sequence[Mapping[str, Any]] = (),
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        """HTTP status; 200 where a stream ended with an error."""
        self.code = code
        """`RG_...`, or empty where something else than the gateway answered."""
        self.problems = problems
        self.request_id = request_id


class GatewayUnreachable(RewardGatewayError):
    """No answer within the time limit or the tries; the last failure is the cause."""


class ClientUnusable(RewardGatewayError, RuntimeError):
    """This client asks nothing, or not from here: it is closed, or belongs to another process or event loop."""


class Unscorable(RewardGatewayError):
    """A sample has no reward. Raised by the adapters of trainers that leave such samples out."""

    def __init__(self, message: str, *, sample_id: str = "", kind: str = "") -> None:
        super().__init__(message)
        self.sample_id = sample_id
        self.kind = kind
        """The failure's kind, as `docs/errors.md` of the gateway lists them."""
