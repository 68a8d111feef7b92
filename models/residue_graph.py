"""The graph of ProteinMPNN and LigandMPNN: residues that send messages to their nearest neighbours, node by node."""

import numpy as np
from onnx import TensorProto

from graph_builder import GraphBuilder

LETTERS = "ACDEFGHIKLMNPQRSTVWYX"
NUM_LAYERS = 3  # of the encoder, and of the decoder
EPSILON = 1e-5
SQUARE_EPSILON = 1e-6  # under the root of each distance
MAX_OFFSET = 32  # places along a chain are told apart up to this
MESSAGE_SCALE = 30
# Pairs of atoms whose distances are an edge's features, of this residue and of its neighbour, behind the pair CA CA.
ATOMS = ["N", "CA", "C", "O", "CB"]
PAIRS = ("N N, C C, O O, CB CB, CA N, CA C, CA O, CA CB, N C, N O, N CB, CB C, CB O, O C, N CA, C CA, O CA, CB CA, "
         "C N, O N, CB N, C CB, O CB, C O")


class ResidueGraph:
    """B batch, L residues, K neighbours of each, C width; a residue is its own first neighbour."""

    def __init__(self, weights, num_neighbours):
        self.g = GraphBuilder(weights)
        self.num_neighbours = num_neighbours
        self.neighbours = None  # (B, L, K, 1)

    def unsqueeze(self, x, *axes):
        return self.g.node("Unsqueeze", x, self.g.ints("axes_" + "_".join(map(str, axes)), *axes))

    def sum_last(self, x):
        return self.g.node("ReduceSum", x, self.g.ints("last_axis", -1), keepdims=0)

    def of_neighbours(self, x, output=None):
        """(B, L, ...) to (B, L, K, ...)"""
        return self.g.node("GatherND", x, self.neighbours, batch_dims=1, output=output)

    def distance(self, a, b):
        """Of points in the last axis."""
        g = self.g
        difference = g.node("Sub", a, b)
        square = self.sum_last(g.node("Mul", difference, difference))
        return g.node("Sqrt", g.node("Add", square, g.scalar("square_epsilon", SQUARE_EPSILON)))

    def cross(self, a, b):
        """The product of vectors that is at right angles to both."""
        g = self.g
        turns = [g.ints("turn_1", 1, 2, 0), g.ints("turn_2", 2, 0, 1)]
        turned = [g.node("Gather", x, turn, axis=-1) for x in (a, b) for turn in turns]
        return g.node("Sub", g.node("Mul", turned[0], turned[3]), g.node("Mul", turned[1], turned[2]))

    def atoms(self):
        """N, CA, C, O and a CB where it would be if the residue had one. (B, L, 5, 3)"""
        g = self.g
        n, ca, c = (g.node("Gather", "coords", g.constant(f"atom_{i}", np.int64(i)), axis=2) for i in range(3))
        b, c = g.node("Sub", ca, n), g.node("Sub", c, ca)
        a = self.cross(b, c)
        cb = ca
        for name, factor, vector in (("a", -0.58273431, a), ("b", 0.56802827, b), ("c", -0.54067466, c)):
            cb = g.node("Add", cb, g.node("Mul", vector, g.scalar(f"cb_{name}", factor)))
        return g.node("Concat", "coords", self.unsqueeze(cb, 2), axis=2)

    def find_neighbours(self, atoms):
        """Sets the neighbours, nearest by CA; gives their distances, the row's largest to a masked one. (B, L, K)"""
        g = self.g
        ca = g.node("Gather", atoms, g.constant("atom_1", np.int64(1)), axis=2)
        both = g.node("Mul", self.unsqueeze("mask", 1), self.unsqueeze("mask", 2))
        distances = g.node("Mul", both, self.distance(self.unsqueeze(ca, 1), self.unsqueeze(ca, 2)))
        largest = g.node("ReduceMax", distances, g.ints("last_axis", -1), keepdims=1)
        hidden = g.node("Sub", g.scalar("one", 1), both)
        distances = g.node("Add", distances, g.node("Mul", hidden, largest))
        length = g.node("Shape", "mask", start=1, end=2)
        count = g.node("Min", length, g.ints("num_neighbours", self.num_neighbours))
        nearest, places = g.top_k(distances, count, axis=-1, largest=0)
        self.neighbours = self.unsqueeze(places, 3)
        return nearest

    def gaussians(self, distances, shape):
        """Each distance as 16 Gaussians from 2 to 22 A, (..., 16), in the shape of this constant's name and values."""
        g = self.g
        centres = g.constant("centres", np.linspace(2, 22, 16, dtype=np.float32))
        off = g.node("Sub", g.node("Unsqueeze", distances, g.ints("last_axis", -1)), centres)
        off = g.node("Div", off, g.scalar("spread", (22 - 2) / 16))
        return g.node("Reshape", g.node("Exp", g.node("Neg", g.node("Mul", off, off))), g.ints(*shape))

    def edge_features(self, atoms, nearest):
        """25 distances as Gaussians. (B, L, K, 400)"""
        g = self.g
        every = self.distance(self.unsqueeze(atoms, 2, 4), self.unsqueeze(self.of_neighbours(atoms), 3))
        every = g.node("Reshape", every, g.ints("join_pairs", 0, 0, 0, len(ATOMS) ** 2))
        pairs = [pair.split() for pair in PAIRS.split(", ")]
        chosen = g.ints("pairs", *(len(ATOMS) * ATOMS.index(a) + ATOMS.index(b) for a, b in pairs))
        distances = g.node("Concat", self.unsqueeze(nearest, 3), g.node("Gather", every, chosen, axis=-1), axis=-1)
        return self.gaussians(distances, ("join_gaussians", 0, 0, 0, -1))

    def place_features(self):
        """How far along the chain a neighbour is, or that it is of another chain. (B, L, K, 16)"""
        g = self.g
        linear = "features.embeddings.linear"
        rows = g.array(f"{linear}.weight").T + g.array(f"{linear}.bias")
        offset = g.node("Sub", self.unsqueeze("residue_index", 2), self.of_neighbours("residue_index"))
        offset = g.node("Add", offset, g.constant("max_offset", np.int64(MAX_OFFSET)))
        offset = g.node("Clip", offset, g.constant("zero", np.int64(0)), g.constant("top", np.int64(2 * MAX_OFFSET)))
        same = g.node("Equal", self.unsqueeze("chain", 2), self.of_neighbours("chain"))
        row = g.node("Where", same, offset, g.constant("other_chain", np.int64(2 * MAX_OFFSET + 1)))
        return g.node("Gather", g.constant("places", rows), row, axis=0)

    def edges(self, atoms):
        """Features of each neighbour. (B, L, K, C)"""
        g = self.g
        nearest = self.find_neighbours(atoms)
        features = g.node("Concat", self.place_features(), self.edge_features(atoms, nearest), axis=-1)
        embedded = g.layer_norm(self.product(features, "features.edge_embedding"), "features.norm_edges", EPSILON)
        return g.linear(embedded, "W_e")

    def product(self, x, name):
        """A linear layer without a bias."""
        return self.g.node("MatMul", x, self.g.constant(f"{name}.transposed", self.g.array(f"{name}.weight").T))

    def part(self, x, name, index):
        """x times the index-th (C, C) block of a wider weight."""
        g = self.g
        weight = g.array(f"{name}.weight")
        block = weight[:, index * weight.shape[0]:(index + 1) * weight.shape[0]]
        return g.node("MatMul", x, g.constant(f"{name}.part_{index}", block.T))

    def message(self, summands, names, prefix):
        """The rest of a message's three layers, from the summands of the first. (B, L, K, C)"""
        g = self.g
        total = g.weight(f"{prefix}.{names[0]}.bias")
        for summand in summands:
            total = g.node("Add", summand, total)
        return g.linear(g.gelu(g.linear(g.gelu(total), f"{prefix}.{names[1]}")), f"{prefix}.{names[2]}")

    def update(self, nodes, messages, prefix, mask, output=None):
        """The nodes' states (..., C) with the sum of their messages (..., K, C) and a feed-forward layer."""
        g = self.g
        change = g.node("ReduceSum", messages, g.ints("neighbour_axis", -2), keepdims=0)
        change = g.node("Div", change, g.scalar("message_scale", MESSAGE_SCALE))
        nodes = g.layer_norm(g.node("Add", nodes, change) if nodes else change, f"{prefix}.norm1", EPSILON)
        inner = g.gelu(g.linear(nodes, f"{prefix}.dense.W_in"))
        change = g.linear(inner, f"{prefix}.dense.W_out")
        nodes = g.layer_norm(g.node("Add", nodes, change), f"{prefix}.norm2", EPSILON)
        return g.node("Mul", nodes, mask, output=output)

    def encode(self, atoms, outputs=(None, None)):
        """States of nodes (B, L, C) and edges (B, L, K, C)."""
        g = self.g
        edges, nodes, mask = self.edges(atoms), None, self.unsqueeze("mask", 2)
        seen = self.unsqueeze(g.node("Mul", mask, self.of_neighbours("mask")), 3)
        for layer in range(NUM_LAYERS):
            prefix, last = f"encoder_layers.{layer}", layer == NUM_LAYERS - 1
            messages = self.message(self.node_and_edge(nodes, edges, f"{prefix}.W1"), ("W1", "W2", "W3"), prefix)
            nodes = self.update(nodes, g.node("Mul", messages, seen), prefix, mask, outputs[0] if last else None)
            change = self.message(self.node_and_edge(nodes, edges, f"{prefix}.W11"), ("W11", "W12", "W13"), prefix)
            edges = g.layer_norm(g.node("Add", edges, change), f"{prefix}.norm3", EPSILON,
                                 output=outputs[1] if last else None)
        return nodes, edges

    def node_and_edge(self, nodes, edges, name):
        """The summands of a message's first layer: this node, the edge, the neighbour. Nodes begin as 0."""
        if nodes is None:
            return [self.part(edges, name, 1)]
        return [self.unsqueeze(self.part(nodes, name, 0), 2), self.part(edges, name, 1),
                self.of_neighbours(self.part(nodes, name, 2))]

    def decode(self, nodes, edges):
        """log_probs. A residue sees letter and state of those of lower rank, of others what the encoder gave."""
        g = self.g
        earlier = g.node("Less", self.of_neighbours("rank"), self.unsqueeze("rank", 2))
        earlier = self.unsqueeze(g.node("Cast", earlier, to=TensorProto.FLOAT), 3)
        mask = self.unsqueeze("mask", 2, 3)
        later = g.node("Mul", mask, g.node("Sub", g.scalar("one", 1), earlier))
        earlier = g.node("Mul", mask, earlier)
        edges = g.node("Mul", mask, edges)
        letters = g.node("Gather", g.weight("W_s.weight"), "tokens", axis=0)
        encoded = nodes
        for layer in range(NUM_LAYERS):
            prefix = f"decoder_layers.{layer}"
            name = f"{prefix}.W1"
            known = self.of_neighbours(g.node("Add", self.part(letters, name, 2), self.part(nodes, name, 3)))
            hidden = self.of_neighbours(self.part(encoded, name, 3))
            summands = [self.unsqueeze(self.part(nodes, name, 0), 2), self.part(edges, name, 1),
                        g.node("Mul", earlier, known), g.node("Mul", later, hidden)]
            messages = self.message(summands, ("W1", "W2", "W3"), prefix)
            nodes = self.update(nodes, messages, prefix, self.unsqueeze("mask", 2))
        g.node("LogSoftmax", g.linear(nodes, "W_out"), axis=-1, output="log_probs")


INPUTS = [
    ("coords", TensorProto.FLOAT, ["batch", "length", 4, 3]),
    ("mask", TensorProto.FLOAT, ["batch", "length"]),
    ("residue_index", TensorProto.INT64, ["batch", "length"]),
    ("chain", TensorProto.INT64, ["batch", "length"]),
]
# Where letters are scored, too.
SCORE_INPUTS = [(name, TensorProto.INT64, ["batch", "length"]) for name in ("tokens", "rank")]
