"""Calls on which check_gradients.py tries the rules of hh-differentiate: several for each operator.

Float tensors of a call are differentiated, all others and those marked Fixed are inputs. Shapes include scalars, empty
tensors and broadcasting; values stay off the kinks of a function where `smooth` says so.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

GENERATOR = torch.Generator()


class Parts(list):
    """A list of tensors, absent ones None."""


@dataclass(eq=False)
class Fixed:
    """A float tensor that is an input, not a parameter."""

    tensor: torch.Tensor


@dataclass(eq=False)
class Case:
    """A call. `differentiated`: results that the loss reads; `function`: what torch differentiates in its place."""

    schema: str
    arguments: tuple
    keywords: dict
    smooth: bool = True
    differentiated: tuple[int, ...] = (0,)
    device: str = "cpu"
    function: Callable | None = None

    @property
    def mlir_name(self) -> str:
        library, _, name = self.schema.partition("::")
        return f"aten.{name}" if library == "aten" else f"aten.{library}.{name}"

    @property
    def overload(self) -> torch._ops.OpOverload:
        library, _, name = self.schema.partition("::")
        base, _, overload = name.partition(".")
        return getattr(getattr(getattr(torch.ops, library), base), overload or "default")

    def by_name(self) -> dict:
        names = [argument.name for argument in self.overload._schema.arguments]
        return dict(zip(names, self.arguments, strict=False)) | self.keywords

    def outputs(self, replaced: dict[int, torch.Tensor] | None = None) -> list:
        def plain(value: object) -> object:
            if isinstance(value, Fixed):
                return value.tensor
            if isinstance(value, Parts):
                return [plain(v) for v in value]
            return (replaced or {}).get(id(value), value)

        function = self.function if replaced and self.function else self.overload
        result = function(*map(plain, self.arguments), **{k: plain(v) for k, v in self.keywords.items()})
        return list(result) if isinstance(result, (tuple, list)) else [result]

    def converted(self, dtype: torch.dtype) -> "Case":
        """The same call in another precision."""
        known: dict[int, torch.Tensor] = {}

        def convert(value: object) -> object:
            if isinstance(value, Fixed):
                return Fixed(convert(value.tensor))
            if isinstance(value, Parts):
                return Parts(map(convert, value))
            if isinstance(value, torch.Tensor) and value.dtype == torch.float64:
                return known.setdefault(id(value), value.to(dtype))
            return dtype if value is torch.float64 else value

        keywords = {name: convert(value) for name, value in self.keywords.items()}
        return replace(self, arguments=tuple(map(convert, self.arguments)), keywords=keywords)

    def runs(self) -> bool:
        """Whether torch has the operator in this precision."""
        try:
            self.outputs()
        except (NotImplementedError, RuntimeError):
            return False
        return True

    def float_types(self) -> set[torch.dtype]:
        """Of all tensors that go in and out."""
        values = [v for a in self.arguments for v in (a if isinstance(a, Parts) else [a])]
        values = [v.tensor if isinstance(v, Fixed) else v for v in [*values, *self.outputs()]]
        return {v.dtype for v in values if isinstance(v, torch.Tensor) and v.dtype.is_floating_point}

    def has_matrix(self) -> bool:
        """Whether a gradient that comes in can be transposed."""
        outputs = self.outputs()
        return any(outputs[i].dim() > 1 for i in self.differentiated)

    def weight(self, result: int, shape: torch.Size) -> torch.Tensor:
        generator = torch.Generator().manual_seed(100 + result)
        return torch.randn(shape, dtype=torch.float64, generator=generator)

    def __str__(self) -> str:
        def short(value: object) -> str:
            if isinstance(value, Fixed):
                return short(value.tensor)
            if isinstance(value, Parts):
                return f"({', '.join(map(short, value))})"
            return str(list(value.shape)) if isinstance(value, torch.Tensor) else str(value)

        texts = [*map(short, self.arguments), *(f"{k}={short(v)}" for k, v in self.keywords.items())]
        return f"{self.schema}({', '.join(texts)})"


def reals(*shape: int, low: float = -2.0, high: float = 2.0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return (torch.rand(shape, dtype=torch.float64, generator=GENERATOR) * (high - low) + low).to(dtype)


def positive(*shape: int) -> torch.Tensor:
    return reals(*shape, low=0.5)


def integers(high: int, *shape: int) -> torch.Tensor:
    return torch.randint(high, shape, generator=GENERATOR)


def booleans(*shape: int) -> torch.Tensor:
    return torch.rand(shape, generator=GENERATOR) < 0.5


def permuted(high: int, *shape: int) -> torch.Tensor:
    """Indices without repetition along the last axis."""
    return torch.rand((*shape[:-1], high), generator=GENERATOR).argsort(-1)[..., : shape[-1]].contiguous()


def away(tensor: torch.Tensor, *kinks: float) -> torch.Tensor:
    """The values moved off the points where a function bends."""
    for kink in kinks:
        near = (tensor - kink).abs() < 0.05
        tensor = torch.where(near, kink + 0.1, tensor)
    return tensor


def aten(name: str, *arguments: object, **options: object) -> Case:
    """A case; keywords of the call go in `keywords`."""
    own = {k: options.pop(k) for k in ("smooth", "differentiated", "device", "function") if k in options}
    return Case(f"aten::{name}", arguments, options, **own)


def hethub(name: str, *arguments: object, **options: object) -> Case:
    own = {k: options.pop(k) for k in ("smooth", "differentiated", "function") if k in options}
    return Case(f"hethub::{name}", arguments, options, **own)


SHAPES = [(3, 4), (), (2, 0, 3), (2, 3, 1, 2)]
# Pairs of shapes that broadcast.
PAIRS = [((3, 4), (3, 4)), ((2, 3, 4), (4,)), ((3, 1), (1, 4)), ((), (2, 3)), ((2, 3), ()), ((), ()), ((0, 3), (1, 3)),
         ((1, 1), (2, 1, 3))]  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# Elements
# ---------------------------------------------------------------------------------------------------------------------


def unary_cases() -> list[Case]:
    ranges = {
        "abs": (-2, 2), "acos": (-0.9, 0.9), "acosh": (1.1, 3), "asin": (-0.9, 0.9), "asinh": (-2, 2), "atan": (-2, 2),
        "atanh": (-0.9, 0.9), "cos": (-3, 3), "cosh": (-2, 2), "erf": (-2, 2), "exp": (-2, 2), "gelu": (-3, 3),
        "log": (0.5, 3), "mish": (-3, 3), "neg": (-2, 2), "reciprocal": (0.5, 2), "rsqrt": (0.5, 3),
        "sigmoid": (-3, 3), "silu": (-3, 3), "sin": (-3, 3), "sinh": (-2, 2), "sqrt": (0.5, 3), "tan": (-1, 1),
        "tanh": (-2, 2), "alias": (-2, 2), "clone": (-2, 2), "contiguous": (-2, 2), "ceil": (-2, 2), "floor": (-2, 2),
        "round": (-2, 2), "sign": (-2, 2),
    }  # fmt: skip
    kinks = {"abs": [0], "sign": [0], "ceil": range(-2, 3), "floor": range(-2, 3),
             "round": [-1.5, -0.5, 0.5, 1.5]}  # fmt: skip
    cases = []
    for name, (low, high) in ranges.items():
        for shape in SHAPES:
            cases.append(aten(name, away(reals(*shape, low=low, high=high), *kinks.get(name, []))))
    for shape in SHAPES:
        x = away(reals(*shape, low=-4, high=4), -3, -1, 0, 0.3, 1, 2, 3)
        cases += [
            aten("relu", x),
            aten("hardsigmoid", x),
            aten("hardswish", x),
            aten("gelu", x, approximate="tanh"),
            aten("elu", x),
            aten("elu", x, 1.5, 1.1, 0.7),
            aten("celu", x, 0.5),
            aten("leaky_relu", x),
            aten("leaky_relu", x, 0.2),
            aten("softplus", x),
            aten("softplus", x, 2.0, 1.0),
            aten("threshold", x, 0.3, -1.0),
            aten("clamp", x, -1, 1.0),
            aten("clamp", x, None, 2.0),
            aten("clamp", x, 0.3),
        ]
    cases += [
        aten("relu", torch.zeros(3, dtype=torch.float64), smooth=False),
        aten("abs", torch.zeros(3, dtype=torch.float64), smooth=False),
        aten("to.dtype", reals(3, 4), torch.float32),
        aten("to.dtype", reals(dtype=torch.float32), torch.float64),
        aten("to.dtype", reals(2, 3, dtype=torch.bfloat16), torch.float32),
    ]
    return cases


def binary_cases() -> list[Case]:
    cases = []
    for a, b in PAIRS:
        x, y = reals(*a), positive(*b)
        cases += [
            aten("add.Tensor", x, y),
            aten("add.Tensor", x, y, alpha=2.5),
            aten("sub.Tensor", x, y),
            aten("sub.Tensor", x, y, alpha=3),
            aten("mul.Tensor", x, y),
            aten("div.Tensor", x, y),
            aten("div.Tensor_mode", x, y, rounding_mode=None),
            aten("div.Tensor_mode", x, y, rounding_mode="floor", smooth=False),
            aten("fmod.Tensor", x, y, smooth=False),
            aten("remainder.Tensor", x, y, smooth=False),
            aten("pow.Tensor_Tensor", positive(*a), reals(*b)),
            aten("maximum", x, y),
            aten("minimum", x, y),
            aten("where.self", booleans(*a), x, y),
            aten("masked_fill.Scalar", reals(*torch.broadcast_shapes(a, b)), booleans(*b), -1.0),
            aten("clamp.Tensor", reals(*torch.broadcast_shapes(a, b)), reals(*a), reals(*b)),
        ]
    same = reals(3)
    zeros = torch.tensor([0.0, 0.0, 0.0, 2.0], dtype=torch.float64)
    cases += [
        aten("mul.Tensor", same, same),
        aten("div.Tensor", same, same),
        aten("mul.Tensor", reals(2, 3, dtype=torch.float32), reals()),
        aten("mul.Tensor", reals(2, 3), booleans(3)),
        aten("add.Tensor", reals(2, 3), integers(5, 2, 3)),
        aten("div.Tensor", reals(2, 3), integers(5, 3) + 1),
        aten("maximum", same, same.clone(), smooth=False),
        aten("minimum", same, same.clone(), smooth=False),
        aten("pow.Tensor_Tensor", zeros, torch.tensor([0.0, 1.0, 2.0, 0.0], dtype=torch.float64), smooth=False),
        aten("pow.Tensor_Tensor", reals(2, 3), integers(4, 3)),
        aten("clamp.Tensor", reals(4, 4), None, reals(4)),
        aten("clamp.Tensor", reals(4, 4), reals(4, 1)),
        aten("where.self", booleans(2, 3), reals(3), reals()),
        aten("where.self", booleans(3), reals(), reals(2, 1)),
    ]
    for shape in SHAPES:
        x, y = reals(*shape), positive(*shape)
        cases += [
            aten("add.Scalar", x, 1.5),
            aten("add.Scalar", x, 2, 3),
            aten("sub.Scalar", x, 1),
            aten("rsub.Scalar", x, 1, 2.5),
            aten("mul.Scalar", x, -2),
            aten("div.Scalar", x, 3.0),
            aten("div.Scalar_mode", x, 3.0, rounding_mode=None),
            aten("div.Scalar_mode", x, 0.3, rounding_mode="trunc", smooth=False),
            aten("fmod.Scalar", x, 0.7, smooth=False),
            aten("remainder.Scalar", x, 0.7, smooth=False),
            aten("pow.Tensor_Scalar", x, 0),
            aten("pow.Tensor_Scalar", x, 1),
            aten("pow.Tensor_Scalar", x, 2),
            aten("pow.Tensor_Scalar", y, -0.5),
            aten("pow.Scalar", 2.5, x),
            aten("pow.Scalar", 0, y),
        ]
    return cases


def flat_cases() -> list[Case]:
    """Operators without a derivative: the loss depends on their results, their arguments have no gradient."""
    x, y = away(reals(3, 4), 0), away(reals(4), 0)
    i, j, b = integers(5, 3, 4), integers(5, 4), booleans(3, 4)
    cases = [aten(f"{name}.Tensor", x, y) for name in ("eq", "lt", "le", "gt", "ge")]
    cases += [aten(f"{name}.Scalar", x, 0.0) for name in ("eq", "ne", "lt", "le", "gt", "ge")]
    cases += [aten(f"bitwise_{name}.Tensor", i, j) for name in ("and", "or", "xor", "left_shift", "right_shift")]
    cases += [aten(f"logical_{name}", b, booleans(4)) for name in ("and", "or", "xor")]
    cases += [
        aten("bitwise_not", i), aten("logical_not", b), aten("isinf", x), aten("isnan", x),
        aten("view.dtype", x, torch.int64, smooth=False), aten("all.dim", b, 0), aten("any.dim", b, 1, True),
        aten("argmax", x, 1), aten("argmin", x, 0, True), aten("arange.start_step", 0, 6, 2, dtype=torch.float64),
        aten("blackman_window.periodic", 8, True, dtype=torch.float64), aten("eye.m", 3, 4, dtype=torch.float64),
        aten("full", [2, 3], 1.5, dtype=torch.float64),
        aten("hamming_window.periodic_alpha_beta", 8, True, 0.5, 0.5, dtype=torch.float64),
        aten("hann_window.periodic", 8, False, dtype=torch.float64), hethub("wrap_index", i - 2, 5),
        hethub("unsigned_binary", i.to(torch.uint32), j.to(torch.uint32), "maximum"),
    ]  # fmt: skip
    return cases


# ---------------------------------------------------------------------------------------------------------------------
# Reductions, views, indices
# ---------------------------------------------------------------------------------------------------------------------


def reduction_cases() -> list[Case]:
    cases = []
    for shape, axes in [((3, 4), [1]), ((2, 3, 4), [0, -1]), ((2, 3), []), ((), []), ((2, 0, 3), [1]), ((0, 3), [1])]:
        for keep in (False, True):
            x = reals(*shape)
            cases += [aten("sum.dim_IntList", x, axes, keep), aten("mean.dim", x, axes, keep)]
            empty = any(shape[a] == 0 for a in (axes or range(len(shape))))
            if not empty:
                cases += [aten("amax", x, axes, keep), aten("amin", x, axes, keep)]
            cases.append(aten("logsumexp", x, axes or list(range(len(shape))), keep))
            orders = [1, 2, 3.0, 0.5, 1.5, 0] + ([] if empty else [math.inf, -math.inf])
            cases += [aten("linalg_vector_norm", x, order, axes or None, keep) for order in orders]
            if shape:
                cases += [aten("var.correction", x, axes or None, correction=c, keepdim=keep) for c in (0, 1)]
    zeros = torch.zeros(2, 3, dtype=torch.float64)
    cases += [
        aten("sum.dim_IntList", reals(2, 3, dtype=torch.float32), [1], False, dtype=torch.float64),
        aten("mean.dim", reals(2, 3), None),
        aten("var.correction", reals(2, 5), [1]),
        aten("amax", zeros, [1], smooth=False),
        aten("amin", zeros, [0, 1], smooth=False),
        aten("linalg_vector_norm", zeros, 2, [1], smooth=False),
        aten("linalg_vector_norm", zeros, 1.5, [1], smooth=False),
        aten("linalg_vector_norm", zeros, 3, [1], smooth=False),
        aten("linalg_vector_norm", zeros, math.inf, [1], smooth=False),
    ]
    with_zeros = reals(4, 5)
    with_zeros[0, 2] = with_zeros[1, 0] = with_zeros[1, 3] = with_zeros[2, 4] = 0
    for x in (reals(3, 4), with_zeros, reals(), reals(3, 1), reals(2, 0), reals(0, 2)):
        axis = x.dim() - 1
        cases += [aten("prod.dim_int", x, axis), aten("prod.dim_int", x, -1, True)]
        cases += [aten("cumsum", x, axis), aten("cumprod", x, axis)]
    cases += [aten("cumsum", reals(3, 4), 0), aten("cumprod", with_zeros, 0), aten("prod.dim_int", with_zeros, 0)]
    return cases


def view_cases() -> list[Case]:
    x, y = reals(2, 3, 4), reals(2, 3)
    return [
        aten("cat", Parts([reals(2, 3), reals(2, 0), reals(2, 2)]), 1),
        aten("cat", Parts([y, y, reals(1, 3)]), -2),
        aten("cat", Parts([reals(0), y])),
        aten("constant_pad_nd", x, [1, 2]),
        aten("constant_pad_nd", x, [-1, 2, 1, -1], 3.0),
        aten("constant_pad_nd", reals(0, 3), [0, 1, 2, 0]),
        aten("diagonal", reals(3, 4)),
        aten("diagonal", reals(2, 4, 3), 1, -1, 1),
        aten("diagonal", reals(3, 3), -1),
        aten("expand", reals(3, 1), [2, 3, 4]),
        aten("expand", reals(), [2, 3]),
        aten("expand", reals(1, 3), [-1, 3]),
        aten("expand", reals(1), [0]),
        aten("flip", x, [0, 2]),
        aten("narrow", x, 1, 1, 2),
        aten("narrow", x, -1, -3, 2),
        aten("permute", x, [2, 0, 1]),
        aten("permute", x, [-1, 1, 0]),
        aten("permute", reals(), []),
        aten("pixel_shuffle", reals(2, 8, 3, 2), 2),
        aten("repeat", y, [2, 1, 3]),
        aten("repeat", y, [1, 1]),
        aten("repeat", reals(), [2]),
        aten("repeat", y, [2, 0]),
        aten("reshape", x, [6, 4]),
        aten("reshape", x, [-1]),
        aten("reshape", reals(1), []),
        aten("reshape", reals(0, 3), [3, 0]),
        aten("roll", x, [1, 2], [0, 2]),
        aten("roll", y, [2]),
        aten("select.int", x, 1, 2),
        aten("select.int", x, -1, -1),
        aten("slice.Tensor", x, 2, 1, 4, 2),
        aten("slice.Tensor", x, -1, -3),
        aten("slice.Tensor", x),
        aten("slice.Tensor", x, 1, 2, 100),
        aten("slice.Tensor", x, 1, 2, 2),
        aten("squeeze.dims", reals(1, 3, 1), [0, 2]),
        aten("squeeze.dims", reals(1, 3, 1), [-1]),
        aten("stack", Parts([y, reals(2, 3), y]), 1),
        aten("stack", Parts([y, reals(2, 3)]), -1),
        aten("stack", Parts([reals(), reals()])),
        aten("t", y),
        aten("t", reals(3)),
        aten("transpose.int", x, 0, -1),
        aten("transpose.int", reals(), 0, 0),
        aten("tril", reals(3, 4), -1),
        aten("tril", reals(2, 3, 3)),
        aten("triu", reals(3, 4), 1),
        aten("unsqueeze", y, 1),
        aten("unsqueeze", y, -1),
        aten("unsqueeze", reals(), 0),
        aten("pad", reals(2, 3, 5), [2, 1], "reflect"),
        aten("pad", reals(2, 3, 4, 5), [2, 1, 1, 3], "reflect"),
        aten("pad", reals(2, 2, 3, 4, 5), [2, 1, 1, 2, 1, 2], "reflect"),
        aten("pad", reals(2, 3, 5), [2, 7], "replicate"),
        aten("pad", reals(2, 3, 4, 5), [0, 1, 5, 3], "replicate"),
        aten("pad", reals(2, 2, 3, 4, 5), [2, 1, 1, 2, 1, 2], "replicate"),
        aten("pad", reals(2, 3), [1, -1], "constant", 2.0),
    ]


def index_cases() -> list[Case]:
    x, i = reals(4, 5), integers
    sources = reals(3, 5)
    cases = [
        aten("embedding", reals(7, 3), i(7, 2, 4)),
        aten("embedding", reals(7, 3), i(7)),
        aten("embedding", reals(7, 3), i(7, 5, 1), 2, smooth=False),
        aten("embedding", reals(7, 3), i(7, 6), -1, True, smooth=False),
        aten("embedding", reals(7, 0), i(7, 2)),
        aten("gather", x, 1, i(5, 4, 3)),
        aten("gather", x, -2, i(4, 6, 5)),
        aten("gather", x, 0, i(4, 2, 3)),
        aten("gather", reals(), 0, i(1)),
        aten("gather", x, 1, i(5, 4, 0)),
        aten("index.Tensor", x, Parts([i(4, 3)])),
        aten("index.Tensor", x, Parts([i(4, 2, 3), i(5, 3)])),
        aten("index.Tensor", x, Parts([None, i(5, 3, 1)])),
        aten("index.Tensor", reals(3, 4, 5), Parts([i(3, 2), None, i(5, 2)])),
        aten("index.Tensor", reals(3, 4, 5), Parts([None, i(4, 2, 2), i(5, 2)])),
        aten("index.Tensor", x, Parts([i(4, 0)])),
        aten("index_put", x, Parts([i(4, 3)]), sources, True),
        aten("index_put", x, Parts([permuted(4, 3)]), sources),
        aten("index_put", x, Parts([permuted(4, 2), i(5, 2)]), reals(2)),
        aten("index_put", x, Parts([i(4, 2), i(5, 3, 1)]), reals(), True),
        aten("index_put", x, Parts([None, permuted(5, 3)]), reals(4, 1)),
        aten("index_put", reals(3, 4, 5), Parts([permuted(3, 2), None, i(5, 2)]), reals(2, 4)),
        aten("index_put", reals(3, 4, 5), Parts([None, permuted(4, 2), i(5, 2)]), reals(3, 2)),
        aten("index_select", x, 0, i(4, 6)),
        aten("index_select", x, -1, i(5, 2)),
        aten("index_select", x, 1, i(5, 0)),
        aten("scatter.src", x, 1, permuted(5, 4, 3), reals(4, 3)),
        aten("scatter.src", x, -2, permuted(4, 5, 2).t().contiguous(), reals(2, 5)),
        aten("scatter.src", reals(6), 0, permuted(6, 3), reals(3)),
        aten("scatter_add", x, 1, i(5, 4, 3), reals(4, 3)),
        aten("scatter_add", x, 0, i(4, 7, 5), reals(7, 5)),
        aten("sort.stable", x, stable=True, dim=1),
        aten("sort.stable", x, stable=True, dim=-2, descending=True),
        aten("sort.stable", reals(), stable=True, dim=0),
        aten("sort.stable", reals(2, 0), stable=True, dim=1),
        aten("topk", x, 2),
        aten("topk", x, 3, 0, False),
        aten("topk", reals(), 1),
        hethub("reverse_sequence", reals(5, 3, 2), torch.tensor([5, 2, 0]), 0, 1),
        hethub("reverse_sequence", reals(3, 4), torch.tensor([1, 4, 3]), 1, 0),
    ]
    with_zeros = reals(4, 3)
    with_zeros[1, 1] = 0
    for reduce, include in itertools.product(("sum", "prod", "amax", "amin"), (True, False)):
        cases += [
            aten("scatter_reduce.two", x, 1, i(5, 4, 3), reals(4, 3), reduce, include_self=include),
            aten("scatter_reduce.two", x, 0, i(4, 6, 5), reals(6, 5), reduce, include_self=include),
        ]
        index = permuted(5, 4, 3)
        cases.append(aten("scatter_reduce.two", x, 1, index, with_zeros, reduce, include_self=include))
    ones = torch.ones(3, dtype=torch.float64)
    for reduce in ("amax", "amin"):
        index = torch.tensor([0, 0, 1])
        cases.append(aten("scatter_reduce.two", ones.clone(), 0, index, ones.clone(), reduce, smooth=False))
    return cases


# ---------------------------------------------------------------------------------------------------------------------
# Products, windows
# ---------------------------------------------------------------------------------------------------------------------


def linear_cases() -> list[Case]:
    singular = torch.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 1.0], [3.0, 6.0, 5.0]], dtype=torch.float64)
    cases = [
        aten("mm", reals(2, 3), reals(3, 4)),
        aten("mm", reals(0, 3), reals(3, 4)),
        aten("mm", reals(2, 0), reals(0, 4)),
        aten("bmm", reals(2, 3, 4), reals(2, 4, 5)),
        aten("bmm", reals(0, 3, 4), reals(0, 4, 5)),
        aten("addmm", reals(2, 4), reals(2, 3), reals(3, 4)),
        aten("addmm", reals(4), reals(2, 3), reals(3, 4), beta=0.5, alpha=2),
        aten("addmm", reals(2, 1), reals(2, 3), reals(3, 4), beta=2),
        aten("addmm", reals(), reals(2, 3), reals(3, 4), alpha=-1.5),
        aten("linear", reals(2, 3), reals(4, 3), reals(4)),
        aten("linear", reals(2, 5, 3), reals(4, 3)),
        aten("linear", reals(2, 1, 5, 3), reals(4, 3), reals(4)),
        aten("linear", reals(3), reals(4, 3), reals(4)),
        aten("linear", reals(0, 3), reals(4, 3), reals(4)),
        aten("det", reals(3, 3)),
        aten("det", reals(2, 2, 4, 4)),
        aten("det", singular, smooth=False),  # autograd gives zeros, the determinant has a slope
    ]
    shapes = [((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((5, 2, 3), (3,)), ((3,), (5, 3, 2)),
              ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)), ((1, 2, 3), (5, 3, 4)),
              ((6, 1, 2, 3), (5, 3, 4)), ((2, 2, 3), (5, 1, 3, 4)), ((0, 2, 3), (3, 4)),
              ((2, 0, 3), (3, 4)), ((2, 2, 0), (0, 3)), ((6, 5, 2, 3), (3,))]  # fmt: skip
    cases += [aten("matmul", reals(*a), reals(*b)) for a, b in shapes]
    equations = {
        "ij,jk->ik": [(2, 3), (3, 4)], "ij,jk": [(2, 3), (3, 4)], "bij,bjk->bik": [(5, 2, 3), (5, 3, 4)],
        "bhid,bhjd->bhij": [(2, 3, 4, 5), (2, 3, 6, 5)], "ij->ji": [(2, 3)], "ij->i": [(2, 3)], "ij->": [(2, 3)],
        "ii->i": [(3, 3)], "ii": [(3, 3)], "iji->j": [(3, 2, 3)], "i,j->ij": [(3,), (4,)], "i,i->": [(3,), (3,)],
        "...ij,...jk->...ik": [(2, 1, 3, 4), (5, 4, 2)], "...i,i->...": [(2, 3, 4), (4,)],
        "i...,i...->...": [(3, 2), (3, 2)], "ij,jk,kl->il": [(2, 3), (3, 4), (4, 2)], "ab,cd->ac": [(2, 3), (4, 5)],
        " b i , b i -> b ": [(2, 3), (2, 3)], "Ab,bA": [(2, 3), (3, 2)], "ij,ij->ij": [(1, 3), (2, 3)],
        "iij,j->ij": [(3, 3, 2), (2,)], "ij,jk->ki": [(0, 3), (3, 2)],
    }  # fmt: skip
    cases += [aten("einsum", text, Parts([reals(*s) for s in shapes])) for text, shapes in equations.items()]
    x = reals(3, 3)
    return [*cases, aten("einsum", "ij,jk->ik", Parts([x, x])), aten("matmul", x, x)]


def convolution(x: tuple, w: tuple, bias: bool = True, **options: object) -> Case:
    axes = len(x) - 2
    transposed, groups = options.get("transposed", False), options.get("groups", 1)
    channels = w[1] * groups if transposed else w[0]
    window = [options.get(name, value) for name, value in (("stride", 1), ("padding", 0), ("dilation", 1))]
    window = [v if isinstance(v, list) else [v] * axes for v in window]
    output = [options.get("output_padding", 0)] * axes
    weight = reals(*w)
    return aten(
        "convolution", reals(*x), weight, reals(channels) if bias else None, *window, transposed, output, groups
    )


def window_cases() -> list[Case]:
    cases = [
        convolution((2, 3, 7), (4, 3, 3)),
        convolution((2, 3, 6, 5), (4, 3, 3, 2), stride=[2, 1], padding=[1, 0]),
        convolution((2, 3, 6, 5), (4, 3, 3, 3), bias=False, dilation=2, padding=2),
        convolution((2, 4, 6, 5), (4, 1, 3, 3), groups=4, padding=1),
        convolution((2, 4, 6, 5), (6, 2, 1, 1), groups=2),
        convolution((1, 2, 4, 5, 4), (3, 2, 2, 3, 2), padding=1),
        convolution((2, 3, 5), (3, 4, 3), transposed=True, stride=2, output_padding=1),
        convolution((2, 4, 5, 4), (4, 2, 3, 3), transposed=True, groups=2, stride=2, padding=1, bias=False),
        convolution((0, 3, 6, 5), (4, 3, 3, 3)),
        aten("col2im", reals(2, 12, 12), [4, 5], [2, 2], [1, 1], [0, 0], [1, 1]),
        aten("col2im", reals(2, 12, 6), [5, 4], [2, 2], [2, 1], [0, 1], [2, 2]),
    ]
    pools = [([2], [2], [0]), ([3], [1], [1]), ([3], [], [0])]
    for axes, name in ((1, "avg_pool1d"), (2, "avg_pool2d"), (3, "avg_pool3d")):
        shape = (2, 3, *(7, 6, 5)[:axes])
        for kernel, stride, padding in pools:
            for ceil, count in itertools.product((False, True), repeat=2):
                window = (kernel * axes, stride * axes, padding * axes)
                cases.append(aten(name, reals(*shape), *window, ceil, count))
    cases += [
        aten("avg_pool2d", reals(2, 3, 6, 6), [2, 3], [2, 1], [1, 0], False, True, 3),
        aten("avg_pool2d", reals(0, 3, 6, 6), [2, 2], [2, 2]),
        aten("adaptive_avg_pool2d", reals(2, 3, 6, 7), [1, 1]),
        aten("adaptive_avg_pool2d", reals(2, 3, 6, 7), [4, 3]),
        aten("adaptive_avg_pool2d", reals(3, 6, 7), [8, 7]),
    ]
    for axes in (1, 2, 3):
        shape = (2, 3, *(7, 6, 5)[:axes])
        for kernel, stride, padding, dilation in [(2, 2, 0, 1), (3, 1, 1, 1), (2, 0, 1, 2), (3, 2, 1, 1)]:
            window = [[kernel] * axes, [stride] * axes if stride else [], [padding] * axes, [dilation] * axes]
            for ceil in (False, True):
                cases.append(aten(f"max_pool{axes}d", reals(*shape), *window, ceil))
                cases.append(aten(f"max_pool{axes}d_with_indices", reals(*shape), *window, ceil))
    cases.append(aten("max_pool2d", torch.zeros(1, 1, 4, 4, dtype=torch.float64), [3, 3], [1, 1], smooth=False))
    return cases


def resampling_cases() -> list[Case]:
    cases = []
    sizes = {1: [4, 5, 3], 2: [4, 5, 3], 3: [4, 5, 3]}
    for axes in (1, 2, 3):
        shape = (2, 3, *sizes[axes][:axes])
        factors = [2.0, 1.5, 2.5][:axes]
        x = reals(*shape)
        cases += [
            aten(f"upsample_nearest{axes}d.vec", x, [2 * s for s in shape[2:]], None),
            aten(f"upsample_nearest{axes}d.vec", x, None, factors),
        ]
    for name, axes in (("linear1d", 1), ("bilinear2d", 2), ("bicubic2d", 2), ("trilinear3d", 3)):
        shape = (2, 3, *sizes[axes][:axes])
        for align in (False, True):
            cases += [
                aten(f"upsample_{name}.vec", reals(*shape), [s + 3 for s in shape[2:]], align, None),
                aten(f"upsample_{name}.vec", reals(*shape), None, align, [2.0, 1.5, 2.5][:axes]),
            ]
    for mode, padding, align in itertools.product((0, 1, 2), (0, 1, 2), (False, True)):
        x, grid = reals(2, 3, 5, 4), reals(2, 3, 6, 2, low=-1.2, high=1.2)
        cases.append(aten("grid_sampler", x, grid, mode, padding, align))
    cases += [
        aten("grid_sampler", reals(1, 2, 3, 4, 5), reals(1, 2, 3, 2, 3, low=-1, high=1), 0, 0, False),
        aten("grid_sampler", reals(1, 2, 4, 5), Fixed(reals(1, 2, 3, 2, low=-1, high=1)), 0, 0, False),
        aten("grid_sampler", Fixed(reals(1, 2, 4, 5)), reals(1, 2, 3, 2, low=-1, high=1), 0, 0, True),
        aten("affine_grid_generator", reals(2, 2, 3), [2, 1, 4, 5], False),
        aten("affine_grid_generator", reals(2, 2, 3), [2, 1, 4, 5], True),
        aten("affine_grid_generator", reals(1, 3, 4), [1, 1, 2, 3, 4], False),
    ]

    def resize(x: tuple, sizes: list[int], mode: str, coordinates: str, **options: object) -> Case:
        rank = len(x)
        roi = options.get("roi", [0.0] * rank + [1.0] * rank)
        return hethub(
            "resize", reals(*x), sizes, [s / n for s, n in zip(sizes, x, strict=True)], roi, mode, coordinates,
            options.get("nearest", "round_prefer_floor"), -0.75, options.get("exclude", False),
            options.get("antialias", False), 1.5,
        )  # fmt: skip

    for mode, coordinates in itertools.product(
        ("nearest", "linear", "cubic"),
        ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric"),
    ):
        cases += [
            resize((1, 2, 4, 5), [1, 2, 7, 3], mode, coordinates),
            resize((3, 4), [2, 9], mode, coordinates),
        ]
    roi = [0.0, 0.0, 0.2, -0.3, 1.0, 1.0, 0.8, 1.2]
    cases += [
        resize((1, 2, 4, 5), [1, 2, 6, 7], mode, "tf_crop_and_resize", roi=roi)
        for mode in ("nearest", "linear", "cubic")
    ]
    cases += [resize((4, 6), [3, 2], mode, "half_pixel", antialias=True) for mode in ("linear", "cubic")]
    cases += [resize((4, 6), [7, 9], "cubic", "half_pixel", exclude=True)]
    cases += [
        resize((4, 6), [7, 3], "nearest", "asymmetric", nearest=n) for n in ("floor", "ceil", "round_prefer_ceil")
    ]
    return cases


# ---------------------------------------------------------------------------------------------------------------------
# Networks
# ---------------------------------------------------------------------------------------------------------------------


def norm_cases() -> list[Case]:
    def tracked(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, m: torch.Tensor, v: torch.Tensor) -> Case:
        """Running statistics are no parameters to torch: here they are values that depend on some."""

        def function(x, w, b, m, v, training, momentum, eps, cudnn):
            shape = [1, -1] + [1] * (x.dim() - 2)
            scale = (v + eps).rsqrt()
            y = (x - m.view(shape)) * scale.view(shape)
            return y * w.view(shape) + b.view(shape)

        return aten("batch_norm", x, w, b, m, v, False, 0.0, 1e-5, True, function=function)

    def small(*shape: int) -> torch.Tensor:
        return reals(*shape, dtype=torch.bfloat16)

    def single(*shape: int) -> torch.Tensor:
        return reals(*shape, dtype=torch.float32)

    cases = []
    for shape, normalized in [((2, 3, 4), [4]), ((2, 3, 4), [3, 4]), ((5,), [5]), ((0, 4), [4])]:
        w, b = reals(*normalized), reals(*normalized)
        for weight, bias in ((w, b), (w, None), (None, None), (None, b)):
            x = reals(*shape)
            cases += [
                aten("layer_norm", x, normalized, weight, bias, 1e-3),
                aten("native_layer_norm", x, normalized, weight, bias, 1e-5),
            ]
        cases += [aten("rms_norm", reals(*shape), normalized, weight, 1e-3) for weight in (w, None)]
    cases += [
        aten("rms_norm", reals(2, 4), [4], reals(4), None),
        aten("rms_norm", reals(2, 4, dtype=torch.float32), [4], reals(4, dtype=torch.float32)),
        aten("rms_norm", reals(2, 4, dtype=torch.bfloat16), [4], reals(4, dtype=torch.bfloat16), 1e-3),
        aten("layer_norm", reals(2, 4, dtype=torch.float32), [4], reals(4, dtype=torch.float32)),
        aten("layer_norm", Fixed(reals(2, 4)), [4], reals(4), reals(4)),
        aten("layer_norm", small(2, 4), [4], single(4), single(4)),
        aten("group_norm", small(2, 4, 3), 2, single(4), single(4)),
        aten("batch_norm", small(2, 4, 3), single(4), single(4), None, None, True, 0.1, 1e-3, True),
    ]
    for shape, groups in [((2, 6, 4, 3), 3), ((2, 4), 2), ((3, 4, 5), 1), ((2, 4, 5), 4)]:
        for weight, bias in ((reals(shape[1]), reals(shape[1])), (None, None)):
            cases.append(aten("group_norm", reals(*shape), groups, weight, bias, 1e-3))
    n, c, size = 2, 6, 12
    cases.append(aten("native_group_norm", reals(2, 6, 4, 3), reals(6), reals(6), n, c, size, 2, 1e-5))
    for shape in ((2, 3, 5), (2, 3, 4, 5)):
        for weight, bias in ((reals(3), reals(3)), (None, None)):
            cases.append(aten("instance_norm", reals(*shape), weight, bias, None, None, True, 0.0, 1e-3, True))
    for shape in ((4, 3), (2, 3, 5), (2, 3, 4, 5), (2, 3, 2, 2, 3)):
        w, b, m, v = reals(3), reals(3), Fixed(reals(3)), Fixed(positive(3))
        cases += [
            aten("batch_norm", reals(*shape), w, b, m, v, False, 0.1, 1e-3, True),
            aten("batch_norm", reals(*shape), None, None, m, v, False, 0.1, 1e-3, True),
            aten("batch_norm", reals(*shape), w, b, None, None, True, 0.1, 1e-3, True),
            aten("native_batch_norm", reals(*shape), w, b, None, None, True, 0.1, 1e-3),
            aten("native_batch_norm", reals(*shape), w, None, m, v, False, 0.1, 1e-3),
        ]
    return cases


def attention_cases() -> list[Case]:
    name = "scaled_dot_product_attention"
    q, k, v = reals(2, 3, 4, 8), reals(2, 3, 5, 8), reals(2, 3, 5, 8)
    visible = booleans(4, 5)
    visible[1] = False  # a query without a key
    float_mask = torch.where(visible, 0.0, -math.inf).double()
    few = (reals(2, 1, 5, 8), reals(2, 1, 5, 8))
    cases = []
    for device in ("cpu", "cuda"):  # by the kernel for processors, and composed
        cases += [
            aten(name, q, k, v, device=device),
            aten(name, q, k, v, None, 0.0, False, scale=0.3, device=device),
            aten(name, q, reals(2, 3, 4, 8), reals(2, 3, 4, 8), None, 0.0, True, device=device),
            aten(name, q, k, v, visible, device=device),
            aten(name, q, k, v, Fixed(float_mask), device=device),
            aten(name, q, k, v, Fixed(reals(2, 1, 4, 5)), device=device),
            aten(name, q, k, v, Fixed(reals(2, 3, 4, 5)), device=device),
            aten(name, q, k, v, Fixed(reals(2, 1, 1, 5).expand(2, 1, 4, 5).contiguous()), device=device),
            aten(name, q, k, v, reals(2, 3, 4, 5), device=device),
            aten(name, q, k, reals(2, 3, 5, 6), device=device),
            aten(name, q, *few, enable_gqa=True, device=device),
            aten(name, Fixed(q), k, v, device=device),
            aten(name, q, q, q, device=device),
        ]
    flash = "_scaled_dot_product_flash_attention_for_cpu"
    single = [t.float() for t in (q, k, v)]
    return [
        *cases,
        aten(name, reals(3, 4, 8), reals(3, 5, 8), reals(3, 5, 8)),
        aten(name, *single),
        aten(flash, q, k, v),
        aten(flash, q, k, v, 0.0, False, attn_mask=Fixed(reals(2, 1, 4, 5)), scale=0.5),
        aten(flash, q, reals(2, 3, 4, 8), reals(2, 3, 4, 8), 0.0, True),
        aten(flash, *single),
    ]


def loss_cases() -> list[Case]:
    cases = []
    for shape in ((4, 5), (5,), (2, 5, 3), (2, 5, 3, 2), (2, 5, 3, 2, 2)):
        classes = [*shape[:1], *shape[2:]] if len(shape) > 1 else []
        target = integers(5, *classes)
        ignored = target.clone()
        ignored.view(-1)[0] = -100
        for reduction, weight in itertools.product((0, 1, 2), (None, Fixed(positive(5)))):
            cases.append(aten("nll_loss_nd", reals(*shape), target, weight, reduction, -100))
            if len(shape) > 1:
                cases.append(aten("nll_loss_nd", reals(*shape), ignored, weight, reduction, -100))
    x, target = reals(4, 5), integers(5, 4)
    cases += [
        aten("nll_loss_forward", x, target, Fixed(positive(5)), 1, 2),
        aten("nll_loss_forward", x, target, None, 0, -100),
        aten("nll_loss2d_forward", reals(2, 5, 3, 2), integers(5, 2, 3, 2), None, 1, -100),
        aten("nll_loss_nd", reals(0, 5), integers(5, 0), None, 2, -100),
    ]
    for shape, axis in (((3, 4), 1), ((2, 3, 4), -2), ((), 0), ((0, 3), 1), ((2, 0), 1)):
        cases += [aten("softmax.int", reals(*shape), axis), aten("log_softmax.int", reals(*shape), axis)]
    half = reals(3, 4, dtype=torch.float32)
    cases += [
        aten("softmax.int", half, 1, torch.float64),
        aten("log_softmax.int", half, 0, torch.float64),
        aten("softmax.int", half, 1),
        aten("native_dropout", reals(8, 5), 0.4, True),
        # Autograd does not scale the gradient here, though the kernel scales the values.
        aten("native_dropout", reals(8, 5), 0.4, None, function=lambda x, p, _: torch.native_dropout(x, p, True)),
        aten("native_dropout", reals(8, 5), 1.0, True),
        aten("native_dropout", reals(8, 5), 0.4, False),
        aten("native_dropout", reals(0, 5), 0.4, True),
    ]
    return cases


def recurrent_cases() -> list[Case]:
    steps, batch, size, hidden = 4, 3, 2, 5
    cases = []
    for name, gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)):
        for layers, two_ways, biases, batch_first in ((1, False, True, False), (1, True, False, False),
                                                      (2, True, True, True)):  # fmt: skip
            ways = 2 if two_ways else 1
            params = Parts()
            for layer, _ in itertools.product(range(layers), range(ways)):
                inputs = size if layer == 0 else hidden * ways
                params += [reals(gates * hidden, inputs), reals(gates * hidden, hidden)]
                params += [reals(gates * hidden), reals(gates * hidden)] if biases else []
            x = reals(batch, steps, size) if batch_first else reals(steps, batch, size)
            states = [reals(layers * ways, batch, hidden) for _ in range(2)]
            hx = Parts(states) if name == "lstm" else states[0]
            results = (0, 1, 2) if name == "lstm" else (0, 1)
            cases.append(
                aten(f"{name}.input", x, hx, params, biases, layers, 0.0, False, two_ways, batch_first,
                     differentiated=results, smooth=name != "rnn_relu")
            )  # fmt: skip

    def onnx(name: str, gates: int, direction: str, activations: str, full: bool, *tail: object, clip: float) -> Case:
        ways = 2 if direction == "bidirectional" else 1
        maybe = lambda *shape: reals(*shape) if full else None  # noqa: E731
        arguments = [
            reals(steps, batch, size), reals(ways, gates * hidden, size), reals(ways, gates * hidden, hidden),
            maybe(ways, 2 * gates * hidden), torch.tensor([4, 2, 1]) if full else None, maybe(ways, batch, hidden),
        ]  # fmt: skip
        if name == "lstm":
            arguments += [maybe(ways, batch, hidden), maybe(ways, 3 * hidden)]
        names = ",".join([activations] * ways)
        results = (0, 1, 2) if name == "lstm" else (0, 1)
        return hethub(name, *arguments, direction, names, [], [], clip, *tail, differentiated=results, smooth=False)

    for direction, full in itertools.product(("forward", "reverse", "bidirectional"), (False, True)):
        cases += [
            onnx("lstm", 4, direction, "sigmoid,tanh,tanh", full, full, clip=0.0),
            onnx("gru", 3, direction, "sigmoid,tanh", full, full, clip=0.0),
            onnx("rnn", 1, direction, "tanh", full, clip=0.0),
        ]
    for function in ("sigmoid", "tanh", "relu", "softsign", "softplus", "leakyrelu", "elu", "thresholdedrelu", "affine",
                     "scaledtanh", "hardsigmoid"):  # fmt: skip
        cases.append(onnx("rnn", 1, "forward", function, True, clip=0.8))
    cases += [
        onnx("lstm", 4, "forward", "hardsigmoid,softsign,scaledtanh", True, False, clip=0.5),
        onnx("gru", 3, "forward", "affine,softplus", False, False, clip=0.5),
    ]
    return cases


# ---------------------------------------------------------------------------------------------------------------------
# Signals, regions, results without a slope
# ---------------------------------------------------------------------------------------------------------------------


def signal_cases() -> list[Case]:
    cases = [
        aten("unfold", reals(2, 7), 1, 3, 2),
        aten("unfold", reals(2, 6, 2), 1, 4, 1),
        hethub("mel_weight_matrix", *map(torch.tensor, (4, 16, 8000, 0.0, 4000.0)), torch.float64),
    ]
    for last, length, inverse, onesided in itertools.product((1, 2), (4, 5, 7), (False, True), (False, True)):
        for axis in (1, 2):
            cases.append(hethub("dft", reals(2, 5, 4, last), length, axis, inverse, onesided))
    return cases


def roi_align(x: torch.Tensor, rois, batch, sizes, mode, ratio, scale, half_pixel) -> torch.Tensor:
    """By gathers, which torch differentiates."""
    height, width = x.shape[2:]

    def places(start: float, size: float, count: int, limit: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Lower neighbour, upper neighbour and share of the upper one for all samples of an axis."""
        at = start + (torch.arange(count * ratio, dtype=x.dtype) + 0.5) * size / (count * ratio)
        inside = ((at >= -1) & (at <= limit)).to(x.dtype)
        at = at.clamp(min=0)
        low = at.floor().long().clamp(max=limit - 1)
        at = torch.where(low == limit - 1, low.to(x.dtype), at)
        return low, (low + 1).clamp(max=limit - 1), torch.stack([(1 - (at - low)) * inside, (at - low) * inside])

    outputs = []
    for roi, entry in zip(rois.tolist(), batch.tolist(), strict=True):
        offset = 0.5 if half_pixel else 0.0
        x1, y1, x2, y2 = (v * scale - offset for v in roi)
        h, w = (y2 - y1, x2 - x1) if half_pixel else (max(y2 - y1, 1.0), max(x2 - x1, 1.0))
        top, bottom, down = places(y1, h, sizes[0], height)
        left, right, aside = places(x1, w, sizes[1], width)
        corners = torch.stack([
            x[entry][:, rows][:, :, columns] * down[i][:, None] * aside[j]
            for i, rows in enumerate((top, bottom)) for j, columns in enumerate((left, right))
        ], -1)  # fmt: skip
        bins = corners.unflatten(1, (sizes[0], ratio)).unflatten(3, (sizes[1], ratio))
        axes = (2, 4, 5)
        outputs.append(bins.sum(axes) / ratio**2 if mode == "avg" else bins.amax(axes))
    return torch.stack(outputs)


