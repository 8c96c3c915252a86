#!/usr/bin/env python3
"""Writes the small ONNX models that are versions of one another in tests.

    pip install onnx==1.20.1
    python3 services/predictor/testdata/versions/generate.py

Each takes x, FP32 [n,3]; "base" gives y = 2x, the others differ from it in one
way. They are committed, so the tests need neither Python nor a network.
"""

import pathlib

import onnx
from onnx import TensorProto, helper

HERE = pathlib.Path(__file__).parent
FP32, FP64, INT64 = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64


def floats(name, values, shape=None):
    return helper.make_tensor(name, FP32, [len(values)] if shape is None else shape, values)


def ints(name, values, shape=None):
    return helper.make_tensor(name, INT64, [len(values)] if shape is None else shape, values)


def save(name, nodes, initializers=(), y="y", kind=FP32, width=3, x="x", inputs=("n", 3)):
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info(x, FP32, list(inputs))],
                              [helper.make_tensor_value_info(y, kind, ["n", width])], list(initializers))
    model = helper.make_model(graph, producer_name="triptych", opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, HERE / f"{name}.onnx")


def double(y="y", x="x"):
    return helper.make_node("Mul", [x, "two"], [y])


TWO = floats("two", [2.0])

if __name__ == "__main__":
    save("base", [double()], [TWO])
    save("renamed", [double("logits")], [TWO], y="logits")
    save("renamed_input", [double(x="image")], [TWO], x="image")
    save("fp64", [double("narrow"), helper.make_node("Cast", ["narrow"], ["y"], to=FP64)], [TWO], kind=FP64)
    save("wider", [helper.make_node("Concat", ["x", "x"], ["y"], axis=1)], inputs=("n", "w"), width="w2")
    # NaN for what is negative.
    save("nan", [double("doubled"), helper.make_node("Sqrt", ["x"], ["root"]), helper.make_node("Mul", ["root", "zero"], ["nothing"]),
                 helper.make_node("Add", ["doubled", "nothing"], ["y"])], [TWO, floats("zero", [0.0])])
    # NaN for all.
    save("all_nan", [helper.make_node("Sub", ["x", "x"], ["zeros"]), helper.make_node("Div", ["zeros", "zeros"], ["y"])])
    # The columns are turned round: another one is the largest.
    save("turned", [double("doubled"), helper.make_node("Gather", ["doubled", "order"], ["y"], axis=1)], [TWO, ints("order", [1, 2, 0])])
    save("shifted", [double("doubled"), helper.make_node("Add", ["doubled", "little"], ["y"])], [TWO, floats("little", [0.01])])
    # Fails for three rows or more: there is no such place in the table.
    save("fails_at_three", [double("doubled"), helper.make_node("Shape", ["x"], ["dims"]), helper.make_node("Gather", ["dims", "first"], ["rows"], axis=0),
                            helper.make_node("Sub", ["rows", "one"], ["last"]), helper.make_node("Gather", ["table", "last"], ["nothing"], axis=0),
                            helper.make_node("Add", ["doubled", "nothing"], ["y"])],
         [TWO, ints("first", [0], []), ints("one", [1], []), floats("table", [0.0, 0.0])])
    # As dynamic quantisation does, it takes the range from the whole batch.
    save("ranged", [helper.make_node("Abs", ["x"], ["size"]), helper.make_node("ReduceMax", ["size"], ["range"], keepdims=0),
                    helper.make_node("Add", ["range", "little"], ["divisor"]), helper.make_node("Div", ["x", "divisor"], ["y"])],
         [floats("little", [1e-6], [])])
    save("free", [double()], [TWO], inputs=("n", "w"), width="w")
