"""Small nets of well-known architectures with random weights: one function each, all in the table NETS.

Sizes are chosen so that a test takes seconds while every operator pattern of the full net is there.
The entries named *_full* have the size of the published model and are what bench/ measures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

SEED = 1234


@dataclass(frozen=True)
class Net:
    """A module with what the exporters need to know about it."""

    module: torch.nn.Module
    inputs: Callable[[int], dict[str, torch.Tensor]]  # 0: the example; 1: another batch and sequence length
    axes: dict[str, dict[int, str]]  # symbolic axes by input
    outputs: list[str]


class Call(torch.nn.Module):
    """Gives a Hugging Face model plain tensors in and one plain tensor out."""

    def __init__(self, m: torch.nn.Module, names: list[str], result: str, **fixed) -> None:
        super().__init__()
        self.m, self.names, self.result, self.fixed = m, names, result, fixed

    def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
        arguments = dict(zip(self.names, tensors, strict=True))
        return getattr(self.m(**arguments, **self.fixed), self.result)


def perturb(model: torch.nn.Module, example: torch.Tensor | None = None) -> torch.nn.Module:
    """Replaces the initial zeros and ones: zero biases, unit norms and zero last BatchNorms hide errors."""
    generator = torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.ndim > 1 or not p.is_floating_point():
                continue
            noise = 0.05 * torch.randn(p.shape, generator=generator)
            if p.numel() and p.abs().max() < 1e-3:
                is_scale = name.endswith(("weight", "gamma")) and any(s in name for s in ("gamma", "norm", "bn"))
                p.copy_(noise + (0.5 if is_scale else 0.0))
            else:
                p.add_(noise)
    norms = [m for m in model.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    if norms and example is not None:
        for m in norms:
            m.reset_running_stats()
            m.momentum = None
        model.train()
        with torch.no_grad():
            for _ in range(2):
                model(torch.randn(example.shape, generator=generator))
        for m in norms:
            m.momentum = 0.1  # torch's default: None, the mean over all batches, has no form in ONNX
    return model.eval()


def ids(shape: tuple[int, ...], vocabulary: int, salt: int = 0) -> torch.Tensor:
    return torch.randint(2, vocabulary, shape, generator=torch.Generator().manual_seed(SEED + salt))


def noise(shape: tuple[int, ...], salt: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(SEED + salt))


def padded_mask(batch: int, length: int) -> torch.Tensor:
    mask = torch.ones((batch, length), dtype=torch.int64)
    mask[-1, length - 5 :] = 0
    return mask


def seeded(make: Callable[[], torch.nn.Module], example: torch.Tensor | None = None) -> torch.nn.Module:
    torch.manual_seed(SEED)
    return perturb(make(), example)


TEXT_SIZES = ((2, 32), (3, 17))


def causal(model: torch.nn.Module, vocabulary: int, sizes=TEXT_SIZES) -> Net:
    """A language model with a padding mask: token ids in, logits out."""
    names = ["input_ids", "attention_mask"]

    def inputs(which: int) -> dict[str, torch.Tensor]:
        return {"input_ids": ids(sizes[which], vocabulary, which), "attention_mask": padded_mask(*sizes[which])}

    axes = {name: {0: "batch", 1: "seq"} for name in names}
    return Net(Call(model, names, "logits", use_cache=False).eval(), inputs, axes, ["logits"])


def gpt2_like(vocabulary: int, sizes=TEXT_SIZES, **config) -> Net:
    from transformers import GPT2Config, GPT2LMHeadModel

    c = GPT2Config(vocab_size=vocabulary, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, **config)
    return causal(seeded(lambda: GPT2LMHeadModel._from_config(c, attn_implementation="sdpa")), vocabulary, sizes)


def gpt2() -> Net:
    return gpt2_like(1000, n_layer=2, n_embd=256, n_head=4, n_positions=128)


def gpt2_full() -> Net:
    return gpt2_like(50257, ((1, 128), (2, 64)), n_layer=12, n_embd=768, n_head=12, n_positions=1024)


LLAMA = dict(
    num_hidden_layers=2,
    hidden_size=256,
    intermediate_size=688,
    num_attention_heads=8,
    num_key_value_heads=2,
    vocab_size=1000,
    max_position_embeddings=256,
)


def llama(**more) -> Net:
    from transformers import LlamaConfig, LlamaForCausalLM

    c = LlamaConfig(**LLAMA, **more)
    return causal(seeded(lambda: LlamaForCausalLM._from_config(c, attn_implementation="sdpa")), 1000)


def mixtral() -> Net:
    """A mixture of experts: each token goes to two of four, whose weights are gathered by token."""
    from transformers import MixtralConfig, MixtralForCausalLM

    sizes = dict(hidden_size=64, intermediate_size=112, num_attention_heads=4, vocab_size=500, num_local_experts=4)
    c = MixtralConfig(**(LLAMA | sizes))

    def make() -> torch.nn.Module:
        model = MixtralForCausalLM._from_config(c, attn_implementation="sdpa")
        model.set_experts_implementation("batched_mm")  # the one form that the exporter takes
        return model

    return causal(seeded(make), 500, ((2, 16), (3, 9)))


def bert_like(vocabulary: int, sizes=TEXT_SIZES, **config) -> Net:
    from transformers import BertConfig, BertForSequenceClassification

    c = BertConfig(vocab_size=vocabulary, num_labels=5, **config)
    model = seeded(lambda: BertForSequenceClassification._from_config(c, attn_implementation="sdpa"))
    names = ["input_ids", "attention_mask", "token_type_ids"]

    def inputs(which: int) -> dict[str, torch.Tensor]:
        batch, length = sizes[which]
        types = torch.zeros((batch, length), dtype=torch.int64)
        types[:, length // 2 :] = 1
        mask = padded_mask(batch, length)
        return {"input_ids": ids((batch, length), vocabulary, which), "attention_mask": mask, "token_type_ids": types}

    axes = {name: {0: "batch", 1: "seq"} for name in names}
    return Net(Call(model, names, "logits").eval(), inputs, axes, ["logits"])


def bert() -> Net:
    return bert_like(
        1000,
        num_hidden_layers=2,
        hidden_size=256,
        num_attention_heads=4,
        intermediate_size=1024,
        max_position_embeddings=128,
    )


def bert_full() -> Net:
    return bert_like(30522, ((1, 128), (2, 64)))


def image(name: str, sizes: tuple[int, int] = (2, 3), pixels: int = 224, **arguments) -> Net:
    """A timm image classifier: pictures of `pixels` x `pixels` in, logits out."""
    import timm

    model = seeded(
        lambda: timm.create_model(name, pretrained=False, exportable=True, **arguments), noise((4, 3, pixels, pixels))
    )
    return Net(
        model, lambda which: {"x": noise((sizes[which], 3, pixels, pixels), which)}, {"x": {0: "batch"}}, ["logits"]
    )


def whisper_encoder() -> Net:
    from transformers import WhisperConfig, WhisperModel

    c = WhisperConfig(
        encoder_layers=2,
        decoder_layers=2,
        d_model=192,
        encoder_attention_heads=3,
        decoder_attention_heads=3,
        encoder_ffn_dim=768,
        decoder_ffn_dim=768,
        vocab_size=1000,
        max_source_positions=250,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
    )
    model = seeded(lambda: WhisperModel._from_config(c, attn_implementation="sdpa")).get_encoder()
    return Net(
        Call(model, ["input_features"], "last_hidden_state").eval(),
        lambda which: {"input_features": noise(((2, 3)[which], 80, 500), which)},
        {"input_features": {0: "batch"}},
        ["last_hidden_state"],
    )


def unet() -> Net:
    from diffusers import UNet2DConditionModel

    model = seeded(
        lambda: UNet2DConditionModel(
            sample_size=16,
            in_channels=4,
            out_channels=4,
            layers_per_block=1,
            block_out_channels=(32, 64),
            norm_num_groups=8,
            down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
            up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
            cross_attention_dim=64,
            attention_head_dim=8,
        )
    )
    names = ["sample", "timestep", "encoder_hidden_states"]

    def inputs(which: int) -> dict[str, torch.Tensor]:
        batch = (2, 3)[which]
        values = (
            noise((batch, 4, 16, 16), which),
            torch.tensor([981, 500, 20][:batch]),
            noise((batch, 7, 64), 3 + which),
        )
        return dict(zip(names, values, strict=True))

    return Net(Call(model, names, "sample").eval(), inputs, {name: {0: "batch"} for name in names}, ["noise"])


class Tagger(torch.nn.Module):
    """Embedding, two bidirectional LSTM layers, a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(1000, 64)
        self.lstm = torch.nn.LSTM(64, 96, 2, bidirectional=True, batch_first=True)
        self.output = torch.nn.Linear(192, 20)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.output(self.lstm(self.embedding(input_ids))[0])


def lstm_tagger() -> Net:
    return Net(
        seeded(Tagger),
        lambda which: {"input_ids": ids(TEXT_SIZES[which], 1000, which)},
        {"input_ids": {0: "batch", 1: "seq"}},
        ["tags"],
    )


NETS: dict[str, Callable[[], Net]] = {
    "gpt2": gpt2,
    "bert": bert,
    "resnet50": lambda: image("resnet50"),
    "resnet50_small": lambda: image("resnet50", (4, 2), 64),
    "llama": llama,
    "llama_tied": lambda: llama(tie_word_embeddings=True),
    "mixtral": mixtral,
    "vit": lambda: image("vit_tiny_patch16_224", depth=4),
    "mobilenetv3": lambda: image("mobilenetv3_small_100"),
    "efficientnet": lambda: image("efficientnet_b0"),
    "whisper_encoder": whisper_encoder,
    "unet": unet,
    "lstm_tagger": lstm_tagger,
    "gpt2_full": gpt2_full,
    "bert_full": bert_full,
    "resnet50_full": lambda: image("resnet50", (1, 2)),
}