def region_cases() -> list[Case]:
    rois = torch.tensor([[0.3, 0.2, 4.1, 5.3], [1.0, 2.0, 9.0, 3.0]], dtype=torch.float64)
    batch = torch.tensor([1, 0])
    cases = [
        hethub("roi_align", reals(2, 3, 6, 5), Fixed(rois), batch, [2, 3], mode, 2, 0.9, half, function=roi_align)
        for mode in ("avg", "max")
        for half in (False, True)
    ]
    boxes = torch.tensor([[0.0, 0, 0, 3, 4], [1, 1, 2, 9, 9], [0, 4, 4, 4, 4]], dtype=torch.float64)
    return [*cases, hethub("max_roi_pool", reals(2, 3, 6, 5), Fixed(boxes), [2, 3], 0.8)]


def linear_attention_cases() -> list[Case]:
    def attention(heads: int, decays: int, corrected: bool, state: bool) -> Case:
        return hethub(
            "linear_attention", reals(2, heads, 4, 3), reals(2, 2, 4, 3), reals(2, 2, 4, 5),
            reals(2, 2, 3, 5) if state else None, reals(2, 2, 4, decays, high=0.0) if decays else None,
            reals(2, 2, 4, 1) if corrected else None, 0.7, differentiated=(0, 1),
        )  # fmt: skip

    return [
        attention(2, 0, False, False),
        attention(4, 1, False, True),
        attention(2, 3, True, True),
        attention(4, 0, True, False),
    ]


