"""What all Python tests share."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Ranks and oracles compute on one thread: results do not depend on the machine."""
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["HF_HUB_OFFLINE"] = "1"
