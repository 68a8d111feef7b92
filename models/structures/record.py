"""Writes recorded/: small models of both exporters, with inputs and what PyTorch computes in fp64.

    python3 models/structures/record.py [NAME ...]

For each of SMALL_CASES in cases.py: NAME.dynamo.onnx and NAME.torchscript.onnx with free axes, and NAME.npz with inputs
and outputs at two shapes, as "0.input_ids", "0.output_0", "1.input_ids" and so on. Needs what export.py needs (recorded
with torch 2.15, onnx 1.23 and transformers 5.24).
"""

import os
import sys

import numpy as np
import onnx
import torch

import cases
import export

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded")
SIZES = [(2, 3, 5), (1, 4, 9)]  # batch, depth, length; the files are exported at the first


def with_padding(inputs, generator):
    """Zeros in the masks, in no row and column everywhere: the end of rows of tokens, single places of other masks."""
    for name, mask in inputs.items():
        if name == "attention_mask":
            length = mask.shape[-1]
            mask[1:, ..., length - 3:] = 0
        elif name.endswith("mask"):
            zeros = torch.rand(mask.shape, generator=generator) < 0.25
            zeros[..., 0] = zeros.select(1, 0)[:] = False
            mask[zeros] = 0
    return inputs


def without_traces(path):
    """The exporter's notes of where each node came from go: paths and source lines of the machine that wrote them."""
    model = onnx.load(path)
    graph, functions = model.graph, list(model.functions)
    nodes = [*graph.node, *(node for function in functions for node in function.node)]
    for part in (model, graph, *nodes, *functions, *graph.input, *graph.output, *graph.initializer):
        part.ClearField("doc_string")
        if hasattr(part, "metadata_props"):
            part.ClearField("metadata_props")
    del graph.value_info[:]
    shorten_values(graph)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def shorten_values(graph):
    """Inner values are called by their number; where they stand in the module is in the nodes' names too."""
    if any(attribute.HasField("g") for node in graph.node for attribute in node.attribute):
        return
    kept = {value.name for value in (*graph.input, *graph.output)}
    inner = [name for node in graph.node for name in node.output if name and name not in kept]
    short = {name: f"v{i}" for i, name in enumerate(inner)}
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [short.get(name, name) for name in names]


def built(case):
    """The module, with norms and biases that are not 1 and 0 as they begin: two norms of one input would be alike."""
    module = cases.build(case)
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim() == 1:
                parameter += 0.2 * torch.randn(parameter.shape)
    return module


def record(name):
    made = [cases.SMALL_CASES[name](*sizes) for sizes in SIZES]
    module = built(made[0])
    arrays = {}
    generator = torch.Generator().manual_seed(1)
    inputs = [with_padding(cases.make_inputs(case, seed), generator) for seed, case in enumerate(made)]
    for exporter in ("dynamo", "torchscript"):
        path = os.path.join(FOLDER, f"{name}.{exporter}.onnx")
        export.export_onnx(module, made[0], inputs[0], path, exporter, free=True, external_data=False)
        without_traces(path)
        print(f"{path}: {os.path.getsize(path):,} bytes")
    module = built(made[0]).double()
    for i, given in enumerate(inputs):
        doubled = {key: x.double() if x.is_floating_point() else x for key, x in given.items()}
        with torch.inference_mode():
            outputs = export.as_tuple(module(**doubled))
        named = {**given, **dict(zip(export.output_names(outputs), outputs))}
        arrays.update((f"{i}.{key}", (x.float() if x.is_floating_point() else x).numpy()) for key, x in named.items())
    np.savez(os.path.join(FOLDER, f"{name}.npz"), **arrays)


def main():
    os.makedirs(FOLDER, exist_ok=True)
    for name in sys.argv[1:] or cases.SMALL_CASES:
        record(name)


if __name__ == "__main__":
    main()