def drawn_cases() -> list[Case]:
    """Null rules: drawn numbers, places and integers."""
    x = reals(3, 4)
    flat = {"smooth": False}
    bytes_ = torch.randint(0, 255, (1, 3, 8), generator=GENERATOR, dtype=torch.uint8)
    weights = torch.randint(0, 255, (1, 2, 8), generator=GENERATOR, dtype=torch.uint8)
    one = torch.ones(1)
    long = torch.tensor
    return [
        aten("bernoulli", Fixed(reals(3, 4, low=0.0, high=1.0)), **flat),
        aten("multinomial", Fixed(positive(3, 4)), 2, True),
        aten("nonzero", Fixed(x)),
        aten("rand", [3, 4], dtype=torch.float64, **flat),
        aten("randn", [3, 4], dtype=torch.float64, **flat),
        hethub("encode_float", Fixed(x), "f4E2M1FN", True, "up"),
        hethub("decode_float", torch.arange(16, dtype=torch.uint8), "f4E2M1FN"),
        hethub("lookup_table", long([3, 1, 5]), long([1, 3]), Fixed(reals(2)), Fixed(reals(1))),
        hethub("non_max_suppression", Fixed(reals(1, 3, 4)), Fixed(reals(1, 2, 3)), long([2]), None, None, False),
        hethub("unique", Fixed(x), True, 0, True),
        hethub(
            "tree_ensemble", Fixed(x), long([0]), long([0]), Fixed(reals(1)), long([-1]), long([-2]), long([0]),
            long([0]), long([0, 1, 2]), long([0, 0]), Fixed(reals(2)), long([0, 0]), Fixed(reals(0)), 1, "SUM",
        ),
        hethub(
            "dynamic_quantize_lstm", Fixed(reals(2, 1, 3, dtype=torch.float32)), bytes_, weights, None, None, None,
            None, None, Fixed(one), long([3], dtype=torch.uint8), Fixed(one), long([3], dtype=torch.uint8), "forward",
            "sigmoid,tanh,tanh", [], [], 0.0, False, **flat,
        ),
    ]  # fmt: skip


def all_cases() -> list[Case]:
    GENERATOR.manual_seed(0)
    groups = (unary_cases, binary_cases, flat_cases, reduction_cases, view_cases, index_cases, linear_cases,
              window_cases, resampling_cases, norm_cases, attention_cases, loss_cases, recurrent_cases, signal_cases,
              region_cases, linear_attention_cases, drawn_cases)  # fmt: skip
    return [case for group in groups for case in group()]
