"""Errors of a call. All can be pickled, because trainers raise across processes."""

from collections.abc import Mapping, Sequence
from typing import Any


class RewardGatewayError(Exception):
    """Base class of this package's errors."""


class GatewayRefused(RewardGatewayError):
    """The gateway returned an error. A retry of the same request does not help."""

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
        """HTTP status; 200 if a stream ended with an error."""
        self.code = code
        """`RG_...`, or empty if the response is not from a gateway."""
        self.problems = problems
        self.request_id = request_id


class GatewayUnreachable(RewardGatewayError):
    """No response within the time limit or the tries. `__cause__` is the last failure."""


class ClientUnusable(RewardGatewayError, RuntimeError):
    """The client is closed, or belongs to another process or event loop."""


class Unscorable(RewardGatewayError):
    """A sample has no reward. Raised by the adapters for trainers that leave such samples out."""

    def __init__(self, message: str, *, sample_id: str = "", kind: str = "") -> None:
        super().__init__(message)
        self.sample_id = sample_id
        self.kind = kind
        """The failure's kind; `docs/errors.md` of the gateway lists them."""


class RolloutsRefused(RewardGatewayError):
    """Some rollouts of a submission were refused. The others are accepted."""

    def __init__(self, message: str, *, refused: Mapping[str, GatewayRefused] | None = None) -> None:
        super().__init__(message)
        self.refused = dict(refused or {})
        """By uid."""


class RolloutLost(RewardGatewayError):
    """Somebody waits for a rollout that gets no final: a newer attempt replaced it, or the gateway no longer knows
    it."""

    def __init__(self, message: str, *, uid: str = "") -> None:
        super().__init__(message)
        self.uid = uid


class CursorLost(GatewayRefused):
    """The gateway does not have all finals behind the cursor any more."""

    go_on: str = ""
    """The oldest cursor that it knows; '' is the beginning of the run."""
    lost: int | None = None
    """How many finals nobody can read any more. None if the gateway does not know: it no longer has the run, or has an
    older copy of it."""
