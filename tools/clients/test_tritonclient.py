"""Asks a running gateway with the real tritonclient, over HTTP and gRPC.

The addresses come from the environment: HTTP and GRPC, as HOST:PORT.
"""

import json
import os
import pathlib
import unittest

import numpy as np
import tritonclient.grpc
import tritonclient.http

ROOT = pathlib.Path(__file__).resolve().parents[2]
IMAGES = ROOT / "testdata" / "images"
EXPECTED = {i["file"]: i["top5"] for i in json.loads((ROOT / "testdata" / "expected.json").read_text())["images"]}


class Common:
    """What both protocols have in common; `triton` is the client's module."""

    triton = None
    address = None

    def setUp(self):
        self.client = self.triton.InferenceServerClient(os.environ[self.address])
        self.addCleanup(self.client.close)

    def tensor(self, name, datatype, data, **options):
        tensor = self.triton.InferInput(name, list(data.shape), datatype)
        tensor.set_data_from_numpy(data, **options)
        return tensor

    def images(self, *files):
        return np.array([[(IMAGES / f).read_bytes()] for f in files], dtype=object)

    def test_health(self):
        self.assertTrue(self.client.is_server_live())
        self.assertTrue(self.client.is_server_ready())
        for model, version in ("classify", ""), ("efficientnet_lite0", "1"), ("efficientnet_lite0", "2"):
            self.assertTrue(self.client.is_model_ready(model, version), model)

    def test_classify(self):
        for model, version in ("classify", "2"), ("classify_float32", "1"):
            files = ["coffee.jpg", "camera.png", "astronaut.webp"]
            result = self.client.infer(model, [self.tensor("IMAGE", "BYTES", self.images(*files))], request_id="an id")
            labels, scores = result.as_numpy("LABEL"), result.as_numpy("SCORE")
            self.assertEqual(labels.shape, (3, 5))
            for i, file in enumerate(files):
                want = EXPECTED[file][version][0]
                self.assertEqual(labels[i, 0].decode(), want["label"])
                self.assertAlmostEqual(float(scores[i, 0]), want["score"], delta=0.01)

    def test_outputs_and_parameters(self):
        outputs = [self.triton.InferRequestedOutput(n) for n in ("CLASS", "LABEL")]
        tensor = self.tensor("IMAGE", "BYTES", self.images("coffee.jpg"))
        result = self.client.infer("classify", [tensor], outputs=outputs, parameters={"top_k": 2})
        self.assertEqual(result.as_numpy("CLASS").shape, (1, 2))
        self.assertIsNone(result.as_numpy("SCORE"))

    def test_tensors(self):
        pixels = np.random.default_rng(1).integers(0, 256, (2, 224, 224, 3), dtype=np.uint8)
        result = self.client.infer("efficientnet_lite0", [self.tensor("image", "UINT8", pixels)])
        self.assertEqual(result.as_numpy("logits").shape, (2, 1000))

    def test_faults_are_the_callers(self):
        pixels = self.tensor("image", "UINT8", np.zeros((1, 10, 10, 3), np.uint8))
        for model, tensor in ("nobody", pixels), ("efficientnet_lite0", pixels):
            with self.assertRaises(tritonclient.utils.InferenceServerException) as caught:
                self.client.infer(model, [tensor])
            self.assertRegex(str(caught.exception), r"unknown model|shape \[1,10,10,3\]")


class HTTP(Common, unittest.TestCase):
    triton, address = tritonclient.http, "HTTP"

    def test_json_tensors(self):
        pixels = np.random.default_rng(2).integers(0, 256, (1, 224, 224, 3), dtype=np.uint8)
        binary = self.client.infer("efficientnet_lite0", [self.tensor("image", "UINT8", pixels)])
        outputs = [self.triton.InferRequestedOutput("logits", binary_data=False)]
        text = self.client.infer("efficientnet_lite0", [self.tensor("image", "UINT8", pixels, binary_data=False)], outputs=outputs)
        np.testing.assert_array_equal(binary.as_numpy("logits"), text.as_numpy("logits"))

    def test_statistics(self):
        self.client.infer("classify", [self.tensor("IMAGE", "BYTES", self.images("coffee.jpg"))])
        for model in "classify", "imagenet_preprocess", "imagenet_postprocess":
            stats = self.client.get_inference_statistics(model)["model_stats"][0]
            self.assertGreater(stats["inference_stats"]["success"]["count"], 0, model)

    def test_configuration(self):
        config = self.client.get_model_config("classify")
        self.assertEqual(config["platform"], "ensemble")
        self.assertEqual(len(config["ensemble_scheduling"]["step"]), 3)
        self.assertEqual(len(self.client.get_model_repository_index()), 6)


class GRPC(Common, unittest.TestCase):
    triton, address = tritonclient.grpc, "GRPC"

    def test_stream(self):
        answers = []
        self.client.start_stream(lambda result, error: answers.append((result, error)))
        for file in "coffee.jpg", "camera.png":
            self.client.async_stream_infer("classify", [self.tensor("IMAGE", "BYTES", self.images(file))])
        self.client.stop_stream()
        self.assertEqual([e for _, e in answers], [None, None])
        self.assertEqual([r.as_numpy("LABEL")[0, 0].decode() for r, _ in answers], ["espresso", "tripod"])


if __name__ == "__main__":
    unittest.main()
