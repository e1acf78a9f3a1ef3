"""HetHub: one ONNX model on accelerators that do not match.

The functions mirror the commands of `hethub`:

    out = hethub.compile("model.onnx", "out", cluster="cluster.yaml")
    hethub.build(out)
    result = hethub.run(out, {"x": array}, microbatches=4)
    result.outputs["y"]
"""

from .build import build
from .chain import chain, verify
from .compile import Search, TrainingStep, compile, plan
from .errors import HetHubError
from .export import export
from .links import profile_links
from .predict import predict
from .profile import profile
from .report import report
from .run import Result, run
from .split import split
from .train import Settings, Training, train
from .version import __version__

__all__ = [
    "HetHubError",
    "Result",
    "Search",
    "Settings",
    "Training",
    "TrainingStep",
    "__version__",
    "build",
    "chain",
    "compile",
    "export",
    "plan",
    "predict",
    "profile",
    "profile_links",
    "report",
    "run",
    "split",
    "train",
    "verify",
]
