"""Read programs as our tools print them, and make their calls through torch.ops.

Used by the scripts that check lowering and differentiation without emitter and runtime.
"""

import re

import numpy as np
import torch

DTYPES = {
    "f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16, "i1": torch.bool,
    "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "ui8": torch.uint8,
    "ui16": torch.uint16, "ui32": torch.uint32, "ui64": torch.uint64, "f8E4M3FN": torch.float8_e4m3fn,
    "f8E4M3FNUZ": torch.float8_e4m3fnuz, "f8E5M2": torch.float8_e5m2, "f8E5M2FNUZ": torch.float8_e5m2fnuz,
    "f8E8M0FNU": torch.float8_e8m0fnu,
    # Elements of less than a byte are held one a byte: numbers, or codes of floats.
    "i2": torch.int8, "i4": torch.int8, "ui2": torch.uint8, "ui4": torch.uint8, "f4E2M1FN": torch.uint8,
    "f6E2M3FN": torch.uint8, "f6E3M2FN": torch.uint8,
}  # fmt: skip


class Unsupported(Exception):
    """An operation that cannot be run here."""


# ---------------------------------------------------------------------------------------------------------------------
# Reading the printed IR
# ---------------------------------------------------------------------------------------------------------------------


def split_top(text):
    """Splits at commas outside of brackets and quotes."""
    parts, depth, start, quoted = [], 0, 0, False
    for i, c in enumerate(text):
        if c == '"':
            quoted = not quoted
        elif not quoted:
            depth += (c in "([{<") - (c in ")]}" or (c == ">" and text[i - 1] != "-"))
            if c == "," and depth == 0:
                parts.append(text[start:i].strip())
                start = i + 1
    tail = text[start:].strip()
    return [*parts, tail] if tail else parts


def closing(text, start):
    """Position of the bracket that closes the one at `start`."""
    depth, quoted = 0, False
    for i in range(start, len(text)):
        c = text[i]
        if c == '"':
            quoted = not quoted
        elif not quoted:
            depth += c in "([{"
            depth -= c in ")]}"
            if depth == 0:
                return i
    raise ValueError(text)


def number(text):
    text = text.strip()
    if text in ("true", "false"):
        return text == "true"
    if text.startswith("0x"):
        return np.frombuffer(bytes.fromhex(text[2:])[::-1], np.float64)[0].item()
    return float(text) if re.search(r"[.e]", text) else int(text)


def attribute(text):
    if match := re.fullmatch(r"array<(\w+)(?:: (.*))?>", text):
        return [number(v) for v in match[2].split(",")] if match[2] else []
    if text.startswith('"'):
        return text[1:-1]
    text = text.rpartition(" : ")[0] if " : " in text else text
    if text in DTYPES:
        return DTYPES[text]
    return number(text)


def tensor_type(text):
    *dims, element = re.fullmatch(r"tensor<(.*)>", text)[1].split("x")
    return [int(d) for d in dims], DTYPES[element]


def dense(text, dims, dtype):
    """The elements of dense<...>."""
    bits = torch.empty((), dtype=dtype).element_size()
    if text.startswith('"0x'):
        data = bytearray.fromhex(text[3:-1])
        count = int(np.prod(dims))
        if dtype == torch.bool and len(data) not in (1, count):  # eight to a byte
            bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")[:count]
            return torch.from_numpy(bits.astype(bool)).reshape(dims)
        flat = torch.frombuffer(data, dtype=dtype)
        return flat.expand(dims).clone() if flat.numel() == 1 else flat.reshape(dims).clone()

    def value(token):
        if token.startswith("0x"):
            raw = bytes.fromhex(token[2:].zfill(2 * bits))[::-1]
            return torch.frombuffer(bytearray(raw), dtype=dtype)[0].item()
        return number(token)

    tokens = re.findall(r"0x[0-9A-Fa-f]+|-?\d[\d.]*(?:[eE][+-]?\d+)?|true|false", text)
    values = [value(t) for t in tokens]
    if dtype in (torch.uint16, torch.uint32, torch.uint64):
        flat = torch.from_numpy(np.array(values, dtype=str(dtype).split(".")[1]))
    else:
        flat = torch.tensor(values, dtype=torch.float64 if dtype.is_floating_point else dtype).to(dtype)
    if flat.numel() == 1:
        return flat.reshape([]).expand(dims).clone() if dims else flat.reshape([])
    return flat.reshape(dims)


def split_port(text):
    """An argument or result of a program: what stands in front of its attributes, and these."""
    if not text.endswith("}"):
        return text, {}
    start = text.index("{")
    items = [item.partition(" = ") for item in split_top(text[start + 1 : -1])]
    return text[:start].strip(), {name.strip('"'): value for name, _, value in items}


# ---------------------------------------------------------------------------------------------------------------------
# Running it
# ---------------------------------------------------------------------------------------------------------------------


