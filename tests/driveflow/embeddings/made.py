"""Small models and pictures for the tests of this folder."""

import json

import cv2
import numpy as np

from driveflow.canonical import digest_bytes
from driveflow.embeddings.onnx_writer import GraphWriter

CHANNELS = 5


def picture(seed=0, width=64, height=48):
    """An encoded picture of coarse noise."""
    coarse = np.random.default_rng(seed).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    return cv2.imencode(".png", cv2.resize(coarse, (width, height)))[1].tobytes()


def model(side=16):
    """A model of one convolution that gives the mean of each channel."""
    graph = GraphWriter()
    kernels = graph.weight("kernels", np.random.default_rng(1).normal(size=(CHANNELS, 3, 3, 3)).astype(np.float32))
    seen = graph.node("Conv", ["picture", kernels], "seen", kernel_shape=(3, 3), strides=(2, 2))
    graph.node("Flatten", [graph.node("GlobalAveragePool", [seen], "mean")], "vector", axis=1)
    return graph.bytes_of("picture", (3, side, side), "vector", (CHANNELS,))


def declared(data, **changes):
    """What the small model says of itself."""
    return {
        "sha256": digest_bytes(data),
        "input": "picture",
        "output": "vector",
        "dimensions": CHANNELS,
        "width": 16,
        "height": 16,
        "mean": [127, 127, 127],
        "std": [64, 64, 64],
        **changes,
    }


def write(folder, data=None, **changes):
    """Write the small model with its declaration and return its address."""
    data = model() if data is None else data
    (folder / "small.onnx").write_bytes(data)
    (folder / "small.onnx.json").write_text(json.dumps(declared(data, **changes)))
    return (folder / "small.onnx").as_uri()
