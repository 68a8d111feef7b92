"""Protein language models with random weights: ESM-2 and ProtT5 of the package transformers, and MSA Transformer.

Shapes: B batch, S sequences of an alignment, L tokens, C channels. input_ids and attention_mask are int64; the mask is
1 for a token and 0 for padding.
"""

import torch
from torch import nn


class Esm2(nn.Module):
    """Lin and others 2023: rotary attention. Logits of each token. (B, L, 33)"""

    def __init__(self, layers, width, heads=20):
        super().__init__()
        from transformers import EsmConfig, EsmForMaskedLM
        self.model = EsmForMaskedLM(EsmConfig(
            vocab_size=33, mask_token_id=32, pad_token_id=1, hidden_size=width, num_hidden_layers=layers,
            num_attention_heads=heads, intermediate_size=4 * width, max_position_embeddings=1026,
            position_embedding_type="rotary", token_dropout=True, emb_layer_norm_before=False))

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids, attention_mask=attention_mask).logits


class ProtT5(nn.Module):
    """Elnaggar and others 2021: the encoder of T5, with RMS norms and a relative bias of all layers. (B, L, C)"""

    def __init__(self, layers, width, heads, head_width, inner):
        super().__init__()
        from transformers import T5Config, T5EncoderModel
        self.model = T5EncoderModel(T5Config(
            vocab_size=128, d_model=width, d_kv=head_width, d_ff=inner, num_layers=layers, num_heads=heads,
            relative_attention_num_buckets=32, feed_forward_proj="relu", is_encoder_decoder=False, use_cache=False))

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state


class TiedRowAttention(nn.Module):
    """One map for all rows of an alignment, from the sum of their scores over sqrt(S D). x (B, S, L, C) to the same"""

    def __init__(self, channels, num_heads):
        super().__init__()
        self.num_heads, self.scale = num_heads, (channels // num_heads) ** -0.5
        self.query, self.key, self.value, self.out = (nn.Linear(channels, channels) for _ in range(4))

    def forward(self, x, keep):
        query, key, value = (f(x).unflatten(-1, (self.num_heads, -1)) for f in (self.query, self.key, self.value))
        query = query * (self.scale * x.shape[1] ** -0.5) * keep[..., None, None]
        scores = torch.einsum("bsihd,bsjhd->bhij", query, key)
        scores = scores.masked_fill(keep[:, None, None, 0] == 0, -10000)
        return self.out(torch.einsum("bhij,bsjhd->bsihd", scores.softmax(-1), value).flatten(-2))


class ColumnAttention(nn.Module):
    """Along the rows of each column. x (B, S, L, C) to the same"""

    def __init__(self, channels, num_heads):
        super().__init__()
        self.num_heads, self.scale = num_heads, (channels // num_heads) ** -0.5
        self.query, self.key, self.value, self.out = (nn.Linear(channels, channels) for _ in range(4))

    def forward(self, x, keep):
        query, key, value = (f(x).unflatten(-1, (self.num_heads, -1)) for f in (self.query, self.key, self.value))
        scores = torch.einsum("bilhd,bjlhd->bhlij", query * self.scale, key)
        scores = scores.masked_fill(keep.transpose(1, 2)[:, None, :, None] == 0, -10000)
        return self.out(torch.einsum("bhlij,bjlhd->bilhd", scores.softmax(-1), value).flatten(-2))


class FeedForward(nn.Sequential):
    def __init__(self, channels, factor=4):
        super().__init__(nn.Linear(channels, factor * channels), nn.GELU(), nn.Linear(factor * channels, channels))


class MsaTransformer(nn.Module):
    """Rao and others 2021. input_ids, attention_mask (B, S, L) to the logits of the first row, the query. (B, L, 33)"""

    def __init__(self, layers, channels, num_heads, max_length=1026, max_depth=1024):
        super().__init__()
        self.tokens = nn.Embedding(33, channels)
        self.positions, self.rows = nn.Embedding(max_length, channels), nn.Parameter(
            0.01 * torch.randn(1, max_depth, 1, channels))
        self.first_norm, self.last_norm = nn.LayerNorm(channels), nn.LayerNorm(channels)
        parts = (lambda: TiedRowAttention(channels, num_heads), lambda: ColumnAttention(channels, num_heads),
                 lambda: FeedForward(channels))
        self.layers = nn.ModuleList(
            nn.ModuleList(nn.ModuleList((nn.LayerNorm(channels), part())) for part in parts) for _ in range(layers))
        self.head = nn.Sequential(nn.Linear(channels, channels), nn.GELU(), nn.LayerNorm(channels),
                                  nn.Linear(channels, 33))

    def forward(self, input_ids, attention_mask):
        keep = attention_mask.to(self.rows.dtype)
        depth, length = input_ids.shape[1:]
        x = self.tokens(input_ids) + self.positions.weight[:length] + self.rows[:, :depth]
        x = self.first_norm(x) * keep[..., None]
        for (row_norm, row), (column_norm, column), (norm, feed_forward) in self.layers:
            x = x + row(row_norm(x), keep)
            x = x + column(column_norm(x), keep)
            x = x + feed_forward(norm(x))
        return self.head(self.last_norm(x)[:, 0])
