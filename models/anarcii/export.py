"""Writes ANARCII as two ONNX files, from the published weights inside the Python package anarcii 2.0.8.

    python3 -m pip download --no-deps anarcii==2.0.8
    python3 models/anarcii/export.py anarcii-2.0.8-py3-none-any.whl FOLDER [--model antibody_speed]

FOLDER receives encoder.onnx, step.onnx (one step of the decoder), source_tokens.txt and target_tokens.txt (the
alphabets: one token a line, its id is the line's number from 0). Needs numpy and onnx; the wheel is only read, never
installed.
"""

import argparse
import os
import sys

import numpy as np
from onnx import TensorProto

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import checkpoint  # noqa: E402
from graph_builder import GraphBuilder, split_projections, write  # noqa: E402

# Name: checkpoint, chain letters.
MODELS = {
    "antibody": ("antibody/antibody_4_2_128_512.pt", "HLK"),
    "antibody_speed": ("antibody/antibody_4_1_128_512.pt", "HLK"),
    "tcr": ("tcr/tcr_4_2_128_512.pt", "ABGD"),
    "tcr_speed": ("tcr/tcr_4_1_128_512.pt", "ABGD"),
    "shark": ("shark/shark_4_2_128_512.pt", "HLK"),
}
LICENCE = "anarcii-2.0.8.dist-info/licenses/LICENCE"
SPECIAL = ["<PAD>", "<SOS>", "<EOS>", "<SKIP>"]
SOURCE_TOKENS = [*SPECIAL, *"ACDEFGHIKLMNPQRSTVWXY"]
NUM_HEADS = 4
EPSILON = 1e-5
OPSET = 17


def target_tokens(chains):
    return [*SPECIAL, *(str(number) for number in range(1, 129)), "X", *chains]


def num_layers(weights, part):
    return 1 + max(int(name.split(".")[2]) for name in weights if name.startswith(f"{part}.layers."))


