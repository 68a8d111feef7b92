"""Tests of models/graph_builder.py."""

import os
import sys
import unittest

import numpy as np
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models"))
from graph_builder import GraphBuilder, split_projections  # noqa: E402

WIDTHS = ["batch", 3]


def model_of(builder):
    io = lambda name: [(name, TensorProto.FLOAT, WIDTHS)]  # noqa: E731
    return builder.model("test", io("x"), io("y"), opset=17, metadata={"licence": "none"})


class GraphBuilderTest(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(0)
        names = ("layer.weight", "layer.bias", "norm.weight", "norm.bias")
        shapes = ((3, 3), (3,), (3,), (3,))
        self.weights = {name: rng.standard_normal(shape, np.float32) for name, shape in zip(names, shapes)}
        self.x = rng.standard_normal((2, 3), np.float32)

    def test_layers_compute_what_they_say(self):
        builder = GraphBuilder(self.weights)
        builder.layer_norm(builder.linear("x", "layer"), "norm", 1e-5, output="y")
        (found,) = ReferenceEvaluator(model_of(builder)).run(None, {"x": self.x})
        hidden = self.x @ self.weights["layer.weight"].T + self.weights["layer.bias"]
        hidden = (hidden - hidden.mean(-1, keepdims=True)) / np.sqrt(hidden.var(-1, keepdims=True) + 1e-5)
        wanted = hidden * self.weights["norm.weight"] + self.weights["norm.bias"]
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)

    def test_gelu_and_the_places_of_the_largest(self):
        builder = GraphBuilder({})
        _, places = builder.top_k(builder.gelu("x"), builder.ints("two", 2), axis=-1)
        builder.node("Identity", places, output="y")
        model = builder.model("test", [("x", TensorProto.FLOAT, WIDTHS)], [("y", TensorProto.INT64, ["batch", 2])],
                              opset=17, metadata={})
        (found,) = ReferenceEvaluator(model).run(None, {"x": np.array([[1, -0.1, -0.7], [-9, 3, 0.5]], np.float32)})
        np.testing.assert_array_equal(found, [[0, 1], [1, 2]])

    def test_padding_is_minus_infinity(self):
        builder = GraphBuilder({})
        builder.node("Identity", builder.padding_bias("x", pad=7), output="y")
        model = builder.model("test", [("x", TensorProto.INT64, WIDTHS)],
                              [("y", TensorProto.FLOAT, ["batch", 1, 1, 3])], opset=17, metadata={})
        (found,) = ReferenceEvaluator(model).run(None, {"x": np.array([[7, 0, 8]])})
        np.testing.assert_array_equal(found, [[[[-np.inf, 0, 0]]]])

    def test_packed_projections_are_split(self):
        packed = np.arange(6, dtype=np.float32)
        split = split_projections({"a.in_proj_bias": packed, "a.out_proj.bias": packed})
        self.assertEqual(list(split), ["a.query.bias", "a.key.bias", "a.value.bias", "a.out_proj.bias"])
        np.testing.assert_array_equal(split["a.key.bias"], [2, 3])

    def test_attention_looks_where_the_bias_lets_it(self):
        builder = GraphBuilder({})
        keep = np.array([0, -np.inf], np.float32).reshape(1, 1, 1, 2)
        builder.node("Identity", builder.attention("x", "x", "x", builder.constant("bias", keep), 2, 2), output="y")
        io = lambda name: [(name, TensorProto.FLOAT, ["batch", 2, 4])]  # noqa: E731
        model = builder.model("test", io("x"), io("y"), opset=17, metadata={})
        x = np.arange(16, dtype=np.float32).reshape(2, 2, 4)
        (found,) = ReferenceEvaluator(model).run(None, {"x": x})
        np.testing.assert_allclose(found, np.repeat(x[:, :1], 2, axis=1))

    def test_attention_is_the_softmax_of_scaled_scores(self):
        builder = GraphBuilder({})
        bias = builder.scalar("bias", 0)
        builder.node("Identity", builder.attention("x", "x", "x", bias, 1, 3), output="y")
        io = lambda name: [(name, TensorProto.FLOAT, [1, 2, 3])]  # noqa: E731
        model = builder.model("test", io("x"), io("y"), opset=17, metadata={})
        (found,) = ReferenceEvaluator(model).run(None, {"x": self.x[None]})
        scores = np.exp(self.x @ self.x.T / np.sqrt(3))
        np.testing.assert_allclose(found[0], scores / scores.sum(-1, keepdims=True) @ self.x, rtol=1e-5, atol=1e-6)

    def test_a_constant_is_written_once_and_keeps_its_rank(self):
        builder = GraphBuilder({})
        half = builder.scalar("half", 0.5)
        builder.node("Mul", builder.node("Mul", "x", half), builder.scalar("half", 0.5), output="y")
        constants = model_of(builder).graph.initializer
        self.assertEqual([constant.name for constant in constants], ["half"])
        self.assertEqual(numpy_helper.to_array(constants[0]).shape, ())

    def test_metadata_is_in_the_file(self):
        builder = GraphBuilder({})
        builder.node("Relu", "x", output="y")
        self.assertEqual([(p.key, p.value) for p in model_of(builder).metadata_props], [("licence", "none")])


if __name__ == "__main__":
    unittest.main()
