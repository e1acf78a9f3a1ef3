"""The ONNX files that come inside PyPI packages, each with an input of the kind that it was trained for.

OUT/NAME.package/ holds model.onnx, io.npz (in__NAME, out__NAME; outputs by onnxruntime) and, for the text reader,
what the network should read.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SENTENCE = "Pipelines of unlike machines"


@dataclass(frozen=True)
class PackageModel:
    file: str  # inside .models/packages
    make_input: Callable[[], np.ndarray]


def picture_of_text(height: int, width: int, size: int, at: tuple[int, int]) -> np.ndarray:
    """Black text on white, as float32 [1, 3, height, width] in [-1, 1]."""
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new("RGB", (width, height), "white")
    ImageDraw.Draw(picture).text(at, SENTENCE, fill="black", font=ImageFont.load_default(size))
    pixels = np.asarray(picture, dtype=np.float32) / 255.0
    return ((pixels - 0.5) / 0.5).transpose(2, 0, 1)[None].copy()


def one_line() -> np.ndarray:
    """The size that the recogniser wants: 48 pixels high."""
    return picture_of_text(48, 480, 34, (8, 2))


def turned_line() -> np.ndarray:
    """Upright and upside down: what the direction classifier tells apart."""
    line = picture_of_text(48, 192, 14, (4, 14))
    return np.concatenate([line, line[:, :, ::-1, ::-1]]).copy()


def page() -> np.ndarray:
    return picture_of_text(160, 320, 20, (12, 60))


def file_beginnings() -> np.ndarray:
    """The first, middle and last bytes of two files (Python source and a zip), as magika reads them: 256 pads."""
    source = (
        b"from __future__ import annotations\nimport sys\n\ndef main() -> int:\n    print(sys.argv)\n    return 0\n" * 9
    )
    archive = b"PK\x03\x04\x14\x00\x00\x00\x08\x00" + bytes(range(256)) * 4
    rows = np.full((2, 2048), 256, dtype=np.int32)
    for row, data in zip(rows, (source, archive), strict=True):
        head, tail = data[:1024], data[-1024:]
        row[: len(head)] = np.frombuffer(head, dtype=np.uint8)
        row[2048 - len(tail) :] = np.frombuffer(tail, dtype=np.uint8)
    return rows


PACKAGES: dict[str, PackageModel] = {
    "magika": PackageModel("magika/models/standard_v3_3/model.onnx", file_beginnings),
    "ocr_detect": PackageModel("rapidocr/models/PP-OCRv6_det_small.onnx", page),
    "ocr_recognise": PackageModel("rapidocr/models/PP-OCRv6_rec_small.onnx", one_line),
    "ocr_direction": PackageModel("rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx", turned_line),
    "ocr_v4_detect": PackageModel("rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", page),
    "ocr_v4_recognise": PackageModel("rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", one_line),
}


def unpack(name: str, packages: Path, out: Path) -> None:
    """Copies the model of a package and writes its example."""
    import onnxruntime

    entry = PACKAGES[name]
    out.mkdir(parents=True, exist_ok=True)
    source = packages / entry.file
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: entry.make_input()}
    outputs = session.run(None, feed)
    arrays = {f"in__{key}": value for key, value in feed.items()}
    arrays |= {f"out__{o.name}": value for o, value in zip(session.get_outputs(), outputs, strict=True)}
    np.savez(out / "io.npz", **arrays)
    shutil.copyfile(source, out / "model.partial.onnx")
    (out / "model.partial.onnx").rename(out / "model.onnx")


def read_text(model: Path, probabilities: np.ndarray) -> str:
    """Greedy reading of the recogniser's output [1, steps, characters]; the characters are in the file's metadata."""
    import onnx

    metadata = {p.key: p.value for p in onnx.load(model, load_external_data=False).metadata_props}
    characters = ["", *metadata["character"].splitlines(), " "]
    best = probabilities[0].argmax(axis=-1)
    kept = [int(b) for i, b in enumerate(best) if b and (i == 0 or b != best[i - 1])]
    return "".join(characters[k] for k in kept)
