"""Writes one of the structures of modules.py as an ONNX file, with inputs and expected outputs beside it.

    python3 models/structures/export.py NAME FOLDER [--exporter dynamo|torchscript] [--free] [--seed N]

NAME is one of cases.py (`--list` prints them). FOLDER receives NAME.onnx, NAME.npz (inputs) and NAME.expected.npz (what
PyTorch computes, in fp64 where `--double` is given; left out with `--only-model`). With `--free` batch, depth and
length are free in the file, as they always are in language models. Weights are random. Needs torch, onnx and
onnxscript, and transformers for ESM-2 and ProtT5.
"""

import argparse
import os
import sys
import warnings

import numpy as np
import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases  # noqa: E402

CASES = {**cases.CASES, **cases.MORE_CASES}


def output_names(outputs):
    return [f"output_{i}" for i in range(len(outputs))]


def as_tuple(outputs):
    return outputs if isinstance(outputs, tuple) else (outputs,)


def export_onnx(module, case, inputs, path, exporter="dynamo", free=False, external_data=True):
    """The module with fixed shapes, or free leading axes where that is asked for or the case says so."""
    axes = {name: dict(enumerate(case.axes[name].split())) for name in inputs} if free or case.dynamic else None
    options = {"input_names": list(inputs), "opset_version": 18, "dynamo": exporter == "dynamo"}
    if exporter == "dynamo":
        sizes = {size: torch.export.Dim(size) for named in axes.values() for size in named.values()} if axes else {}
        free_axes = {name: {i: sizes[size] for i, size in named.items()} for name, named in (axes or {}).items()}
        options.update(dynamic_shapes=free_axes or None, external_data=external_data, verbose=False)
    else:
        options["dynamic_axes"] = axes
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, tuple(inputs.values()), path, **options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", choices=sorted(CASES))
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--list", action="store_true", help="print the names and end")
    parser.add_argument("--exporter", choices=["dynamo", "torchscript"], default="dynamo")
    parser.add_argument("--free", action="store_true", help="leave the leading axes free")
    parser.add_argument("--seed", type=int, default=0, help="of weights and inputs")
    parser.add_argument("--double", action="store_true", help="compute the expected outputs in fp64")
    parser.add_argument("--only-model", action="store_true", help="compute no expected outputs")
    options = parser.parse_args()
    if options.list:
        for name, case in CASES.items():
            print(f"{name:28} {case.title}")
        return
    if options.folder is None:
        parser.error("NAME and FOLDER are needed")
    os.makedirs(options.folder, exist_ok=True)
    case = CASES[options.name]
    module, inputs = cases.build(case, options.seed), cases.make_inputs(case, options.seed)
    stem = os.path.join(options.folder, options.name)
    np.savez(stem + ".npz", **{name: value.numpy() for name, value in inputs.items()})
    export_onnx(module, case, inputs, stem + ".onnx", options.exporter, options.free)
    if options.only_model:
        return
    if options.double:
        module = module.double()
        inputs = {name: value.double() if value.is_floating_point() else value for name, value in inputs.items()}
    with torch.inference_mode():
        outputs = as_tuple(module(**inputs))
    np.savez(stem + ".expected.npz", **{name: y.numpy() for name, y in zip(output_names(outputs), outputs)})


if __name__ == "__main__":
    main()
