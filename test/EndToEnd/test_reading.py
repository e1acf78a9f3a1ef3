"""Models from packages do what they were made for, through several stages."""

from __future__ import annotations

from pathlib import Path

import hethub
import numpy as np
from model_table import BY_SPEC, ensure, example, fixed_dims
from models.packages import SENTENCE, read_text


def run_model(spec: str, folder: Path, stages: int) -> np.ndarray:
    """The first output of a model on its example."""
    model = BY_SPEC[spec]
    path = ensure(model)
    inputs = example(model)
    out = hethub.compile(path, folder / spec, stages=stages, dims=fixed_dims(model, inputs), emit=("program",))
    return next(iter(hethub.run(out, inputs).outputs.values()))


def test_three_networks_read_a_picture_of_text(tmp_path: Path) -> None:
    found = run_model("ocr_detect.package", tmp_path, 2)[0, 0] > 0.3
    rows, columns = np.nonzero(found)
    # The line of text is drawn at (12, 60), 20 pixels high: the network finds it there and nowhere else.
    assert rows.min() > 50
    assert rows.max() < 95
    assert columns.min() < 30
    assert columns.max() > 230
    upright, turned = run_model("ocr_direction.package", tmp_path, 2)
    assert upright[0] > 0.5 > turned[0]
    probabilities = run_model("ocr_recognise.package", tmp_path, 3)
    assert read_text(BY_SPEC["ocr_recognise.package"].path, probabilities) == SENTENCE


def test_magika_tells_python_from_zip(tmp_path: Path) -> None:
    scores = run_model("magika.package", tmp_path, 3)
    assert scores.shape == (2, 214)
    assert scores.argmax(axis=1)[0] != scores.argmax(axis=1)[1]
    assert (scores.max(axis=1) > 0.5).all()
