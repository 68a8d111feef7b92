"""Named workloads: a structure at one size with its inputs, as benchmarks and tests use them."""

from dataclasses import dataclass
from typing import Callable

import torch

import language_models
import modules


@dataclass
class Case:
    title: str
    build: Callable[[], torch.nn.Module]
    inputs: dict  # name: shape; a name that ends in mask is all ones
    axes: dict  # name: what its leading axes are called where they are free in the exported file
    dynamic: bool = False  # they are free without being asked for


MSA, PAIR, ROWS = "batch depth length", "batch length length", "batch rows columns"
TOKENS, ALIGNMENT = ({"input_ids": axes, "attention_mask": axes} for axes in ("batch length", MSA))


def msa_row(batch, depth, length, channels, heads, pair):
    return Case(f"MSA row attention B{batch} S{depth} N{length} c{channels} h{heads} pair{pair}",
                lambda: modules.MsaRowAttention(channels, pair, heads),
                {"msa": (batch, depth, length, channels), "pair": (batch, length, length, pair),
                 "mask": (batch, depth, length)}, {"msa": MSA, "pair": PAIR, "mask": MSA})


def outer_product_mean(batch, depth, length, channels, pair, hidden=32):
    return Case(f"outer product mean B{batch} S{depth} N{length} {channels}/{hidden}/{pair}",
                lambda: modules.OuterProductMean(channels, pair, hidden),
                {"msa": (batch, depth, length, channels), "mask": (batch, depth, length)}, {"msa": MSA, "mask": MSA})


def axial(batch, size, channels, heads, columns=None):
    columns = columns or size
    return Case(f"axial attention B{batch} {size}x{columns} D{channels} h{heads}",
                lambda: modules.AxialAttention(channels, heads), {"x": (batch, size, columns, channels)}, {"x": ROWS})


def triangle_attention(length):
    return Case(f"triangle attention N{length} c128 h4", lambda: modules.TriangleAttention(128),
                {"pair": (1, length, length, 128), "mask": (1, length, length)}, {"pair": PAIR, "mask": PAIR})


def triangle_multiplication(length):
    return Case(f"triangle multiplication N{length} c128", lambda: modules.TriangleMultiplication(128),
                {"pair": (1, length, length, 128), "mask": (1, length, length)}, {"pair": PAIR, "mask": PAIR})


def evoformer(depth, length, batch=1, blocks=1, channels=(256, 128), **options):
    build = modules.EvoformerBlock if blocks == 1 else lambda: modules.EvoformerStack(blocks, *channels, **options)
    title = "Evoformer block" if blocks == 1 else f"{blocks} Evoformer blocks"
    return Case(f"{title} S{depth} N{length} ({channels[0]}/{channels[1]})", build,
                {"msa": (batch, depth, length, channels[0]), "pair": (batch, length, length, channels[1]),
                 "msa_mask": (batch, depth, length), "pair_mask": (batch, length, length)},
                {"msa": MSA, "pair": PAIR, "msa_mask": MSA, "pair_mask": PAIR})


def esm2(name, batch, length):
    layers, width, heads = {"small": (2, 16, 2), "8M": (6, 320, 20), "650M": (33, 1280, 20)}[name]
    return Case(f"ESM-2 {name} B{batch} L{length}", lambda: language_models.Esm2(layers, width, heads),
                {"input_ids": (batch, length), "attention_mask": (batch, length)}, TOKENS, dynamic=True)


def prott5(name, batch, length):
    sizes = {"small": (2, 16, 2, 8, 32), "XL": (24, 1024, 32, 128, 16384)}[name]
    return Case(f"ProtT5 {name} encoder B{batch} L{length}", lambda: language_models.ProtT5(*sizes),
                {"input_ids": (batch, length), "attention_mask": (batch, length)}, TOKENS, dynamic=True)


def msa_transformer(name, batch, depth, length):
    sizes = {"small": (2, 16, 2, 32, 8), "100M": (12, 768, 12)}[name]
    return Case(f"MSA Transformer {name} B{batch} S{depth} L{length}", lambda: language_models.MsaTransformer(*sizes),
                {"input_ids": (batch, depth, length), "attention_mask": (batch, depth, length)}, ALIGNMENT,
                dynamic=True)


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

# To be exported; no rows of the benchmarks' table.
MORE_CASES = {
    "evoformer_2_blocks": evoformer(128, 256, blocks=2),
    "prott5_xl_b1_l256": prott5("XL", 1, 256),
    "msa_transformer_s64_l256": msa_transformer("100M", 1, 64, 256),
}

# A shape that fits no tile, and the round one beside it: the share of the device's limit is to hold.
ODD_CASES = {"odd_msa_row": "round_msa_row", "odd_outer_product_mean": "round_outer_product_mean", "odd_axial": "axial"}


# Of each structure one that is small enough to be recorded with its weights, by batch, depth and length.
SMALL_CASES = {
    "msa_row": lambda batch, depth, length: msa_row(batch, depth, length, 16, 2, 8),
    "outer_product_mean": lambda batch, depth, length: outer_product_mean(batch, depth, length, 16, 8, 8),
    "axial": lambda batch, depth, length: axial(batch, depth, 16, 2, columns=length),
    "evoformer_2_blocks": lambda batch, depth, length: evoformer(
        depth, length, batch, blocks=2, channels=(16, 16), num_heads=2, outer_channels=8),
    "esm2": lambda batch, _, length: esm2("small", batch, length),
    "prott5": lambda batch, _, length: prott5("small", batch, length),
    "msa_transformer": lambda batch, depth, length: msa_transformer("small", batch, depth, length),
}


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
