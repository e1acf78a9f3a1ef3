"""The models of the end-to-end tests: one row each. Files are made on demand by utils/export_models.py."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

TOP = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "utils"))

import export_models  # noqa: E402  (needs the path above)


@dataclass(frozen=True)
class Model:
    spec: str  # NAME.VARIANT of utils/export_models.py
    wide: bool = False  # only in `make test-all`
    cpp: bool = False  # its C++ programs are built in `make test`, not only in test-all
    atol: float = 1e-5  # of the largest value; the relative tolerance is 1e-4 throughout

    @property
    def path(self) -> Path:
        return TOP / ".models" / self.spec / "model.onnx"


MODELS = [
    Model("gpt2.static", cpp=True),
    Model("gpt2.legacy"),
    Model("gpt2.dyn", cpp=True),
    Model("llama.static"),
    Model("llama.dyn"),
    Model("bert.static"),
    Model("bert.legacy"),
    Model("bert.dyn"),
    Model("vit.static"),
    Model("vit.dyn", wide=True),
    Model("resnet50.static", cpp=True),
    Model("resnet50.legacy"),
    Model("resnet50.dyn", wide=True),
    Model("mobilenetv3.static"),
    Model("mobilenetv3.dyn", wide=True),
    Model("efficientnet.static"),
    Model("efficientnet.dyn", wide=True),
    Model("whisper_encoder.static"),
    Model("whisper_encoder.dyn"),
    Model("minilm.dyn"),
    Model("magika.package"),
    Model("ocr_detect.package"),
    Model("ocr_recognise.package"),
    Model("ocr_direction.package"),
    Model("ocr_v4_detect.package", wide=True),
    Model("ocr_v4_recognise.package", wide=True),
    Model("gpt2.op23", wide=True),
    Model("bert.op23", wide=True),
    Model("llama.legacy", wide=True),
    Model("vit.legacy", wide=True),
    Model("lstm_tagger.static", wide=True),
    Model("lstm_tagger.dyn", wide=True),
    Model("lstm_tagger.legacy", wide=True),
    Model("unet.static", wide=True),
    Model("unet.dyn", wide=True),
]
BY_SPEC = {model.spec: model for model in MODELS}


def ensure(model: Model) -> Path:
    """The model's file, made now if it is not there."""
    failed = export_models.ensure([model.spec], TOP / ".models")
    assert not failed, f"could not make {model.spec}, see {model.path.parent / 'log.txt'}"
    return model.path


def example(model: Model) -> dict[str, np.ndarray]:
    """Inputs by ONNX name, of a model that is made now if it is not there."""
    with np.load(ensure(model).parent / "io.npz") as file:
        return {key.removeprefix("in__"): file[key] for key in file.files if key.startswith("in__")}


def fixed_dims(model: Model, inputs: dict[str, np.ndarray]) -> dict[str, int]:
    """Sizes of the symbolic dimensions that make the model fit these inputs. A dimension without a usable name is
    called after its input and axis: INPUT[AXIS]."""
    dims: dict[str, int] = {}
    graph = onnx.load(model.path, load_external_data=False).graph
    names = [d.dim_param for value in graph.input for d in value.type.tensor_type.shape.dim if d.dim_param]
    for value in graph.input:
        if value.name not in inputs:
            continue
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            size = inputs[value.name].shape[axis]
            if dim.dim_param and dim.dim_param != "?" and names.count(dim.dim_param) >= 1:
                dims[dim.dim_param] = size
            elif dim.dim_value <= 0:
                dims[f"{value.name}[{axis}]"] = size
    return dims
