"""Settings from the environment, for code that a trainer starts without arguments."""

import os

URL = "REWARD_GATEWAY_URL"
API_KEY = "REWARD_GATEWAY_API_KEY"
REWARD = "REWARD_GATEWAY_REWARD"
RUN = "REWARD_GATEWAY_RUN"
QUEUE = "REWARD_GATEWAY_QUEUE"
TIMEOUT = "REWARD_GATEWAY_TIMEOUT_S"
TRUST_ENV = "REWARD_GATEWAY_TRUST_ENV"


def url_or_env(url: str | None) -> str:
    """The gateway's URL without a trailing slash. Raises ValueError if there is none."""
    found = url or os.environ.get(URL)
    if not found:
        raise ValueError(f"no gateway: give its URL, or set {URL}")
    if not found.startswith(("http://", "https://")):
        raise ValueError(f"the gateway's URL must begin with http:// or https://, not {found!r}")
    return found.rstrip("/")


def api_key_or_env(api_key: str | None) -> str | None:
    return api_key or os.environ.get(API_KEY)


def reward_or_env(reward: str | None) -> str:
    """The reward's name. Raises ValueError if there is none."""
    found = reward or os.environ.get(REWARD)
    if not found:
        raise ValueError(f"no reward: give its name, or set {REWARD}")
    return found


def run_or_env(run: str | None) -> str | None:
    return run or os.environ.get(RUN)


def named_run_or_env(run: str | None) -> str:
    """The run's name. Raises ValueError if there is none."""
    found = run_or_env(run)
    if not found:
        raise ValueError(f"no run: give its name, or set {RUN}")
    return found


def trust_env_or_env(trust_env: bool | None) -> bool:
    """Whether to use the proxies of the environment."""
    return _is_on(TRUST_ENV) if trust_env is None else trust_env


def queue_of_env() -> bool:
    """Whether adapters score through the gateway's queue."""
    return _is_on(QUEUE)


def _is_on(name: str) -> bool:
    return os.environ.get(name, "").lower() in ("1", "true", "yes")


def timeout_or_env(default_s: float) -> float:
    """Seconds for a call with all its tries."""
    return float(os.environ.get(TIMEOUT) or default_s)