class Program:
    """A printed func.func or hh.program."""

    def __init__(self, text, parameters):
        self.lines = [line.strip() for line in text.splitlines()]
        self.parameters = parameters
        self.start = next(i for i, line in enumerate(self.lines) if line.startswith(("func.func", "hh.program")))
        head = self.lines[self.start]
        opening = head.index("(")
        end = closing(head, opening)
        ports = [split_port(port) for port in split_top(head[opening + 1 : end])]
        self.arguments = [name.partition(":")[0] for name, _ in ports]
        # Attributes of arguments and results, as text by name.
        self.argument_attributes = [attributes for _, attributes in ports]
        rest = head[end + 1 :].strip()
        results = rest[len("->") :].strip() if rest.startswith("->") else ""
        listed = results[1 : closing(results, 0)] if results.startswith("(") else ""
        self.result_attributes = [attributes for _, attributes in map(split_port, split_top(listed))]

    def run(self, inputs):
        self.values = dict(zip(self.arguments, inputs, strict=True))
        self.position = self.start + 1
        return self.block(True)

    def block(self, live):
        """Runs (or, where not `live`, skips) lines up to the end of a block; gives what it returns."""
        result = None
        while True:
            line = self.lines[self.position]
            self.position += 1
            if line.startswith("}"):
                self.position -= 1
                return result
            if line.startswith(("return", "hh.return", "hh.yield")):
                if live:
                    operands = line.split(" : ")[0].split(None, 1)
                    result = [self.values[v] for v in split_top(operands[1])] if len(operands) > 1 else []
                continue
            self.operation(line, live)

    def operation(self, line, live):
        results, _, body = line.partition(" = ")
        if body.startswith("hh.if"):
            condition = body.split()[1].rstrip(":")
            chosen = live and bool(self.values[condition])
            first = self.block(live and chosen)
            self.position += 1  # } else {
            second = self.block(live and not chosen)
            self.position += 1  # }
            if live:
                self.define(results, first if chosen else second)
            return
        if body.startswith("hh.start_up"):
            values = self.block(live)
            self.position += 1  # }
            if live:
                self.define(results, values)
            return
        if not live:
            return
        if body.startswith("hh.constant"):
            match = re.fullmatch(r"hh.constant dense<(.*)> : (tensor<[^>]*>) : .*", body) or re.fullmatch(
                r"hh.constant dense<(.*)> : (tensor<[^>]*>)", body
            )
            self.define(results, [dense(match[1], *tensor_type(match[2]))])
        elif body.startswith("hh.get_parameter"):
            name = re.match(r'hh.get_parameter @"?([^"]*?)"? :', body)[1]
            self.define(results, [self.parameters[name]])
        elif body.startswith("aten."):
            self.define(results, self.call(body))
        else:
            raise Unsupported(f"unexpected operation {body[:60]}")

    def call(self, body):
        start = body.index("(")
        end = closing(body, start)
        parts = body[5:start].split(".")
        library = torch.ops.hethub if parts[0] == "hethub" else torch.ops.aten
        parts = parts[1:] if parts[0] == "hethub" else parts
        operator = getattr(getattr(library, parts[0]), parts[1] if len(parts) > 1 else "default")
        tensors = iter(split_top(body[start + 1 : end]))
        rest, attributes = body[end + 1 :].strip(), {}
        if rest.startswith("{"):
            for item in split_top(rest[1 : closing(rest, 0)]):
                key, _, value = item.partition(" = ")
                attributes[key] = attribute(value)
        positional, keywords = [], {}
        for argument in operator._schema.arguments:
            kind = str(argument.type)
            if "Tensor" in kind:
                token = next(tensors, "none")
                if token.startswith("["):
                    value = [None if t == "none" else self.values[t] for t in split_top(token[1:-1])]
                else:
                    value = None if token == "none" else self.values[token]
            elif argument.name in attributes:
                value = attributes[argument.name]
            elif argument.has_default_value():
                value = argument.default_value
            else:
                value = None
            if argument.kwarg_only:
                if "Tensor" in kind or argument.name in attributes or not argument.has_default_value():
                    keywords[argument.name] = value
            else:
                positional.append(value)
        result = operator(*positional, **keywords)
        values = list(result) if isinstance(result, tuple) else [result]
        for value, kind in zip(values, split_top(body[body.rindex("-> (") + 4 : -1]), strict=True):
            if value is None:  # left out by an output mask
                continue
            dims, dtype = tensor_type(kind)
            if list(value.shape) != dims or value.dtype != dtype:
                raise TypeError(f"{body[:start]} gave {list(value.shape)} {value.dtype}, not {kind}")
        return values

    def define(self, results, values):
        if not results:
            return
        name, _, count = results.partition(":")
        if count:
            self.values.update({f"{name}#{i}": v for i, v in enumerate(values)})
        else:
            self.values[name] = values[0]
