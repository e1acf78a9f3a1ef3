"""One-node models of the domains ai.onnx.ml and com.microsoft, with the answers of onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
from node_cases import Case
from onnx import helper, numpy_helper

ML, MICROSOFT = "ai.onnx.ml", "com.microsoft"
RNG = np.random.default_rng(5)


def reals(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return RNG.normal(size=shape).astype(dtype)


def bytes_(*shape: int, dtype: type = np.uint8) -> np.ndarray:
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max + 1, shape).astype(dtype)


def scalar(value: float, dtype: type = np.float32) -> np.ndarray:
    return np.array(value, dtype=dtype)


class Weight:
    """An input that is an initializer of the model."""

    def __init__(self, value: np.ndarray) -> None:
        self.value = value


def case(
    op: str, inputs: list[Any], outputs: int | list[int] = 1, domain: str = MICROSOFT, quanta: int = 0, label: str = "",
    rtol: float = 1e-4, atol: float = 1e-5, wanted: list[np.ndarray] | None = None, **attributes: object,
) -> Case:  # fmt: skip
    """`outputs`: how many, or positions of those that are there; `quanta`: steps by which integers may differ;
    `wanted`: the answer where onnxruntime has no kernel for processors."""
    positions = list(range(outputs)) if isinstance(outputs, int) else outputs
    names, feeds, weights, infos = [], {}, [], []
    for i, value in enumerate(inputs):
        names.append("" if value is None else f"x{i}")
        if isinstance(value, Weight):
            weights.append(numpy_helper.from_array(value.value, f"x{i}"))
        elif value is not None:
            feeds[f"x{i}"] = value
            kind = helper.np_dtype_to_tensor_dtype(value.dtype)
            infos.append(helper.make_tensor_value_info(f"x{i}", kind, value.shape))
    results = [f"y{i}" if i in positions else "" for i in range(max(positions) + 1)]
    node = helper.make_node(op, names, results, domain=domain, name="node", **attributes)
    versions = [helper.make_opsetid("", 21), helper.make_opsetid(ML, 3), helper.make_opsetid(MICROSOFT, 1)]

    def model(outputs: list[onnx.ValueInfoProto]) -> onnx.ModelProto:
        graph = helper.make_graph([node], "graph", infos, outputs, weights)
        return helper.make_model(graph, opset_imports=versions, ir_version=10)

    untyped = model([onnx.ValueInfoProto(name=name) for name in results if name])
    if wanted is None:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        text = untyped.SerializeToString()
        wanted = onnxruntime.InferenceSession(text, options, providers=["CPUExecutionProvider"]).run(None, feeds)
    typed = model([
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), [None] * value.ndim)
        for name, value in zip(filter(None, results), wanted, strict=True)
    ])  # fmt: skip
    name = f"{op}_{label}" if label else op
    return Case(name, typed, list(feeds.values()), wanted, rtol, max(atol, quanta))


def ml(op: str, inputs: list[Any], outputs: int | list[int] = 1, **attributes: object) -> Case:
    return case(op, inputs, outputs, domain=ML, **attributes)


# ---------------------------------------------------------------------------------------------------------------------
# ai.onnx.ml
# ---------------------------------------------------------------------------------------------------------------------


def forest(role: str, ids: list[int], weights: list[float]) -> dict[str, object]:
    """Two trees of three and five nodes; `ids` and `weights` of their five leaves."""
    return {
        "nodes_treeids": [0, 0, 0, 1, 1, 1, 1, 1], "nodes_nodeids": [0, 1, 2, 0, 1, 2, 3, 4],
        "nodes_featureids": [0, 0, 0, 1, 2, 0, 0, 0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_GT", "BRANCH_LT", "LEAF", "LEAF", "LEAF"],
        "nodes_values": [0.1, 0, 0, -0.2, 0.3, 0, 0, 0], "nodes_truenodeids": [1, 0, 0, 1, 3, 0, 0, 0],
        "nodes_falsenodeids": [2, 0, 0, 2, 4, 0, 0, 0], "nodes_hitrates": [1.0] * 8,
        "nodes_missing_value_tracks_true": [1, 0, 0, 0, 0, 0, 0, 0],
        f"{role}_treeids": [0, 0, 1, 1, 1], f"{role}_nodeids": [1, 2, 2, 3, 4], f"{role}_ids": ids,
        f"{role}_weights": weights,
    }  # fmt: skip


def tree_cases() -> list[Case]:
    x = reals(9, 3)
    x[0, 0] = np.nan
    mixed, positive = [0.7, -0.4, 1.5, -1.1, 0.2], [0.1, 0.2, 0.3, 0.4, 0.5]
    cases = [
        ml("TreeEnsembleRegressor", [x], label=f"{aggregate}_{post}", n_targets=2, aggregate_function=aggregate,
           post_transform=post, **forest("target", [0, 1, 1, 0, 1], mixed))
        for aggregate, post in (("SUM", "NONE"), ("AVERAGE", "NONE"), ("MIN", "NONE"), ("MAX", "NONE"),
                                ("SUM", "LOGISTIC"), ("SUM", "SOFTMAX"), ("SUM", "SOFTMAX_ZERO"))
    ]  # fmt: skip
    cases.append(
        ml("TreeEnsembleRegressor", [x], label="base", n_targets=1, base_values=[0.5],
           **forest("target", [0] * 5, mixed))
    )  # fmt: skip
    for post in ("NONE", "LOGISTIC", "SOFTMAX"):
        for name, weights in (("mixed", mixed), ("positive", positive)):
            cases.append(
                ml("TreeEnsembleClassifier", [x], 2, label=f"one_rated_{name}_{post}", post_transform=post,
                   classlabels_int64s=[5, 7], base_values=[0.05], **forest("class", [0] * 5, weights))
            )  # fmt: skip
        cases.append(
            ml("TreeEnsembleClassifier", [x], 2, label=f"three_{post}", post_transform=post,
               classlabels_int64s=[5, 7, 9], **forest("class", [0, 1, 2, 0, 1], positive))
        )  # fmt: skip
    return cases


def ml_cases() -> list[Case]:
    x, whole = reals(4, 3), RNG.integers(-3, 4, (4, 3)).astype(np.int64)
    holes, texts = x.copy(), np.array(["a", "bb", "ccc", "a"], dtype=object)
    holes[1, 2] = holes[3, 0] = np.nan
    coefficients, vectors = reals(3, 3).ravel().tolist(), reals(5, 3).ravel().tolist()
    cases = [
        ml("ArrayFeatureExtractor", [x, np.array([2, 0], dtype=np.int64)]),
        ml("Binarizer", [x], threshold=0.3),
        ml("FeatureVectorizer", [x, reals(4, 2)], inputdimensions=[3, 2]),
        ml("Imputer", [holes], imputed_value_floats=[1.5], replaced_value_float=float("nan")),
        ml("Imputer", [holes], label="columns", imputed_value_floats=[1.5, 2.5, 3.5],
           replaced_value_float=float("nan")),
        ml("Imputer", [whole], label="int", imputed_value_int64s=[9], replaced_value_int64=2),
        ml("LabelEncoder", [whole], label="ints", keys_int64s=[1, 2, -3], values_floats=[0.5, 1.5, 2.5],
           default_float=9.0),
        ml("LabelEncoder", [x.ravel()], label="floats", keys_floats=[float(x[1, 2]), float(x[0, 0])],
           values_int64s=[4, 5], default_int64=-7),
        ml("LabelEncoder", [texts], label="strings", keys_strings=["a", "ccc"], values_strings=["x", "y"],
           default_string="none"),
        ml("CategoryMapper", [texts], label="to_numbers", cats_strings=["a", "bb"], cats_int64s=[4, 2],
           default_int64=-3),
        ml("CategoryMapper", [whole], label="to_strings", cats_strings=["a", "bb"], cats_int64s=[1, 2],
           default_string="none"),
        ml("OneHotEncoder", [whole[:, 0]], cats_int64s=[-1, 0, 2], zeros=1),
        ml("OneHotEncoder", [texts], label="strings", cats_strings=["bb", "a"], zeros=1),
        ml("Scaler", [x], offset=[0.5, 1.0, -1.0], scale=[2.0, 0.5, 1.0]),
        ml("Scaler", [whole], label="int", offset=[0.5], scale=[2.0]),
        ml("LinearRegressor", [x], coefficients=coefficients, intercepts=[0.1, 0.2, 0.3], targets=3),
        ml("LinearClassifier", [x], 2, label="two", coefficients=coefficients[:6], intercepts=[0.1, -0.2],
           classlabels_ints=[3, 8], post_transform="LOGISTIC"),
        ml("LinearClassifier", [x], 2, label="strings", coefficients=coefficients, intercepts=[0.1, -0.2, 0.0],
           classlabels_strings=["a", "bb", "c"], post_transform="SOFTMAX"),
        ml("SVMRegressor", [x], label="linear", coefficients=coefficients[:3], rho=[0.2], kernel_type="LINEAR",
           kernel_params=[0.0, 0.0, 0.0]),
    ]  # fmt: skip
    cases += [ml("Normalizer", [x], label=norm, norm=norm) for norm in ("L1", "L2")]
    cases.append(ml("Normalizer", [np.abs(x)], label="MAX", norm="MAX"))
    for post in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"):
        scaled = [0.1 * c for c in coefficients]
        intercepts = [0.3, 0.5, 0.6]
        cases.append(
            ml("LinearClassifier", [np.clip(x, -1, 1)], 2, label=post, coefficients=scaled, intercepts=intercepts,
               classlabels_ints=[3, 8, 1], post_transform=post, atol=1e-4)
        )  # fmt: skip
    for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        cases.append(
            ml("SVMRegressor", [x], label=kernel, n_supports=5, support_vectors=vectors, kernel_type=kernel,
               coefficients=reals(5).tolist(), rho=[0.3], kernel_params=[0.4, 0.2, 3.0])
        )  # fmt: skip
    return cases + support_vector_cases() + tree_cases()


def support_vector_cases() -> list[Case]:
    def classifier(sizes: list[int], kernel: str, post: str, probable: bool = False, **labels: object) -> Case:
        count, pairs = sum(sizes), len(sizes) * (len(sizes) - 1) // 2
        # The probabilities of onnxruntime are what an iteration comes to.
        probabilities = {"prob_a": [-1.2] * pairs, "prob_b": [0.1] * pairs, "atol": 1e-3} if probable else {}
        return ml(
            "SVMClassifier", [reals(6, 3)], 2, label=f"{len(sizes)}_{kernel}_{post}{'_probable' if probable else ''}",
            vectors_per_class=sizes, kernel_type=kernel, post_transform=post, kernel_params=[0.4, 0.2, 3.0],
            coefficients=reals((len(sizes) - 1) * count).tolist(), support_vectors=reals(3 * count).tolist(),
            rho=reals(pairs).tolist(), **probabilities, **labels,
        )  # fmt: skip

    two, three = {"classlabels_ints": [5, 7]}, {"classlabels_strings": ["a", "b", "c"]}
    cases = [classifier([2, 3], "RBF", post, **two) for post in ("NONE", "LOGISTIC", "SOFTMAX")]
    cases += [classifier([2, 3], "LINEAR", post, probable=True, **two) for post in ("NONE", "LOGISTIC")]
    return cases + [classifier([2, 3, 2], kernel, "SOFTMAX", **three) for kernel in ("RBF", "POLY", "SIGMOID")]


# ---------------------------------------------------------------------------------------------------------------------
# com.microsoft
# ---------------------------------------------------------------------------------------------------------------------


def softmax(x: np.ndarray) -> np.ndarray:
    shares = np.exp(x - x.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


def skip_group_norm(x: np.ndarray, scale: np.ndarray) -> list[np.ndarray]:
    """Of [N, W, C] in two groups, scale and bias the same, then x * sigmoid(x)."""
    grouped = x.reshape(x.shape[0], x.shape[1], 2, -1)
    mean, variance = (f(grouped, axis=(1, 3), keepdims=True) for f in (np.mean, np.var))
    y = ((grouped - mean) / np.sqrt(variance + 1e-5)).reshape(x.shape) * scale + scale
    return [(y / (1 + np.exp(-y)))[:, :, None].astype(np.float32), x[:, :, None]]


def fused_cases() -> list[Case]:
    x, bias = reals(2, 3, 8), reals(8)
    image, filters = reals(1, 4, 6, 5), Weight(reals(6, 4, 3, 3))
    ids = RNG.integers(0, 7, (2, 3)).astype(np.int32)
    tables = [Weight(reals(n, 8)) for n in (7, 5, 2)]
    norm = [Weight(reals(8)), Weight(reals(8))]
    return [
        case("BiasGelu", [x, bias]),
        case("FastGelu", [x, bias]),
        case("FastGelu", [x], label="plain"),
        case("Gelu", [x]),
        case("QuickGelu", [x], alpha=1.5),
        case("BiasSoftmax", [x, moved := reals(2, 3, 8)], axis=2, is_inner_broadcast=1, wanted=[softmax(x + moved)]),
        case("BiasAdd", [x, bias, moved], wanted=[x + bias + moved]),
        case("SkipGroupNorm", [x[:, :, None], bias, bias, moved[:, :, None], bias], 2, groups=2, activation=1,
             epsilon=1e-5, wanted=skip_group_norm(x + moved + bias, bias)),
        case("SkipLayerNormalization", [x, reals(2, 3, 8), *norm, Weight(bias)], [0, 3], epsilon=1e-6),
        case("SkipLayerNormalization", [x, reals(1, 3, 8), norm[0]], label="plain"),
        case("SkipSimplifiedLayerNormalization", [x, reals(2, 3, 8), norm[0]], [0, 3], epsilon=1e-6),
        case("EmbedLayerNormalization", [ids, ids % 2, *tables, *norm], 2),
        case("EmbedLayerNormalization", [ids, None, *tables[:2], None, *norm, np.minimum(ids, 1)], [0, 1],
             label="mask"),
        case("FusedConv", [image, filters, Weight(reals(6))], activation="Relu", pads=[1, 1, 1, 1]),
        case("FusedConv", [image, filters, Weight(reals(6)), reals(1, 6, 6, 5)], label="residual", activation="Relu",
             pads=[1, 1, 1, 1]),
        case("FusedConv", [image, filters], label="clip", activation="Clip", activation_params=[-0.5, 0.5]),
        case("FusedGemm", [reals(3, 4), reals(5, 4), reals(5)], transB=1, alpha=0.5, activation="LeakyRelu",
             activation_alpha=0.2),
        case("FusedMatMul", [x, reals(2, 8, 5)], alpha=0.3),
        case("FusedMatMul", [reals(2, 8, 3), reals(2, 5, 8)], label="transposed", transA=1, transB=1, alpha=2.0),
        case("FusedMatMul", [reals(3, 2, 8), reals(8, 2, 5)], label="batch", transBatchA=1, transBatchB=1),
        case("ExpandDims", [x, Weight(scalar(-2, np.int32))]),
        case("Unique", [np.array([3.0, 1.0, 3.0, 2.0, 1.0], dtype=np.float32)], 3),
    ]  # fmt: skip


def with_cache(count: int, capacity: int, total: int, window: int) -> Case:
    """`count` new keys for a cache, which has `total` of them then and had room for `capacity`."""
    batch = 2 if count == 1 else 1
    past = [reals(batch, 1, capacity, 16) for _ in "kv"]
    for cache in past:
        cache[:, :, total - count :] = 0
    return case(
        "GroupQueryAttention",
        [*(reals(batch, count, size) for size in (32, 16, 16)), *past, np.full(batch, total - 1, np.int32),
         Weight(scalar(total, np.int32)), Weight(np.cos(reals(9, 8))), Weight(np.sin(reals(9, 8)))],
        3, label=f"{total}_of_{capacity}", num_heads=2, kv_num_heads=1, do_rotary=1, local_window_size=window,
    )  # fmt: skip


def attention_cases() -> list[Case]:
    x, weight, bias = reals(2, 4, 6), Weight(reals(6, 24)), Weight(reals(24))
    lengths, flags = np.array([3, 4], dtype=np.int32), RNG.integers(0, 2, (2, 4)).astype(np.int32)
    flags[:, 0] = 1
    past = reals(2, 2, 2, 3, 4)
    q, k, v = reals(2, 4, 8), reals(2, 5, 8), reals(2, 5, 6)
    cache = [Weight(np.cos(reals(9, 2))), Weight(np.sin(reals(9, 2)))]
    positions = RNG.integers(0, 9, (2, 4)).astype(np.int64)
    zero = np.zeros((2, 1, 0, 16), np.float32)
    last, total = np.array([3, 2], dtype=np.int32), Weight(scalar(4, np.int32))
    turns = [Weight(np.cos(reals(9, 8))), Weight(np.sin(reals(9, 8)))]
    bytes_in, bytes_weight = bytes_(2, 4, 6), Weight(bytes_(6, 24))
    together = reals(2, 4, 2, 3, 4)
    apart = case("MultiHeadAttention", [together[:, :, :, i].reshape(2, 4, 8) for i in range(3)], num_heads=2)
    return [
        case("Attention", [x, weight, bias], num_heads=2),
        case("Attention", [x, weight, bias, lengths], label="lengths", num_heads=2),
        case("Attention", [x, weight, bias, flags], label="flags", num_heads=2, unidirectional=1, scale=0.3),
        case("Attention", [x, weight, bias, None, past], 2, label="past", num_heads=2, unidirectional=1),
        case("Attention", [x, Weight(reals(6, 20)), Weight(reals(20)), None, None, reals(2, 2, 4, 4)], label="sizes",
             num_heads=2, qkv_hidden_sizes=[8, 8, 4]),
        case("QAttention", [bytes_in, bytes_weight, Weight(reals(24)), Weight(scalar(0.02)), Weight(scalar(0.01)),
                            lengths, Weight(scalar(120, np.uint8)), Weight(scalar(131, np.uint8))], num_heads=2),
        case("MultiHeadAttention", [q, k, v], num_heads=2),
        case("MultiHeadAttention", [q, k, v, Weight(reals(22)), np.array([5, 2], dtype=np.int32),
                                    reals(2, 2, 4, 5)], label="masks", num_heads=2),
        case("MultiHeadAttention", [together], label="packed", num_heads=2, wanted=apart.outputs),
        case("MultiHeadAttention", [q, reals(2, 4, 8), reals(2, 4, 8), None, None, None, reals(2, 2, 3, 4),
                                    reals(2, 2, 3, 4)], 3, label="past", num_heads=2, unidirectional=1),
        case("GroupQueryAttention", [reals(2, 4, 32), reals(2, 4, 16), reals(2, 4, 16), zero, zero, last, total,
                                     *turns], 3, num_heads=2, kv_num_heads=1, do_rotary=1),
        case("GroupQueryAttention", [reals(2, 4, 64), None, None, zero, zero, last, total], 3, label="packed",
             num_heads=2, kv_num_heads=1, local_window_size=2),
        *(with_cache(*sizes) for sizes in ((1, 4, 5, -1), (3, 4, 7, 3), (1, 8, 5, -1))),
        case("RotaryEmbedding", [q, positions, *cache]),
        case("RotaryEmbedding", [reals(2, 3, 4, 4), np.array([2], dtype=np.int64), *cache], label="heads",
             interleaved=1),
    ]  # fmt: skip


def quantized_cases() -> list[Case]:
    cases = []
    for dtype in (np.uint8, np.int8):
        zero = Weight(scalar(3, dtype))
        s = [Weight(scalar(v)) for v in (0.02, 0.03, 0.05)]
        a, b = bytes_(2, 3, 4, dtype=dtype), bytes_(3, 1, dtype=dtype)
        image = bytes_(1, 3, 6, 6, dtype=dtype)
        kind = dtype.__name__
        cases += [
            case("QLinearAdd", [a, s[0], zero, b, s[1], zero, s[2], zero], label=kind, quanta=1),
            case("QLinearMul", [a, s[0], zero, b, s[1], zero, s[2], zero], label=kind, quanta=1),
            case("QLinearSigmoid", [a, s[0], zero, Weight(scalar(1 / 256)), zero], label=kind, quanta=1),
            case("QLinearLeakyRelu", [a, s[0], zero, s[1], zero], label=kind, quanta=1, alpha=0.1),
            case("QLinearSoftmax", [a, s[2], zero, Weight(scalar(1 / 256)), zero], label=kind, quanta=1, opset=13),
            case("QLinearConcat", [s[2], zero, a, s[0], zero, bytes_(2, 3, 2, dtype=dtype), s[1], zero], label=kind,
                 quanta=1, axis=2),
            case("QLinearGlobalAveragePool", [image, s[0], zero, s[1], zero], label=kind, quanta=1),
            case("NhwcMaxPool", [bytes_(1, 6, 5, 3, dtype=dtype)], label=kind, kernel_shape=[3, 2], strides=[2, 1],
                 pads=[1, 0, 1, 1]),
            case("QLinearAveragePool", [bytes_(1, 6, 5, 3, dtype=dtype), s[0], zero, s[1], zero],
                 label=f"{kind}_last", quanta=1, kernel_shape=[3, 2], channels_last=1),
            case("QLinearAveragePool", [image, s[0], zero, s[1], zero], label=kind, quanta=1, kernel_shape=[3, 3],
                 strides=[2, 2], pads=[1, 1, 1, 1]),
        ]  # fmt: skip
    condition = RNG.integers(0, 2, (2, 3)).astype(bool)
    x, w = reals(3, 16), bytes_(16, 5)
    half, zero8 = Weight(scalar(0.5)), Weight(scalar(3, np.uint8))
    cases += [
        case("QLinearWhere", [condition, bytes_(2, 3), half, zero8, bytes_(2, 3), half, zero8, half, zero8],
             quanta=1),
        case("QuantizeLinear", [x, half, zero8], label="plain", quanta=1),
        case("DequantizeLinear", [w, half, zero8], label="plain"),
        case("DynamicQuantizeMatMul", [x, Weight(w), half, zero8, Weight(reals(5))], rtol=1e-3, atol=0.1),
        case("MatMulIntegerToFloat", [bytes_(3, 16), Weight(w), half, Weight(scalar(0.1)), zero8, zero8,
                                      Weight(reals(5))]),
        case("QGemm", [bytes_(3, 16), half, zero8, Weight(w), half, zero8,
                       Weight(RNG.integers(-99, 99, 5).astype(np.int32)), Weight(scalar(99.0)), zero8], quanta=1),
        case("QGemm", [bytes_(3, 16), half, zero8, Weight(w), half, zero8], label="float"),
    ]  # fmt: skip
    for bits, label in ((4, "4_bits"), (8, "8_bits")):
        rows, size, block = 5, 40, 16
        blocks = (size + block - 1) // block
        packed = Weight(bytes_(rows, blocks, block * bits // 8))
        scales = Weight(np.abs(reals(rows, blocks)) * 0.1)
        zeros = Weight(bytes_(rows, (blocks * bits + 7) // 8))
        for given in ([], [zeros]):
            cases.append(
                case("MatMulNBits", [reals(2, 3, size), packed, scales, *given], K=size, N=rows, bits=bits,
                     block_size=block, label=label + ("_zeros" if given else ""), rtol=1e-3, atol=1e-3)
            )  # fmt: skip
    ids = np.array([[2, 0], [1, 2]], dtype=np.int64)
    for bits, label in ((4, "4_bits"), (8, "8_bits")):
        packed = Weight(bytes_(3, 32 * bits // 8))
        scales, zeros = Weight(np.abs(reals(3, 2))), Weight(bytes_(3, 2 * bits // 8))
        for given in ([], [zeros]):
            cases.append(
                case("GatherBlockQuantized", [packed, ids, scales, *given], bits=bits, block_size=16,
                     label=label + ("_zeros" if given else ""))
            )  # fmt: skip
    cases.append(
        case("QLinearConv", [bytes_(1, 3, 5, 5), half, zero8, Weight(bytes_(4, 3, 3, 3)), half, zero8,
                             Weight(scalar(99.0)), zero8], quanta=1, pads=[1, 1, 1, 1])
    )  # fmt: skip
    cases.append(
        case("QLinearConv", [bytes_(1, 5, 7, 3), half, zero8, Weight(bytes_(4, 3, 3, 3)), half, zero8,
                             Weight(scalar(99.0)), zero8], label="last", quanta=1, channels_last=1, strides=[1, 2])
    )  # fmt: skip
    steps, batch, inputs, hidden = 4, 2, 5, 3
    for directions, direction in ((1, "forward"), (2, "bidirectional")):
        scale = Weight(np.full(directions, 0.01, np.float32))
        middle = Weight(np.full(directions, 128, np.uint8))
        cases.append(
            case("DynamicQuantizeLSTM", [
                reals(steps, batch, inputs), Weight(bytes_(directions, inputs, 4 * hidden)),
                Weight(bytes_(directions, hidden, 4 * hidden)), Weight(reals(directions, 8 * hidden)), None, None,
                None, None, scale, middle, scale, middle,
            ], 3, hidden_size=hidden, direction=direction, label=direction, rtol=0.02, atol=0.02)
        )  # fmt: skip
    return cases


def microsoft_cases() -> list[Case]:
    return fused_cases() + attention_cases() + quantized_cases()
