"""Plain single-process PyTorch on the modules that models were exported from: the right answer for training."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import onnx
import torch
from model_table import TOP, Model, ensure
from onnx import numpy_helper

STEPS = 20
STEPS_OF_DATA = 4  # then it starts again, so that the loss falls
MICROBATCHES = 5  # of a step: two and three replicas get unlike numbers of them
IGNORED = -100  # label that counts for nothing
WEIGHT_DECAY = 0.5  # of adamw: shows in parameters after a few steps


@dataclass(frozen=True)
class Task:
    """A model and how it is trained."""

    spec: str  # NAME.VARIANT of utils/export_models.py
    classes: int
    labels_per: str  # "token" or "sample"
    in_training_form: bool = False  # batch norm and dropout as torch does them after module.train()
    learning_rate: float = 0.02
    frozen: tuple[str, ...] = ()  # patterns of float initializers that are no parameters of the module
    output: str = "logits"

    def rate(self, optimizer: str) -> float:
        return self.learning_rate if optimizer == "sgd" else self.learning_rate / 50

    @property
    def model(self) -> Model:
        return Model(self.spec)

    @property
    def name(self) -> str:
        return self.spec.split(".")[0]


STATISTICS = ("*running_*",)  # no parameters where batch norm is in its evaluation form
TASKS = {
    "gpt2": Task("gpt2.static", 1000, "token"),
    "bert": Task("bert.static", 5, "sample"),
    # Where one ReLU in thousands changes sides gradients jump: torch's own in float32 are 1 % from those in float64.
    # So float32 agrees as long as every sum has torch's order, and float64 shows that the rest does.
    "resnet50": Task("resnet50_small.plain", 1000, "sample", frozen=STATISTICS, learning_rate=0.002),
    "resnet50-train": Task("resnet50_small.plain", 1000, "sample", in_training_form=True, learning_rate=0.002),
    "resnet50-double": Task("resnet50_small.double", 1000, "sample", frozen=STATISTICS, learning_rate=0.002),
    "resnet50-train-double": Task("resnet50_small.double", 1000, "sample", in_training_form=True, learning_rate=0.002),
    "mixtral": Task("mixtral.static", 500, "token", frozen=("unsqueeze_*",)),
    "llama-tied": Task("llama_tied.static", 1000, "token", frozen=("unsqueeze_*",)),
}


@dataclass
class Trained:
    """By the names of the ONNX file, in its orientation."""

    gradients: dict[str, np.ndarray]  # of the first step, summed over its microbatches
    losses: list[float] = field(default_factory=list)  # of each step: the mean over its microbatches
    parameters: dict[str, np.ndarray] = field(default_factory=dict)  # at the end
    state: dict[str, torch.Tensor] = field(default_factory=dict)  # the module's own, at the end


def make_net(task: Task):
    from models.export import in_double
    from models.nets import NETS

    net = NETS[task.name]()
    return in_double(net) if task.spec.endswith(".double") else net


@functools.cache
def data(task_name: str, microbatches: int = MICROBATCHES) -> dict[str, np.ndarray]:
    """Samples of a few steps, in order: the module's inputs by name, and `labels`. Some labels are ignored; sequences
    have padding of different lengths."""
    task = TASKS[task_name]
    example = {name: value.numpy() for name, value in make_net(task).inputs(0).items()}
    random = np.random.default_rng(29)
    batch = next(iter(example.values())).shape[0]
    samples = STEPS_OF_DATA * microbatches * batch
    arrays: dict[str, np.ndarray] = {}
    for name, value in example.items():
        shape = (samples, *value.shape[1:])
        if value.dtype.kind == "f":
            arrays[name] = random.standard_normal(shape).astype(value.dtype)
        elif name == "attention_mask":
            lengths = random.integers(shape[1] // 2, shape[1] + 1, samples)
            arrays[name] = (np.arange(shape[1]) < lengths[:, None]).astype(value.dtype)
        else:
            # Without the padding token: its embedding has no gradient in torch, which ONNX has no form for.
            lowest = 2 if name == "input_ids" else 0
            arrays[name] = random.integers(lowest, value.max() + 1, shape, dtype=value.dtype)
    tokens = (example["input_ids"].shape[1],) if task.labels_per == "token" else ()
    labels = random.integers(0, task.classes, (samples, *tokens), dtype=np.int64)
    if tokens:
        labels[random.random(labels.shape) < 0.2] = IGNORED
    arrays["labels"] = labels
    return arrays


def loss_of(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(
        logits.reshape(-1, logits.shape[-1]), labels.reshape(-1), ignore_index=IGNORED
    )


def split(arrays: dict[str, np.ndarray], parts: int) -> Iterator[dict[str, np.ndarray]]:
    for k in range(parts):
        yield {name: np.split(array, parts)[k] for name, array in arrays.items()}


Optimizer = Callable[[list[torch.nn.Parameter]], torch.optim.Optimizer]
OPTIMIZERS: dict[str, Callable[[list[torch.nn.Parameter], float], torch.optim.Optimizer]] = {
    "sgd": lambda p, rate: torch.optim.SGD(p, rate, momentum=0.9),
    # Parameters of one axis are not decayed.
    "adamw": lambda p, rate: torch.optim.AdamW(
        [
            {"params": [q for q in p if q.ndim > 1], "weight_decay": WEIGHT_DECAY},
            {"params": [q for q in p if q.ndim <= 1], "weight_decay": 0.0},
        ],
        rate,
    ),
}


@functools.cache
def train(task_name: str, optimizer: str = "sgd", steps: int = STEPS, microbatches: int = MICROBATCHES) -> Trained:
    """Trains the module and returns everything by the names of its ONNX file."""
    task = TASKS[task_name]
    torch.set_num_threads(1)
    net = make_net(task)
    module = net.module
    module.train(task.in_training_form)
    names = onnx_names(task, module)
    parameters = dict(module.named_parameters())
    update = OPTIMIZERS[optimizer](list(parameters.values()), task.rate(optimizer))
    trained = Trained({})
    batches = list(split(data(task_name, microbatches), STEPS_OF_DATA))
    for number in range(steps):
        step = batches[number % STEPS_OF_DATA]
        update.zero_grad()
        total = 0.0
        for part in split(step, microbatches):
            inputs = [torch.from_numpy(part[name]) for name in net.inputs(0)]
            loss = loss_of(module(*inputs), torch.from_numpy(part["labels"])) / microbatches
            loss.backward()
            total += loss.item()
        trained.losses.append(total)
        if number == 0:
            trained.gradients = {
                onnx_name: turned(parameters[name].grad.numpy().copy(), is_turned)
                for onnx_name, (name, is_turned) in names.items()
            }
        update.step()
    trained.parameters = {
        onnx_name: turned(parameters[name].detach().numpy().copy(), is_turned)
        for onnx_name, (name, is_turned) in names.items()
    }
    trained.state = {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}
    return trained


def turned(array: np.ndarray, is_turned: bool) -> np.ndarray:
    return np.swapaxes(array, -1, -2) if is_turned else array


def float_initializers(task: Task) -> dict[str, np.ndarray]:
    model = onnx.load(ensure(task.model))
    arrays = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    return {name: array for name, array in arrays.items() if array.dtype.kind == "f" and array.size > 1}


def onnx_names(task: Task, module: torch.nn.Module) -> dict[str, tuple[str, bool]]:
    """Initializer: parameter of the module, and whether the exporter has transposed it.

    Exporters keep names but for weights that they fold a transposition into; those are found by their values. Every
    initializer that is not frozen must be a parameter, and every parameter an initializer.
    """
    parameters = {name: p.detach().numpy() for name, p in module.named_parameters()}
    aliases: dict[int, str] = {}
    spellings: dict[str, str] = {}  # of tied parameters
    for name, p in module.named_parameters(remove_duplicate=False):
        spellings[name] = aliases.setdefault(id(p), name)
    found: dict[str, tuple[str, bool]] = {}
    for name, array in float_initializers(task).items():
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in task.frozen):
            continue
        if task.in_training_form and name in dict(module.named_buffers()):
            continue  # updated, not trained
        candidates = [spellings[name]] if name in spellings else list(parameters)
        match = [
            (candidate, is_turned)
            for candidate in candidates
            for is_turned in (False, True)
            if (parameters[candidate].ndim > 1 or not is_turned)
            and np.array_equal(turned(parameters[candidate], is_turned), array)
        ]
        assert match, f"{name} of {task.spec} is no parameter of its module"
        found[name] = match[0]
    missing = set(parameters) - {name for name, _ in found.values()}
    assert not missing, f"{task.spec} lacks {sorted(missing)}"
    return found


def relative_errors(
    ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray], floor: float = 1e-5
) -> dict[str, float]:
    """Norm of the difference over the norm of the right gradient, for each parameter.

    Gradients that are zero but for rounding (the bias of attention's keys: softmax does not see it) have no relative
    error; a norm below `floor` of the one of all gradients together counts as that.
    """
    assert sorted(ours) == sorted(theirs)
    whole = float(np.sqrt(sum(np.linalg.norm(g.astype(np.float64)) ** 2 for g in theirs.values())))
    errors: dict[str, float] = {}
    for name, right in theirs.items():
        assert ours[name].shape == right.shape, name
        norm = max(float(np.linalg.norm(right.astype(np.float64))), floor * whole)
        errors[name] = float(np.linalg.norm(ours[name].astype(np.float64) - right.astype(np.float64))) / norm
    return errors


assert TOP  # model_table puts utils/ on the path, from which `models` is imported
