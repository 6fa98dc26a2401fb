"""Small ONNX models and model folders."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from driveflow.detectors.declaration import BoxesHead, HeatmapHead, InputDeclaration, ModelDeclaration
from driveflow.detectors.model_folder import ModelFolder, write_model

WIDTH, HEIGHT, STRIDE_PX = 64, 32, 4


def bright_spot_model() -> bytes:
    """A model with one class whose score in a cell is the mean red level of its pixels; boxes are 16 x 8 px."""
    rows, columns = HEIGHT // STRIDE_PX, WIDTH // STRIDE_PX
    sides = np.tile(np.array([8, 4, 8, 4], np.float32)[None, :, None, None], (1, 1, rows, columns))
    nodes = [
        helper.make_node("Cast", ["pictures"], ["float"], to=TensorProto.FLOAT),
        helper.make_node("Slice", ["float", "zero", "one", "axis"], ["red"]),
        helper.make_node("Div", ["red", "most"], ["share"]),
        helper.make_node("AveragePool", ["share"], ["scores"], kernel_shape=[4, 4], strides=[4, 4]),
        helper.make_node("Identity", ["constant_sides"], ["sides"]),
    ]
    constants = {
        "zero": np.array([0], np.int64),
        "one": np.array([1], np.int64),
        "axis": np.array([1], np.int64),
        "most": np.array(255.0, np.float32),
        "constant_sides": sides,
    }
    outputs = {"scores": (1, 1, rows, columns), "sides": (1, 4, rows, columns)}
    return _model(nodes, constants, outputs)


def constant_model(outputs: dict[str, np.ndarray]) -> bytes:
    """A model that always answers `outputs`."""
    nodes = [helper.make_node("Identity", [f"constant_{name}"], [name]) for name in outputs]
    return _model(
        nodes, {f"constant_{name}": value for name, value in outputs.items()}, {n: v.shape for n, v in outputs.items()}
    )


def external_model() -> bytes:
    """A model whose weights lie in a file outside of it."""
    model = onnx.load_from_string(constant_model({"scores": np.zeros((1, 1, 8, 16), np.float32)}))
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "../../etc/passwd"), ("length", "512")):
        tensor.external_data.add(key=key, value=value)
    return model.SerializeToString()


def heatmap_declaration(classes: tuple[str, ...] = ("car",), **changes: object) -> ModelDeclaration:
    """What `bright_spot_model` takes and gives."""
    head = HeatmapHead(scores="scores", sides="sides", stride=STRIDE_PX, **changes)
    return ModelDeclaration(kind="onnx", classes=classes, input=pictures_input(), head=head)


def boxes_declaration(classes: tuple[str, ...]) -> ModelDeclaration:
    """A model that gives a list of boxes."""
    head = BoxesHead(boxes="boxes", scores="scores")
    return ModelDeclaration(kind="onnx", classes=classes, input=pictures_input(), head=head)


def pictures_input() -> InputDeclaration:
    """The input of all models here."""
    return InputDeclaration(name="pictures", width=WIDTH, height=HEIGHT)


def bright_spot_folder(store: str) -> ModelFolder:
    """The model folder of `bright_spot_model`."""
    return write_model(store, heatmap_declaration(), {"model.onnx": bright_spot_model()})


def picture_with_spot(x: int, y: int, width: int = 128, height: int = 64, level: int = 255) -> np.ndarray:
    """A black picture with a bright square of 8 x 8 px, which is one cell of the models here, at (x, y)."""
    image = np.zeros((height, width, 3), np.uint8)
    image[y : y + 8, x : x + 8] = level
    return image


def _model(nodes: list, constants: dict[str, np.ndarray], outputs: dict[str, tuple[int, ...]]) -> bytes:
    pictures = helper.make_tensor_value_info("pictures", TensorProto.UINT8, [1, 3, HEIGHT, WIDTH])
    answers = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()]
    weights = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "made", [pictures], answers, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return model.SerializeToString()
