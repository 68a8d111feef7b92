"""Named workloads: a structure at one size with its inputs, as benchmarks and tests use them."""

from dataclasses import dataclass
from typing import Callable

import torch

import modules


@dataclass
class Case:
    title: str
    build: Callable[[], torch.nn.Module]
    inputs: dict  # name: shape; a name that ends in mask is all ones
    dynamic: bool = False  # batch and length are free in the exported file


def msa_row(batch, depth, length, channels, heads, pair):
    return Case(f"MSA row attention B{batch} S{depth} N{length} c{channels} h{heads} pair{pair}",
                lambda: modules.MsaRowAttention(channels, pair, heads),
                {"msa": (batch, depth, length, channels), "pair": (batch, length, length, pair),
                 "mask": (batch, depth, length)})


def outer_product_mean(batch, depth, length, channels, pair):
    return Case(f"outer product mean B{batch} S{depth} N{length} {channels}/32/{pair}",
                lambda: modules.OuterProductMean(channels, pair),
                {"msa": (batch, depth, length, channels), "mask": (batch, depth, length)})


def axial(batch, size, channels, heads):
    return Case(f"axial attention B{batch} {size}x{size} D{channels} h{heads}",
                lambda: modules.AxialAttention(channels, heads), {"x": (batch, size, size, channels)})


def triangle_attention(length):
    return Case(f"triangle attention N{length} c128 h4", lambda: modules.TriangleAttention(128),
                {"pair": (1, length, length, 128), "mask": (1, length, length)})


def triangle_multiplication(length):
    return Case(f"triangle multiplication N{length} c128", lambda: modules.TriangleMultiplication(128),
                {"pair": (1, length, length, 128), "mask": (1, length, length)})


def evoformer(depth, length):
    return Case(f"Evoformer block S{depth} N{length} (256/128)", modules.EvoformerBlock,
                {"msa": (1, depth, length, 256), "pair": (1, length, length, 128), "msa_mask": (1, depth, length),
                 "pair_mask": (1, length, length)})


class Esm2(torch.nn.Module):
    """ESM-2 with random weights, as the package transformers builds it; logits of each token."""

    def __init__(self, layers, width):
        super().__init__()
        from transformers import EsmConfig, EsmForMaskedLM
        self.model = EsmForMaskedLM(EsmConfig(
            vocab_size=33, mask_token_id=32, pad_token_id=1, hidden_size=width, num_hidden_layers=layers,
            num_attention_heads=20, intermediate_size=4 * width, max_position_embeddings=1026,
            position_embedding_type="rotary", token_dropout=True, emb_layer_norm_before=False))

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids, attention_mask=attention_mask).logits


def esm2(name, batch, length):
    layers, width = {"8M": (6, 320), "650M": (33, 1280)}[name]
    return Case(f"ESM-2 {name} B{batch} L{length}", lambda: Esm2(layers, width),
                {"input_ids": (batch, length), "attention_mask": (batch, length)}, dynamic=True)


CASES = {
    "seed_msa_row": msa_row(2, 8, 32, 64, 4, 64),
    "seed_outer_product_mean": outer_product_mean(2, 8, 32, 64, 64),
    "seed_axial": axial(4, 32, 64, 4),
    "msa_row": msa_row(1, 128, 256, 256, 8, 128),
    "outer_product_mean": outer_product_mean(1, 128, 256, 256, 128),
    "axial": axial(4, 128, 256, 8),
    "triangle_attention_256": triangle_attention(256),
    "triangle_attention_512": triangle_attention(512),
    "triangle_attention_1024": triangle_attention(1024),
    "triangle_multiplication_256": triangle_multiplication(256),
    "triangle_multiplication_512": triangle_multiplication(512),
    "triangle_multiplication_1024": triangle_multiplication(1024),
    "evoformer": evoformer(128, 256),
    "evoformer_s512": evoformer(512, 256),
    "evoformer_n512": evoformer(128, 512),
    "esm2_8m_b1_l128": esm2("8M", 1, 128),
    "esm2_650m_b1_l128": esm2("650M", 1, 128),
    "esm2_650m_b1_l512": esm2("650M", 1, 512),
    "esm2_650m_b32_l256": esm2("650M", 32, 256),
    "odd_msa_row": msa_row(3, 16, 257, 192, 8, 64),
    "odd_outer_product_mean": outer_product_mean(3, 17, 257, 192, 72),
    "odd_axial": axial(3, 129, 192, 8),
    "round_msa_row": msa_row(4, 16, 256, 256, 8, 64),
    "round_outer_product_mean": outer_product_mean(4, 16, 256, 192, 64),
}

# A shape that fits no tile, and the round one beside it: the share of the device's limit is to hold.
ODD_CASES = {"odd_msa_row": "round_msa_row", "odd_outer_product_mean": "round_outer_product_mean", "odd_axial": "axial"}


def make_inputs(case, seed=0):
    """Tensors on the CPU, by name: normal values, masks of ones, tokens of residues."""
    generator = torch.Generator().manual_seed(seed)
    made = {}
    for name, shape in case.inputs.items():
        if name == "input_ids":
            made[name] = torch.randint(4, 24, shape, generator=generator)
        elif name.endswith("mask"):
            made[name] = torch.ones(shape, dtype=torch.int64 if name == "attention_mask" else torch.float32)
        else:
            made[name] = torch.randn(shape, generator=generator)
    return made


def build(case, seed=0):
    torch.manual_seed(seed)
    return case.build().eval()
