"""What the trainers' tests share: a gateway a session, a proxy that loses answers a test, a tokenizer's folder."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tiny
from losing import Losing
from served import Served

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"


@pytest.fixture(scope="session")
def gateway() -> Iterator[Served]:
    served = Served()
    yield served
    served.stop()


@pytest.fixture
def losing(gateway: Served) -> Iterator[Losing]:
    with Losing(gateway.url) as proxy:
        yield proxy


@pytest.fixture(scope="session")
def tokenizer_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.saved(tmp_path_factory.mktemp("tokenizer"))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The figures that docs quote."""
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")
