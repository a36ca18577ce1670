"""Client for a reward gateway: scores samples, and reports why a sample has no reward."""

from .aio import AsyncRewardGateway
from .client import RewardGateway
from .errors import ClientUnusable, GatewayRefused, GatewayUnreachable, RewardGatewayError, Unscorable
from .result import Failure, Result, StepReward, Term, number_of, reward_of
from .sample import Message, Sample
from .steps import sampled_step_rewards, step_token_rewards

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
    "StepReward",
    "Term",
    "Unscorable",
    "number_of",
    "reward_of",
    "sampled_step_rewards",
    "step_token_rewards",
]
