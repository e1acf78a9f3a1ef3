"""Small graphs whose edges cross cuts in every way: skips, shared weights, integers, scalars, empty tensors, captures.

Written in ONNX's text form. Each entry: the graph, the number of stages to try, and the shapes that inputs take from
NumPy's generator (floats normal, integers small).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import onnx.parser

HEADER = '<ir_version: 10, opset_import: ["" : 20]>\n'


@dataclass(frozen=True)
class Graph:
    stages: int
    text: str
    integers_below: int = 5
    extra: dict[str, np.ndarray] = field(default_factory=dict)

    def model(self) -> onnx.ModelProto:
        model = onnx.parser.parse_model(HEADER + self.text)
        for k, node in enumerate(model.graph.node):
            node.name = node.name or f"{node.op_type.lower()}_{k}"
        onnx.checker.check_model(model)
        return model

    def inputs(self, salt: int = 0) -> dict[str, np.ndarray]:
        random = np.random.default_rng(3 + salt)
        values = {}
        for value in self.model().graph.input:
            kind = value.type.tensor_type
            shape = [d.dim_value for d in kind.shape.dim]
            dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
            if dtype.kind in "iub":
                values[value.name] = random.integers(0, 2 if dtype.kind == "b" else self.integers_below, shape).astype(
                    dtype
                )
            else:
                values[value.name] = random.standard_normal(shape).astype(dtype)
        return values | self.extra


W = "{" + ", ".join(f"{((k * 37) % 19 - 9) / 9:.3f}" for k in range(16)) + "}"
V = "{" + ", ".join(f"{((k * 53) % 23 - 11) / 11:.3f}" for k in range(16)) + "}"

GRAPHS = {
    # One table is read by the first layer and, transposed, by the last.
    "tied_embedding": Graph(
        3,
        f"""g (int64[2,3] ids) => (float[2,3,4] y) <float[4,4] table = {W}, float[4,4] v = {V}> {{
            e = Gather (table, ids)
            a = MatMul (e, v)
            b = Relu (a)
            t = Transpose (table)
            y = MatMul (b, t)
        }}""",
        integers_below=4,
    ),
    # A skip goes from the first layer past two stages to the last.
    "skip_first_to_last": Graph(
        4,
        f"""g (float[2,4] x) => (float[2,4] y) <float[4,4] w = {W}, float[4,4] v = {V}> {{
            first = MatMul (x, w)
            a = Relu (first)
            b = MatMul (a, v)
            c = Tanh (b)
            d = MatMul (c, w)
            e = Sigmoid (d)
            y = Add (e, first)
        }}""",
    ),
    # The same weights are used by two layers with another between.
    "layer_used_twice": Graph(
        3,
        f"""g (float[2,4] x) => (float[2,4] y) <float[4,4] w = {W}, float[4,4] v = {V}> {{
            a = MatMul (x, w)
            b = Tanh (a)
            c = MatMul (b, v)
            d = Tanh (c)
            y = MatMul (d, w)
        }}""",
    ),
    # A scale made from the input is read by every later layer.
    "value_many_consumers": Graph(
        4,
        f"""g (float[2,4] x) => (float[2,4] y) <float[4,4] w = {W}> {{
            s = ReduceMean <keepdims = 1> (x)
            a = MatMul (x, w)
            b = Mul (a, s)
            c = MatMul (b, w)
            d = Mul (c, s)
            e = MatMul (d, w)
            y = Mul (e, s)
        }}""",
    ),
    # Nothing is shared between two branches; the outputs stand in the other order.
    "two_branches": Graph(
        2,
        f"""g (float[2,4] p, float[3,4] q) => (float[3,4] z, float[2,4] y) <float[4,4] w = {W}, float[4,4] v = {V}> {{
            a = MatMul (p, w)
            b = MatMul (q, v)
            y = Relu (a)
            z = Tanh (b)
        }}""",
    ),
    # An output of the first stage is also an input of later ones.
    "early_output": Graph(
        3,
        f"""g (float[2,4] x) => (float[2,4] early, float[2,4] late) <float[4,4] w = {W}, float[4,4] v = {V}> {{
            early = MatMul (x, w)
            a = Relu (early)
            b = MatMul (a, v)
            c = Tanh (b)
            late = Add (c, early)
        }}""",
    ),
    # Five equal layers on four stages: none is empty.
    "five_layers_four_stages": Graph(
        4,
        f"""g (float[2,4] x) => (float[2,4] y) <float[4,4] w = {W}, float[4,4] v = {V}> {{
            a = MatMul (x, w)
            b = MatMul (a, v)
            c = MatMul (b, w)
            d = MatMul (c, v)
            y = MatMul (d, w)
        }}""",
    ),
    # Token ids and positions cross every cut beside floats.
    "integers": Graph(
        3,
        f"""g (int64[3] ids, int32[3] positions) => (float[3,4] y, int64[3] both) <float[4,4] table = {W}> {{
            next = Add (ids, ids)
            wide = Cast <to = 7> (positions)
            e = Gather (table, ids)
            f = Tanh (e)
            h = MatMul (f, table)
            both = Add (next, wide)
            p = Gather (table, wide)
            y = Add (h, p)
        }}""",
        integers_below=4,
    ),
    # Seven element types and ranks 0 to 3 cross one cut.
    "mixed_types": Graph(
        2,
        """g (float[2,3] x) => (float[2,3] y) <int64[1] one = {1}> {
            half = Cast <to = 10> (x)
            wide = Cast <to = 11> (x)
            long = Cast <to = 7> (x)
            sum = ReduceSum <keepdims = 0> (long)
            int = Cast <to = 6> (sum)
            cube = Unsqueeze (long, one)
            byte = Cast <to = 2> (cube)
            flag = Cast <to = 9> (x)
            a = Cast <to = 1> (half)
            b = Cast <to = 1> (wide)
            c = Cast <to = 1> (int)
            d = Squeeze (byte, one)
            e = Cast <to = 1> (d)
            f = Where (flag, a, b)
            h = Add (f, c)
            y = Add (h, e)
        }""",
    ),
    # No detections: a tensor of shape [0, 4] crosses the cut and keeps its shape.
    "empty_tensor": Graph(
        2,
        """g (float[2,4] x) => (float[0,4] none, float[4] total) <int64[1] zero = {0}> {
            cut = Slice (x, zero, zero, zero)
            none = Relu (cut)
            e = Exp (none)
            total = ReduceSum <keepdims = 0> (e, zero)
        }""",
    ),
    # A rank-0 float and a rank-0 integer arrive with rank 0.
    "scalars": Graph(
        3,
        f"""g (float[2,4] x, int64[3] n) => (float[2,4] y, int64 count) <float[4,4] w = {W}> {{
            mean = ReduceMean <keepdims = 0> (x)
            count = ReduceSum <keepdims = 0> (n)
            a = MatMul (x, w)
            b = Tanh (a)
            c = Mul (b, mean)
            k = Cast <to = 1> (count)
            y = Add (c, k)
        }}""",
    ),
    # A mask made in the first stage is used in the last.
    "boolean_mask": Graph(
        3,
        f"""g (float[2,4] x) => (float[2,4] y) <float[4,4] w = {W}, float zero = {{0}}> {{
            mask = Greater (x, zero)
            a = MatMul (x, w)
            b = Tanh (a)
            c = MatMul (b, w)
            y = Where (mask, c, zero)
        }}""",
    ),
    # An If of the last stage captures a value of the first: an edge that no node lists.
    "captured_value": Graph(
        3,
        f"""g (float[2,4] x, bool flag) => (float[2,4] y) <float[4,4] w = {W}> {{
            early = MatMul (x, w)
            a = Tanh (early)
            b = MatMul (a, w)
            c = Sigmoid (b)
            y = If (flag) <
                then_branch = then () => (float[2,4] t) {{ t = Add (c, early) }},
                else_branch = else () => (float[2,4] e) {{ e = Sub (c, early) }}
            >
        }}""",
    ),
    # One input is read only by the last layer, another only by the middle one.
    "late_inputs": Graph(
        3,
        f"""g (float[2,4] mask, float[2,4] x, float[4] bias) => (float[2,4] y) <float[4,4] w = {W}> {{
            a = MatMul (x, w)
            b = Relu (a)
            c = Add (b, bias)
            d = MatMul (c, w)
            e = Tanh (d)
            y = Mul (e, mask)
        }}""",
    ),
    # Constants stand at the top and are read at the end; a shape from the top feeds a Reshape at the end.
    "constants_far_from_use": Graph(
        3,
        f"""g (float[2,4] x) => (float[2,4] y) <float[4,4] w = {W}> {{
            two = Constant <value = float {{2}}> ()
            shape = Shape (x)
            row = Constant <value = float[4] {{1, 2, 3, 4}}> ()
            flat_shape = Constant <value = int64[1] {{-1}}> ()
            a = MatMul (x, w)
            b = Tanh (a)
            c = Reshape (b, flat_shape)
            d = Mul (c, two)
            e = Reshape (d, shape)
            y = Add (e, row)
        }}""",
    ),
}
