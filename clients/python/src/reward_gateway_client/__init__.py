"""Client of a reward gateway: scores samples, and says for each one that has no reward why."""

from .aio import AsyncRewardGateway
from .client import RewardGateway
from .errors import ClientUnusable, GatewayRefused, GatewayUnreachable, RewardGatewayError, Unscorable
from .result import Failure, Result, Term, number_of, reward_of
from .sample import Message, Sample

__all__ = [
    "AsyncRewardGateway",
    "ClientUnusable",
    "Failure",
    "GatewayRefused",
    "GatewayUnreachable",
    "Message",
    "Result",
    "RewardGateway",
    "RewardGatewayError",
    "Sample",
    "Term",
    "Unscorable",
    "number_of",
    "reward_of",
]
