"""Writes an ONNX graph node by node: what the export recipes of this folder share."""

import os

import numpy as np
import onnx
from onnx import helper, numpy_helper


def split_projections(weights):
    """The weights with each packed projection of nn.MultiheadAttention, (3C, C), as those of query, key and value."""
    split = {}
    for name, array in weights.items():
        if ".in_proj_" not in name:
            split[name] = array
            continue
        prefix, kind = name.split(".in_proj_")
        split.update(zip((f"{prefix}.{part}.{kind}" for part in ("query", "key", "value")), np.split(array, 3)))
    return split


def write(model, path):
    """Puts the file there whole or not at all, and says so."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    onnx.save(model, path + ".part")
    os.replace(path + ".part", path)
    opset = model.opset_import[0].version
    print(f"{path}: {os.path.getsize(path):,} bytes, {len(model.graph.node)} nodes, opset {opset}")


class GraphBuilder:
    """Collects nodes and constants in the order of the calls; `model()` makes the file's content of them.

    `weights` maps names to arrays; a layer method takes the prefix of a layer's weights in it. Values are strings.
    """

    def __init__(self, weights):
        self._weights = weights
        self._nodes = []
        self._constants = {}

    def constant(self, name, array):
        """A constant under `name`; the second call with one name returns the first one's value."""
        if name not in self._constants:
            self._constants[name] = numpy_helper.from_array(np.asarray(array, order="C"), name)
        return name

    def array(self, name):
        """The weight itself, to make a constant of."""
        return self._weights[name]

    def weight(self, name):
        return self.constant(name, self._weights[name])

    def scalar(self, name, value):
        return self.constant(name, np.float32(value))

    def ints(self, name, *values):
        return self.constant(name, np.array(values, np.int64))

    def node(self, op_type, *inputs, output=None, **attributes):
        """Adds a node with one output and returns the output's name."""
        name = f"{op_type}_{len(self._nodes)}"
        output = output or name
        self._nodes.append(helper.make_node(op_type, inputs, [output], name=name, **attributes))
        return output

    def top_k(self, x, count, **attributes):
        """The values and their places along an axis."""
        values = self.node("TopK", x, count, **attributes)
        self._nodes[-1].output.append(f"{values}_places")
        return values, f"{values}_places"

    def linear(self, x, prefix, output=None):
        """x W^T + b, as the exporters spell it on a 3-D x: MatMul with the transposed weight, Add."""
        weight = self.constant(f"{prefix}.weight_transposed", self._weights[f"{prefix}.weight"].T)
        return self.node("Add", self.node("MatMul", x, weight), self.weight(f"{prefix}.bias"), output=output)

    def layer_norm(self, x, prefix, epsilon, output=None):
        scale, bias = self.weight(f"{prefix}.weight"), self.weight(f"{prefix}.bias")
        return self.node("LayerNormalization", x, scale, bias, axis=-1, epsilon=epsilon, output=output)

    def gelu(self, x):
        """x/2 (1 + erf(x / sqrt 2))"""
        erf = self.node("Erf", self.node("Div", x, self.scalar("sqrt_two", 2**0.5)))
        doubled = self.node("Mul", x, self.node("Add", erf, self.scalar("one", 1)))
        return self.node("Mul", doubled, self.scalar("half", 0.5))

    def padding_bias(self, ids, pad=0):
        """0 for a token, minus infinity for padding, of ids (B, L). (B, 1, 1, L)"""
        padding = self.node("Equal", ids, self.constant("pad", np.int64(pad)))
        bias = self.node("Where", padding, self.scalar("minus_infinity", -np.inf), self.scalar("nothing", 0))
        return self.node("Unsqueeze", bias, self.ints("mask_axes", 1, 2))

    def attention(self, query, key, value, bias, num_heads, head_width):
        """softmax(query key^T / sqrt(head_width) + bias) value for each head.

        All but the bias are (B, L, heads * head_width); the bias broadcasts to (B, heads, queries, keys).
        """
        split = self.ints("split_heads", 0, 0, num_heads, head_width)

        def heads(x, permutation):
            return self.node("Transpose", self.node("Reshape", x, split), perm=permutation)

        scores = self.node("MatMul", heads(query, [0, 2, 1, 3]), heads(key, [0, 2, 3, 1]))
        scores = self.node("Div", scores, self.scalar("sqrt_head_width", head_width**0.5))
        weights = self.node("Softmax", self.node("Add", scores, bias), axis=-1)
        context = self.node("Transpose", self.node("MatMul", weights, heads(value, [0, 2, 1, 3])), perm=[0, 2, 1, 3])
        return self.node("Reshape", context, self.ints("join_heads", 0, 0, num_heads * head_width))

    def model(self, name, inputs, outputs, opset, metadata):
        """`inputs` and `outputs` are (name, element type, shape) with strings for dimensions that are free."""
        graph = helper.make_graph(
            self._nodes,
            name,
            [helper.make_tensor_value_info(*value) for value in inputs],
            [helper.make_tensor_value_info(*value) for value in outputs],
            list(self._constants.values()),
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8, producer_name="plica"
        )
        helper.set_model_props(model, metadata)
        onnx.checker.check_model(model, full_check=True)
        return model
