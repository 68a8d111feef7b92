"""Writes SCEPTR as an ONNX file, from the published weights inside the Python package sceptr 1.2.0.

    python3 -m pip download --no-deps sceptr==1.2.0
    python3 models/sceptr/export.py sceptr-1.2.0-py3-none-any.whl FOLDER [--variant SCEPTR_large]

FOLDER receives sceptr.onnx. Needs numpy and onnx; the wheel is only read, never installed.
"""

import argparse
import json
import os
import sys

import numpy as np
from onnx import TensorProto

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import checkpoint  # noqa: E402
from graph_builder import GraphBuilder, split_projections, write  # noqa: E402

LICENCE = "sceptr-1.2.0.dist-info/licenses/LICENSE.txt"
VARIANTS = ["SCEPTR", "SCEPTR_large", "SCEPTR_small", "SCEPTR_tiny"]
PAD, MASK, CLS, FIRST_LETTER = range(4)
LETTERS = "ACDEFGHIKLMNPQRSTVWY"
LOOPS = ["CDR1A", "CDR2A", "CDR3A", "CDR1B", "CDR2B", "CDR3B"]
STACK = "_self_attention_stack._standard_stack._self_attention_stack.layers"
EPSILON = 1e-5
SMALLEST_NORM = 1e-12
OPSET = 17


def tokens_of(loops):
    """The rows of a receptor with these loops: (residue, place from 1, loop's length, loop), CLS first; ? is masked."""
    rows = [(CLS, 0, 0, 0)]
    for number, name in enumerate(LOOPS, start=1):
        loop = loops.get(name, "")
        letters = (MASK if letter == "?" else FIRST_LETTER + LETTERS.index(letter) for letter in loop)
        rows.extend((letter, place, len(loop), number) for place, letter in enumerate(letters, start=1))
    return rows


def column(g, index):
    """Of the input: (B, L)"""
    return g.node("Gather", "tokens", g.constant(f"column_{index}", np.int64(index)), axis=2)


def relative_place(g):
    """0 at a loop's first residue, 1 at its last, 0.5 where it has one alone; 0 outside of loops. (B, L, 1)"""
    place, length = (column(g, index) for index in (1, 2))
    before, steps = (g.node("Cast", g.node("Sub", x, g.constant("one", np.int64(1))), to=TensorProto.FLOAT)
                     for x in (place, length))
    relative = g.node("Div", before, steps)
    relative = g.node("Where", g.node("IsNaN", relative), g.scalar("half", 0.5), relative)
    outside = g.node("Equal", place, g.constant("pad", np.int64(PAD)))
    relative = g.node("Where", outside, g.scalar("nothing", 0), relative)
    return g.node("Unsqueeze", relative, g.ints("last_axis", -1))


def embedding(g, letters):
    """The projection of a one-hot letter, a place and a one-hot loop: the sum of their vectors. (B, L, C)"""
    projection = g.array("_self_attention_stack._initial_projector.weight").T
    num_letters = FIRST_LETTER + len(LETTERS) - 1  # padding is all zeros
    nothing = np.zeros_like(projection[:1])
    tables = [np.concatenate([nothing, projection[:num_letters]]), np.concatenate([nothing, projection[-len(LOOPS):]])]
    letter = g.node("Gather", g.constant("letter_vectors", tables[0]), letters, axis=0)
    loop = g.node("Gather", g.constant("loop_vectors", tables[1]), column(g, 3), axis=0)
    place = g.node("Mul", relative_place(g), g.constant("place_vector", projection[num_letters]))
    return g.node("Add", g.node("Add", letter, place), loop)


def encoder_layer(g, x, bias, prefix, num_heads, output):
    width = len(g.array(f"{prefix}.norm1.bias"))
    projected = (g.linear(x, f"{prefix}.self_attn.{name}") for name in ("query", "key", "value"))
    context = g.attention(*projected, bias, num_heads, width // num_heads)
    attended = g.node("Add", x, g.linear(context, f"{prefix}.self_attn.out_proj"))
    x = g.layer_norm(attended, f"{prefix}.norm1", EPSILON)
    inner = g.node("Relu", g.linear(x, f"{prefix}.linear1"))
    moved = g.node("Add", x, g.linear(inner, f"{prefix}.linear2"))
    return g.layer_norm(moved, f"{prefix}.norm2", EPSILON, output=output)


def unit_vector(g, states):
    """The state of CLS, of length 1. (B, C)"""
    first = g.node("Gather", states, g.constant("first_token", np.int64(0)), axis=1)
    norm = g.node("Max", g.node("ReduceL2", first, axes=[-1], keepdims=1), g.scalar("smallest_norm", SMALLEST_NORM))
    g.node("Div", first, norm, output="vector")


def build(weights, num_layers, num_heads, metadata):
    """The whole model as an ONNX message."""
    g = GraphBuilder(split_projections(weights))
    letters = column(g, 0)
    x, bias = embedding(g, letters), g.padding_bias(letters, PAD)
    for layer in range(num_layers):
        output = {num_layers - 1: "last_hidden_state", num_layers - 2: "residue_states"}.get(layer)
        x = encoder_layer(g, x, bias, f"{STACK}.{layer}", num_heads, output)
    g.linear(x, "_mlm_token_prediction_projector.projector", output="residue_logits")
    unit_vector(g, x)
    width = len(weights[f"{STACK}.0.norm1.bias"])
    rows = ["batch", "length"]
    return g.model(
        "sceptr",
        inputs=[("tokens", TensorProto.INT64, [*rows, 4])],
        outputs=[
            ("vector", TensorProto.FLOAT, ["batch", width]),
            ("residue_states", TensorProto.FLOAT, [*rows, width]),
            ("last_hidden_state", TensorProto.FLOAT, [*rows, width]),
            ("residue_logits", TensorProto.FLOAT, [*rows, len(LETTERS)]),
        ],
        opset=OPSET,
        metadata=metadata,
    )


def main():
    parser = argparse.ArgumentParser(description="Writes SCEPTR as sceptr.onnx.")
    parser.add_argument("wheel", help="sceptr-1.2.0-py3-none-any.whl, as pip download brings it")
    parser.add_argument("folder", help="where the file goes; made when missing")
    parser.add_argument("--variant", choices=VARIANTS, default="SCEPTR", help="which of the package's models [SCEPTR]")
    arguments = parser.parse_args()
    saved = f"sceptr/_model_saves/{arguments.variant}"
    weights = checkpoint.read_from_wheel(arguments.wheel, f"{saved}/state_dict.pt")
    licence = checkpoint.read_text_from_wheel(arguments.wheel, LICENCE)
    config = json.loads(checkpoint.read_text_from_wheel(arguments.wheel, f"{saved}/config.json"))
    stack = config["model"]["self_attention_stack"]["initargs"]
    metadata = {"source": f"Python package sceptr 1.2.0, {arguments.variant}", "licence": licence, "letters": LETTERS}
    model = build(weights, stack["num_layers"], stack["nhead"], metadata)
    write(model, os.path.join(arguments.folder, "sceptr.onnx"))


if __name__ == "__main__":
    main()
