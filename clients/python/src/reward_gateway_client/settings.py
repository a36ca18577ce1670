"""Settings from the environment, for code that a trainer starts without arguments."""

import math
import os

URL = "REWARD_GATEWAY_URL"
API_KEY = "REWARD_GATEWAY_API_KEY"
REWARD = "REWARD_GATEWAY_REWARD"
RUN = "REWARD_GATEWAY_RUN"
QUEUE = "REWARD_GATEWAY_QUEUE"
TIMEOUT = "REWARD_GATEWAY_TIMEOUT_S"
RETRIES = "REWARD_GATEWAY_RETRIES"
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


def timeout_or_env(timeout_s: float | None, default_s: float = 600.0) -> float:
    """Seconds for a call with all its tries."""
    return _number(TIMEOUT, default_s) if timeout_s is None else timeout_s


def retries_or_env(retries: float | None, default: float) -> float:
    """The tries after the first; math.inf for as many as fit into the time limit."""
    return _number(RETRIES, default) if retries is None else retries


def adapter_retries(retries: float | None = None) -> float:
    """Those of a trainer's adapter, which only the time limit bounds by default: a gateway that is back within it must
    not cost a run."""
    return retries_or_env(retries, math.inf)


def _number(name: str, default: float) -> float:
    text = os.environ.get(name)
    if not text:
        return default
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not found >= 0:
        raise ValueError(f"{name} must be a number, not {text!r}")
    return found
