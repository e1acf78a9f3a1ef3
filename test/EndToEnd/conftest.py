"""Compiled small models that several files use."""

from __future__ import annotations

from pathlib import Path

import hethub
import pytest
import small_models


@pytest.fixture(scope="session")
def layers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A four-layer model."""
    return small_models.layers_model(tmp_path_factory.mktemp("layers") / "model.onnx")


@pytest.fixture(scope="session")
def three_stages(layers: Path) -> Path:
    """The same, compiled to three stages: program files only. Tests must not change it."""
    return hethub.compile(layers, layers.parent / "out", stages=3, emit=("program",))
