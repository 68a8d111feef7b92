"""The structures of protein models as PyTorch modules: what Plica finds in exported graphs, at the smallest.

MSA row attention with pair bias, column attention, outer product mean, triangle updates and the Evoformer block follow
AlphaFold 2 (Jumper and others 2021, supplement, algorithms 6 to 15); axial attention follows Ho and others 2019.
Shapes: B batch, S sequences, N residues, C channels. Masks are 1 for what exists and 0 for padding.
"""

import math

import torch
from torch import nn


def split_heads(x, num_heads):
    """(..., L, H * D) to (..., H, L, D)"""
    return x.unflatten(-1, (num_heads, -1)).transpose(-2, -3)


def join_heads(x):
    """(..., H, L, D) to (..., L, H * D)"""
    return x.transpose(-2, -3).flatten(-2)


class GatedAttention(nn.Module):
    """Attention along the axis before the last, behind a layer norm; a sigmoid gate before the output projection."""

    def __init__(self, channels, num_heads, head_width):
        super().__init__()
        self.num_heads, self.scale = num_heads, 1 / math.sqrt(head_width)
        inner = num_heads * head_width
        self.norm = nn.LayerNorm(channels)
        self.query, self.key, self.value = (nn.Linear(channels, inner, bias=False) for _ in range(3))
        self.gate = nn.Linear(channels, inner)
        self.out = nn.Linear(inner, channels)

    def attend(self, x, mask, bias=None):
        """x (..., L, C) normalised, mask (..., L), bias broadcasts to (..., H, L, L)"""
        query, key, value = (split_heads(f(x), self.num_heads) for f in (self.query, self.key, self.value))
        scores = query @ key.transpose(-1, -2) * self.scale
        if bias is not None:
            scores = scores + bias
        scores = scores + 1e9 * (mask[..., None, None, :] - 1)
        return self.out(join_heads(scores.softmax(-1) @ value) * torch.sigmoid(self.gate(x)))


