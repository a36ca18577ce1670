"""Client for a reward gateway: scores samples, and reports why a sample has no reward."""

from .aio import AsyncRewardGateway
from .async_run import AsyncRun
from .client import RewardGateway
from .errors import (
    ClientUnusable,
    CursorLost,
    GatewayRefused,
    GatewayUnreachable,
    RewardGatewayError,
    RolloutLost,
    RolloutsRefused,
    Unscorable,
)
from .finals import Accepted, Credits, Final, Partial, RunStatus
from .result import Failure, Result, StepReward, Term, number_of, reward_of
from .run import Run
from .sample import Message, Sample
from .steps import sampled_step_rewards, step_token_rewards

__all__ = [
    "Accepted",
    "AsyncRewardGateway",
    "AsyncRun",
    "ClientUnusable",
    "Credits",
    "CursorLost",
    "Failure",
    "Final",
    "GatewayRefused",
    "GatewayUnreachable",
    "Message",
    "Partial",
    "Result",
    "RewardGateway",
    "RewardGatewayError",
    "RolloutLost",
    "RolloutsRefused",
    "Run",
    "RunStatus",
    "Sample",
    "StepReward",
    "Term",
    "Unscorable",
    "number_of",
    "reward_of",
    "sampled_step_rewards",
    "step_token_rewards",
]
