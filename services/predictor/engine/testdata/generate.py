#!/usr/bin/env python3
"""Writes the small ONNX models that the tests of the engine load.

    pip install onnx==1.20.1
    python3 services/predictor/engine/testdata/generate.py

The models are committed, so the tests need neither Python nor a network.
"""

import pathlib

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).parent
OPSET = 17
IR = 8


def tensor(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def constant(name, kind, values, shape=None):
    return helper.make_tensor(name, kind, [len(values)] if shape is None else shape, values)


def save(name, nodes, inputs, outputs, initializers=(), opset=OPSET, ir=IR, domain=None):
    graph = helper.make_graph(nodes, name, inputs, outputs, list(initializers))
    imports = [helper.make_opsetid("", opset)]
    if domain:
        imports.append(helper.make_opsetid(domain, 1))
    model = helper.make_model(graph, producer_name="triptych", opset_imports=imports, ir_version=ir)
    onnx.save(model, HERE / f"{name}.onnx")


def identities():
    """One model for each datatype: what goes in comes out."""
    kinds = {
        "bool": TensorProto.BOOL, "uint8": TensorProto.UINT8, "uint16": TensorProto.UINT16,
        "uint32": TensorProto.UINT32, "uint64": TensorProto.UINT64, "int8": TensorProto.INT8,
        "int16": TensorProto.INT16, "int32": TensorProto.INT32, "int64": TensorProto.INT64,
        "fp16": TensorProto.FLOAT16, "fp32": TensorProto.FLOAT, "fp64": TensorProto.DOUBLE,
        "bf16": TensorProto.BFLOAT16, "string": TensorProto.STRING,
    }
    for name, kind in kinds.items():
        save(f"identity_{name}", [helper.make_node("Identity", ["x"], ["y"])],
             [tensor("x", kind, ["n", 3])], [tensor("y", kind, ["n", 3])])
    for name, kind in {"fp32": TensorProto.FLOAT, "fp16": TensorProto.FLOAT16, "string": TensorProto.STRING}.items():
        save(f"dynamic_{name}", [helper.make_node("Concat", ["x", "x"], ["y"], axis=1)],
             [tensor("x", kind, ["n", "w"])], [tensor("y", kind, ["n", "w2"])])
    save("complex64", [helper.make_node("Identity", ["x"], ["y"])],
         [tensor("x", TensorProto.COMPLEX64, ["n", 3])], [tensor("y", TensorProto.COMPLEX64, ["n", 3])])


def batches():
    """Models that are wrong about their batch dimension, each in its own way."""
    fp32 = TensorProto.FLOAT
    save("fixed_batch", [helper.make_node("Relu", ["x"], ["y"])],
         [tensor("x", fp32, [1, 3])], [tensor("y", fp32, [1, 3])])
    save("reduce_batch", [helper.make_node("ReduceMean", ["x"], ["y"], axes=[0], keepdims=1)],
         [tensor("x", fp32, ["n", 3])], [tensor("y", fp32, ["m", 3])])
    # The shape comes as data, so that no shape inference can see the 1.
    # In free_reshape the other dimension is free too.
    for name, width in {"hidden_reshape": 4, "free_reshape": "w"}.items():
        save(name, [
            helper.make_node("Shape", ["x"], ["dims"]),
            helper.make_node("Mul", ["dims", "mask"], ["masked"]),
            helper.make_node("Add", ["masked", "one"], ["wanted"]),
            helper.make_node("Reshape", ["x", "wanted"], ["y"]),
        ], [tensor("x", fp32, ["n", width])], [tensor("y", fp32, ["m", "k"])],
             [constant("mask", TensorProto.INT64, [0, 0]), constant("one", TensorProto.INT64, [1, -1])])
    save("batch_last", [helper.make_node("Transpose", ["x"], ["y"], perm=[1, 0])],
         [tensor("x", fp32, ["n", 1000])], [tensor("y", fp32, [1000, "n"])])
    # A width of 1, which a probe would give it, is not taken.
    save("fours", [helper.make_node("Reshape", ["x", "wanted"], ["y"])],
         [tensor("x", fp32, ["n", "w"])], [tensor("y", fp32, ["n", "k", 4])],
         [constant("wanted", TensorProto.INT64, [0, -1, 4])])


def shapes():
    fp32, int64 = TensorProto.FLOAT, TensorProto.INT64
    save("unbatched", [helper.make_node("Transpose", ["x"], ["y"], perm=[1, 0])],
         [tensor("x", fp32, [2, 3])], [tensor("y", fp32, [3, 2])])
    save("vector", [helper.make_node("Neg", ["x"], ["y"])],
         [tensor("x", fp32, ["n"])], [tensor("y", fp32, ["n"])])
    save("scalar_output", [helper.make_node("ReduceSum", ["x"], ["y"], keepdims=0)],
         [tensor("x", fp32, [3])], [tensor("y", fp32, [])])
    save("two_inputs", [helper.make_node("Add", ["a", "b"], ["sum"]), helper.make_node("Sub", ["a", "b"], ["difference"])],
         [tensor("a", fp32, ["n", 3]), tensor("b", fp32, ["n", 3])],
         [tensor("sum", fp32, ["n", 3]), tensor("difference", fp32, ["n", 3])])
    save("lookup", [helper.make_node("Gather", ["table", "index"], ["y"], axis=0)],
         [tensor("index", int64, ["n", 1])], [tensor("y", fp32, ["n", 1])],
         [constant("table", fp32, [float(i) for i in range(10)])])


def external():
    """The weights are in another file."""
    fp32 = TensorProto.FLOAT
    weights = numpy_helper.from_array(numpy.array([1, 2, 3], numpy.float32), "w")
    onnx.external_data_helper.set_external_data(weights, "external.bin")
    save("external", [helper.make_node("Add", ["x", "w"], ["y"])],
         [tensor("x", fp32, ["n", 3])], [tensor("y", fp32, ["n", 3])], [weights])


def slow():
    """Counts to a hundred million, one step of a loop at a time."""
    int64, boolean = TensorProto.INT64, TensorProto.BOOL
    body = helper.make_graph(
        [helper.make_node("Add", ["so_far", "x_outer"], ["sum"]), helper.make_node("Identity", ["go_on"], ["go_on_out"])],
        "body",
        [tensor("i", int64, []), tensor("go_on", boolean, []), tensor("so_far", int64, None)],
        [tensor("go_on_out", boolean, []), tensor("sum", int64, None)],
    )
    save("slow", [helper.make_node("Identity", ["x"], ["x_outer"]),
                  helper.make_node("Loop", ["trips", "always", "x"], ["y"], body=body)],
         [tensor("x", int64, [1])], [tensor("y", int64, [1])],
         [constant("trips", int64, [100_000_000], []), constant("always", boolean, [True], [])])


def future():
    fp32 = TensorProto.FLOAT
    io = [tensor("x", fp32, ["n", 3])], [tensor("y", fp32, ["n", 3])]
    identity = [helper.make_node("Identity", ["x"], ["y"])]
    save("future_opset", identity, *io, opset=99)
    save("future_ir", identity, *io, ir=99)
    save("unknown_domain", [helper.make_node("Identity", ["x"], ["y"], domain="com.example")], *io, domain="com.example")


def hungry():
    """A model that takes as much memory as its inputs add up to."""
    int64, fp32 = TensorProto.INT64, TensorProto.FLOAT
    save("hungry", [
        helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
        helper.make_node("Reshape", ["sum", "one"], ["size"]),
        helper.make_node("ConstantOfShape", ["size"], ["zeros"]),
        helper.make_node("ReduceSum", ["zeros"], ["zero"], keepdims=0),
        helper.make_node("Cast", ["x"], ["numbers"], to=fp32),
        helper.make_node("Add", ["numbers", "zero"], ["y"]),
    ], [tensor("x", int64, ["n", 1])], [tensor("y", fp32, ["n", 1])], [constant("one", int64, [1])])


def quantized():
    """Rounds to 256 steps of the batch's own range."""
    fp32 = TensorProto.FLOAT
    save("dynamic_quantized", [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"]),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"]),
    ], [tensor("x", fp32, ["n", 3])], [tensor("y", fp32, ["n", 3])])


if __name__ == "__main__":
    identities()
    batches()
    shapes()
    external()
    slow()
    future()
    hungry()
    quantized()
