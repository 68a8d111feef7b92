"""Writes AntiBERTy as an ONNX file, from the published weights inside the Python package antiberty 0.1.3.

    python3 -m pip download --no-deps antiberty==0.1.3
    python3 models/antiberty/export.py antiberty-0.1.3-py3-none-any.whl FOLDER

FOLDER receives antiberty.onnx and vocab.txt (the alphabet: one token a line, its id is the line's number from 0).
Needs numpy and onnx; the wheel is only read, never installed.
"""

import argparse
import os
import sys

import numpy as np
from onnx import TensorProto

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import checkpoint  # noqa: E402
from graph_builder import GraphBuilder, write  # noqa: E402

CHECKPOINT = "antiberty/trained_models/AntiBERTy_md_smooth/pytorch_model.bin"
LICENCE = "antiberty-0.1.3.dist-info/LICENSE.MD"
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"ACDEFGHIKLMNPQRSTVWY"]
NUM_LAYERS = 8
NUM_HEADS = 8
EPSILON = 1e-12
OPSET = 17


def embeddings(g):
    """The sum of token, token type (always 0) and position vectors, normalised. (B, L, C)"""
    tokens = g.node("Gather", g.weight("bert.embeddings.word_embeddings.weight"), "input_ids", axis=0)
    kinds = g.weight("bert.embeddings.token_type_embeddings.weight")
    kind = g.node("Gather", kinds, g.constant("token_type", np.int64(0)), axis=0)
    length = g.node("Shape", "input_ids", start=1, end=2)
    table = g.weight("bert.embeddings.position_embeddings.weight")
    positions = g.node("Slice", table, g.ints("zero", 0), length, g.ints("zero", 0))
    total = g.node("Add", g.node("Add", tokens, kind), positions)
    return g.layer_norm(total, "bert.embeddings.LayerNorm", EPSILON)


def mask_bias(g):
    """0 for a real key, the lowest float for padding. (B, 1, 1, L)"""
    keep = g.node("Cast", "attention_mask", to=TensorProto.FLOAT)
    keep = g.node("Unsqueeze", keep, g.ints("mask_axes", 1, 2))
    return g.node("Mul", g.node("Sub", g.scalar("one", 1), keep), g.scalar("lowest", np.finfo(np.float32).min))


def attention(g, x, bias, prefix, width):
    """Self-attention with its output projection. (B, L, C)"""
    query, key, value = (g.linear(x, f"{prefix}.self.{name}") for name in ("query", "key", "value"))
    context = g.attention(query, key, value, bias, NUM_HEADS, width // NUM_HEADS)
    return g.linear(context, f"{prefix}.output.dense")


def encoder_layer(g, x, bias, prefix, width, output=None):
    attended = g.node("Add", attention(g, x, bias, f"{prefix}.attention", width), x)
    x = g.layer_norm(attended, f"{prefix}.attention.output.LayerNorm", EPSILON)
    inner = g.gelu(g.linear(x, f"{prefix}.intermediate.dense"))
    moved = g.node("Add", g.linear(inner, f"{prefix}.output.dense"), x)
    return g.layer_norm(moved, f"{prefix}.output.LayerNorm", EPSILON, output=output)


def heads(g, states):
    """Residue logits for every token; species, chain and graft logits from the first token, [CLS]."""
    residues = g.gelu(g.linear(states, "cls.predictions.transform.dense"))
    residues = g.layer_norm(residues, "cls.predictions.transform.LayerNorm", EPSILON)
    g.linear(residues, "cls.predictions.decoder", output="logits")
    first = g.node("Gather", states, g.constant("first_token", np.int64(0)), axis=1)
    pooled = g.node("Tanh", g.linear(first, "bert.pooler.dense"))
    for name in ("species", "chain", "graft"):
        weight, bias = g.weight(f"cls.{name}.weight"), g.weight(f"cls.{name}.bias")
        g.node("Gemm", pooled, weight, bias, transB=1, output=f"{name}_logits")


def build(weights, licence):
    """The whole model as an ONNX message."""
    g = GraphBuilder(weights)
    width = weights["bert.embeddings.word_embeddings.weight"].shape[1]
    x, bias = embeddings(g), mask_bias(g)
    for layer in range(NUM_LAYERS):
        output = "last_hidden_state" if layer == NUM_LAYERS - 1 else f"hidden_state_{layer + 1}"
        x = encoder_layer(g, x, bias, f"bert.encoder.layer.{layer}", width, output)
    heads(g, x)
    return g.model(
        "antiberty",
        inputs=[(name, TensorProto.INT64, ["batch", "length"]) for name in ("input_ids", "attention_mask")],
        outputs=[
            ("last_hidden_state", TensorProto.FLOAT, ["batch", "length", width]),
            ("logits", TensorProto.FLOAT, ["batch", "length", len(TOKENS)]),
            ("species_logits", TensorProto.FLOAT, ["batch", 6]),
            ("chain_logits", TensorProto.FLOAT, ["batch", 2]),
            ("graft_logits", TensorProto.FLOAT, ["batch", 2]),
        ],
        opset=OPSET,
        metadata={
            "source": "Python package antiberty 0.1.3, AntiBERTy_md_smooth",
            "licence": licence,
            "species": "Camel Human Mouse Rabbit Rat Rhesus",
            "chain": "Heavy Light",
        },
    )


def main():
    parser = argparse.ArgumentParser(description="Writes AntiBERTy as antiberty.onnx and vocab.txt.")
    parser.add_argument("wheel", help="antiberty-0.1.3-py3-none-any.whl, as pip download brings it")
    parser.add_argument("folder", help="where the two files go; made when missing")
    arguments = parser.parse_args()
    weights = checkpoint.read_from_wheel(arguments.wheel, CHECKPOINT)
    licence = checkpoint.read_text_from_wheel(arguments.wheel, LICENCE)
    os.makedirs(arguments.folder, exist_ok=True)
    with open(os.path.join(arguments.folder, "vocab.txt"), "w", encoding="ascii") as file:
        file.write("".join(f"{token}\n" for token in TOKENS))
    write(build(weights, licence), os.path.join(arguments.folder, "antiberty.onnx"))


if __name__ == "__main__":
    main()