class Graph:
    """What encoder and step share; B batch, L tokens, C width."""

    def __init__(self, weights, part):
        self.g = GraphBuilder(weights)
        self.part = part
        self.width = weights[f"{part}.tok_embedding.weight"].shape[1]

    def embedding(self, ids, positions):
        """Token vectors times sqrt(C), plus the positions' vectors. (B, L, C)"""
        g = self.g
        tokens = g.node("Gather", g.weight(f"{self.part}.tok_embedding.weight"), ids, axis=0)
        return g.node("Add", g.node("Mul", tokens, g.scalar("sqrt_width", self.width**0.5)), positions)

    def attend(self, query, key, value, bias, prefix):
        """From projected query, key and value (B, L, C)."""
        context = self.g.attention(query, key, value, bias, NUM_HEADS, self.width // NUM_HEADS)
        return self.g.linear(context, f"{prefix}.out_proj")

    def add_and_norm(self, x, change, prefix, output=None):
        return self.g.layer_norm(self.g.node("Add", x, change), prefix, EPSILON, output=output)

    def feed_forward(self, x, prefix, output=None):
        g = self.g
        inner = g.node("Relu", g.linear(x, f"{prefix}.positionwise_feedforward.fc_1"))
        change = g.linear(inner, f"{prefix}.positionwise_feedforward.fc_2")
        return self.add_and_norm(x, change, f"{prefix}.ff_layer_norm", output)


def encoder(weights, metadata):
    graph = Graph(weights, "encoder")
    g = graph.g
    length = g.node("Shape", "source_ids", start=1, end=2)
    table = g.weight("encoder.pos_embedding.weight")
    x = graph.embedding("source_ids", g.node("Slice", table, g.ints("zero", 0), length, g.ints("zero", 0)))
    bias = g.padding_bias("source_ids")
    layers = num_layers(weights, "encoder")
    for layer in range(layers):
        prefix = f"encoder.layers.{layer}"
        own = f"{prefix}.self_attention.multihead_attn"
        projected = [g.linear(x, f"{own}.{name}") for name in ("query", "key", "value")]
        x = graph.add_and_norm(x, graph.attend(*projected, bias, own), f"{prefix}.self_attn_layer_norm")
        x = graph.feed_forward(x, prefix, "encoder_states" if layer == layers - 1 else None)
    return g.model(
        "anarcii_encoder",
        inputs=[("source_ids", TensorProto.INT64, ["batch", "source"])],
        outputs=[("encoder_states", TensorProto.FLOAT, ["batch", "source", graph.width])],
        opset=OPSET,
        metadata=metadata,
    )


def decoder_layer(graph, layer, x, own_bias, cross_bias):
    """One token's (B, 1, C); keys and values of the tokens before come as past_*, with this one's they go out."""
    g, prefix = graph.g, f"decoder.layers.{layer}"
    own, cross = f"{prefix}.self_attention.multihead_attn", f"{prefix}.encoder_attention.multihead_attn"
    seen = [
        g.node("Concat", f"past_{name}_{layer}", g.linear(x, f"{own}.{name}"), axis=1, output=f"present_{name}_{layer}")
        for name in ("key", "value")
    ]
    attended = graph.attend(g.linear(x, f"{own}.query"), *seen, own_bias, own)
    x = graph.add_and_norm(x, attended, f"{prefix}.self_attn_layer_norm")
    source = [g.linear("encoder_states", f"{cross}.{name}") for name in ("key", "value")]
    attended = graph.attend(g.linear(x, f"{cross}.query"), *source, cross_bias, cross)
    x = graph.add_and_norm(x, attended, f"{prefix}.enc_attn_layer_norm")
    return graph.feed_forward(x, prefix)


def step(weights, metadata):
    """The next token's logits from all tokens so far, of which only the last is new."""
    graph = Graph(weights, "decoder")
    g = graph.g
    last = g.ints("last", -1)
    length = g.node("Shape", "target_ids", start=1, end=2)
    positions = g.node("Gather", g.weight("decoder.pos_embedding.weight"), g.node("Add", length, last), axis=0)
    x = graph.embedding(g.node("Gather", "target_ids", last, axis=1), positions)
    own_bias, cross_bias = g.padding_bias("target_ids"), g.padding_bias("source_ids")
    layers = range(num_layers(weights, "decoder"))
    for layer in layers:
        x = decoder_layer(graph, layer, x, own_bias, cross_bias)
    g.linear(x, "decoder.fc_out", output="logits")
    caches = [f"{name}_{layer}" for layer in layers for name in ("key", "value")]
    return g.model(
        "anarcii_step",
        inputs=[
            ("target_ids", TensorProto.INT64, ["batch", "target"]),
            ("source_ids", TensorProto.INT64, ["batch", "source"]),
            ("encoder_states", TensorProto.FLOAT, ["batch", "source", graph.width]),
            *((f"past_{name}", TensorProto.FLOAT, ["batch", "past", graph.width]) for name in caches),
        ],
        outputs=[
            ("logits", TensorProto.FLOAT, ["batch", 1, len(weights["decoder.fc_out.bias"])]),
            *((f"present_{name}", TensorProto.FLOAT, ["batch", "target", graph.width]) for name in caches),
        ],
        opset=OPSET,
        metadata=metadata,
    )


def main():
    parser = argparse.ArgumentParser(description="Writes ANARCII as encoder.onnx and step.onnx with their alphabets.")
    parser.add_argument("wheel", help="anarcii-2.0.8-py3-none-any.whl, as pip download brings it")
    parser.add_argument("folder", help="where the files go; made when missing")
    parser.add_argument("--model", choices=MODELS, default="antibody", help="which of the package's models [antibody]")
    arguments = parser.parse_args()
    member, chains = MODELS[arguments.model]
    weights = split_projections(checkpoint.read_from_wheel(arguments.wheel, f"anarcii/models/{member}"))
    licence = checkpoint.read_text_from_wheel(arguments.wheel, LICENCE)
    metadata = {"source": f"Python package anarcii 2.0.8, {member}", "licence": licence}
    os.makedirs(arguments.folder, exist_ok=True)
    for name, tokens in (("source", SOURCE_TOKENS), ("target", target_tokens(chains))):
        with open(os.path.join(arguments.folder, f"{name}_tokens.txt"), "w", encoding="ascii") as file:
            file.write("".join(f"{token}\n" for token in tokens))
    write(encoder(weights, metadata), os.path.join(arguments.folder, "encoder.onnx"))
    write(step(weights, metadata), os.path.join(arguments.folder, "step.onnx"))


if __name__ == "__main__":
    main()