class MsaRowAttention(GatedAttention):
    """msa (B, S, N, C), pair (B, N, N, Cz), mask (B, S, N) to (B, S, N, C)"""

    def __init__(self, msa_channels, pair_channels, num_heads):
        super().__init__(msa_channels, num_heads, msa_channels // num_heads)
        self.bias = nn.Linear(pair_channels, num_heads, bias=False)

    def forward(self, msa, pair, mask):
        return self.attend(self.norm(msa), mask, self.bias(pair).permute(0, 3, 1, 2)[:, None])


class MsaColumnAttention(GatedAttention):
    """msa (B, S, N, C), mask (B, S, N) to (B, S, N, C)"""

    def __init__(self, channels, num_heads):
        super().__init__(channels, num_heads, channels // num_heads)

    def forward(self, msa, mask):
        return self.attend(self.norm(msa.transpose(1, 2)), mask.transpose(1, 2)).transpose(1, 2)


class TriangleAttention(GatedAttention):
    """Around the starting node: pair (B, N, N, C), mask (B, N, N) to (B, N, N, C)"""

    def __init__(self, channels, num_heads=4, head_width=32):
        super().__init__(channels, num_heads, head_width)
        self.bias = nn.Linear(channels, num_heads, bias=False)

    def forward(self, pair, mask):
        x = self.norm(pair)
        return self.attend(x, mask, self.bias(x).permute(0, 3, 1, 2)[:, None])


class OuterProductMean(nn.Module):
    """msa (B, S, N, C), mask (B, S, N) to (B, N, N, Cz)"""

    def __init__(self, msa_channels, pair_channels, hidden=32):
        super().__init__()
        self.norm = nn.LayerNorm(msa_channels)
        self.left, self.right = nn.Linear(msa_channels, hidden), nn.Linear(msa_channels, hidden)
        self.out = nn.Linear(hidden * hidden, pair_channels)

    def forward(self, msa, mask):
        x, keep = self.norm(msa), mask[..., None]
        products = torch.einsum("bsic,bsjd->bijcd", self.left(x) * keep, self.right(x) * keep)
        depth = mask.sum(1).clamp(min=1)[:, :, None, None]
        return self.out(products.flatten(-2) / depth)


class AxialAttention(nn.Module):
    """Along rows, then along columns, each with a residual: x (B, R, W, C) to the same"""

    def __init__(self, channels, num_heads):
        super().__init__()
        self.num_heads, self.scale = num_heads, 1 / math.sqrt(channels // num_heads)
        for axis in ("row", "column"):
            setattr(self, f"{axis}_norm", nn.LayerNorm(channels))
            setattr(self, f"{axis}_qkv", nn.Linear(channels, 3 * channels, bias=False))
            setattr(self, f"{axis}_out", nn.Linear(channels, channels))

    def attend(self, x, axis):
        qkv = getattr(self, f"{axis}_qkv")(getattr(self, f"{axis}_norm")(x)).chunk(3, -1)
        query, key, value = (split_heads(part, self.num_heads) for part in qkv)
        weights = (query @ key.transpose(-1, -2) * self.scale).softmax(-1)
        return getattr(self, f"{axis}_out")(join_heads(weights @ value))

    def forward(self, x):
        x = x + self.attend(x, "row")
        return x + self.attend(x.transpose(1, 2), "column").transpose(1, 2)


class TriangleMultiplication(nn.Module):
    """pair (B, N, N, C), mask (B, N, N) to (B, N, N, C)"""

    def __init__(self, channels, hidden=128, outgoing=True):
        super().__init__()
        self.equation = "bikc,bjkc->bijc" if outgoing else "bkic,bkjc->bijc"
        self.norm, self.product_norm = nn.LayerNorm(channels), nn.LayerNorm(hidden)
        self.left, self.left_gate, self.right, self.right_gate = (nn.Linear(channels, hidden) for _ in range(4))
        self.gate, self.out = nn.Linear(channels, channels), nn.Linear(hidden, channels)

    def forward(self, pair, mask):
        x, keep = self.norm(pair), mask[..., None]
        left = keep * torch.sigmoid(self.left_gate(x)) * self.left(x)
        right = keep * torch.sigmoid(self.right_gate(x)) * self.right(x)
        product = torch.einsum(self.equation, left, right)
        return torch.sigmoid(self.gate(x)) * self.out(self.product_norm(product))


class Transition(nn.Sequential):
    def __init__(self, channels, factor=4):
        super().__init__(nn.LayerNorm(channels), nn.Linear(channels, factor * channels), nn.ReLU(),
                         nn.Linear(factor * channels, channels))


class EvoformerBlock(nn.Module):
    """msa (B, S, N, C), pair (B, N, N, Cz), msa_mask (B, S, N), pair_mask (B, N, N) to the new msa and pair"""

    def __init__(self, msa_channels=256, pair_channels=128, num_heads=8, outer_channels=32):
        super().__init__()
        self.row, self.column = MsaRowAttention(msa_channels, pair_channels, num_heads), MsaColumnAttention(
            msa_channels, num_heads)
        self.msa_transition, self.pair_transition = Transition(msa_channels), Transition(pair_channels)
        self.outer = OuterProductMean(msa_channels, pair_channels, outer_channels)
        self.outgoing, self.incoming = (
            TriangleMultiplication(pair_channels, pair_channels, outgoing) for outgoing in (True, False))
        self.starting, self.ending = (
            TriangleAttention(pair_channels, head_width=pair_channels // 4) for _ in range(2))

    def forward(self, msa, pair, msa_mask, pair_mask):
        msa = msa + self.row(msa, pair, msa_mask)
        msa = msa + self.column(msa, msa_mask)
        msa = msa + self.msa_transition(msa)
        pair = pair + self.outer(msa, msa_mask)
        pair = pair + self.outgoing(pair, pair_mask)
        pair = pair + self.incoming(pair, pair_mask)
        pair = pair + self.starting(pair, pair_mask)
        pair = pair + self.ending(pair.transpose(1, 2), pair_mask.transpose(1, 2)).transpose(1, 2)
        return msa, pair + self.pair_transition(pair)


class EvoformerStack(nn.Module):
    """Blocks one behind the other; as EvoformerBlock."""

    def __init__(self, num_blocks, *sizes, **options):
        super().__init__()
        self.blocks = nn.ModuleList(EvoformerBlock(*sizes, **options) for _ in range(num_blocks))

    def forward(self, msa, pair, msa_mask, pair_mask):
        for block in self.blocks:
            msa, pair = block(msa, pair, msa_mask, pair_mask)
        return msa, pair
