"""How a model declares what it takes and what comes out of it, checked before anything of it runs."""

from dataclasses import asdict, dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from driveflow.canonical import Json
from driveflow.errors import IntegrityError

MAX_CLASSES = 1000
_STRICT = ConfigDict(extra="forbid")
_SHOWN = 5
SidePx = Annotated[int, Field(ge=32, le=4096)]
TensorName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.:/-]{0,80}$")]
Limit = Annotated[int, Field(ge=1, le=1000)]
Iou = Annotated[float, Field(gt=0, le=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class InputDeclaration:
    """The one input: a batch of one RGB picture, fitted into `width` x `height` pixels."""

    __pydantic_config__ = _STRICT
    name: TensorName
    layout: Literal["NCHW", "NHWC"] = "NCHW"
    dtype: Literal["uint8", "float32"] = "uint8"  # float32 is pixel value times `scale`
    scale: Annotated[float, Field(gt=0, le=1)] = 1.0
    width: SidePx
    height: SidePx
    resize: Literal["letterbox", "stretch"] = "letterbox"  # letterbox keeps the shape, top left; the rest is `fill`
    fill: Annotated[int, Field(ge=0, le=255)] = 114


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatmapHead:
    """A score for each class and cell, and the distances from the cell's centre to the four sides of its box.

    `scores` is (1, classes, rows, columns) in 0..1; `sides` is (1, 4, rows, columns): left, top, right, bottom in
    pixels of the input. A cell is `stride` pixels wide. A cell counts where no neighbour scores its class higher.
    """

    __pydantic_config__ = _STRICT
    kind: Literal["heatmap"] = "heatmap"
    scores: TensorName
    sides: TensorName
    stride: Literal[2, 4, 8, 16, 32]
    max_boxes: Limit = 100
    nms_iou: Iou = 0.55


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxesHead:
    """A list of boxes: `boxes` is (1, n, 4): x1, y1, x2, y2 in pixels of the input; `scores` is (1, n, classes)."""

    __pydantic_config__ = _STRICT
    kind: Literal["boxes"] = "boxes"
    boxes: TensorName
    scores: TensorName
    max_boxes: Limit = 100
    nms_iou: Iou = 0.55


Head = Annotated[HeatmapHead | BoxesHead, Field(discriminator="kind")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDeclaration:
    """What a trainer says about its model: either model.onnx with input and head, or a command that predicts."""

    __pydantic_config__ = _STRICT
    kind: Literal["onnx", "command"]
    classes: Annotated[tuple[Annotated[str, Field(min_length=1, max_length=200)], ...], Field(min_length=1)]
    input: InputDeclaration | None = None
    head: Head | None = None
    command: tuple[Annotated[str, Field(min_length=1, max_length=4096)], ...] = ()

    def __post_init__(self) -> None:
        if len(self.classes) > MAX_CLASSES or len(set(self.classes)) != len(self.classes):
            raise ValueError(f"classes must be {MAX_CLASSES} at most, each named once, got {len(self.classes)}")
        whole = self.input is not None and self.head is not None and not self.command
        if self.kind == "onnx" and not whole:
            raise ValueError("kind onnx needs input and head, and no command")
        if self.kind == "command" and (not self.command or self.input is not None or self.head is not None):
            raise ValueError("kind command needs a command, and neither input nor head")

    def to_json(self) -> dict[str, Json]:
        """Return the declaration as plain values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    def onnx_parts(self) -> tuple[InputDeclaration, HeatmapHead | BoxesHead]:
        """Return input and head.

        Raises:
            IntegrityError: the model is a command, which has none.
        """
        if self.input is None or self.head is None:
            raise IntegrityError(f"A model of kind {self.kind} has no input and no head.")
        return self.input, self.head


def read_declaration(value: object, where: str) -> ModelDeclaration:
    """Return the declaration that `value`, plain values from JSON, spells.

    Raises:
        IntegrityError: it spells none; says which fields of `where` are wrong.
    """
    try:
        return TypeAdapter(ModelDeclaration).validate_python(value)
    except ValidationError as error:
        told = [f"{'.'.join(map(str, item['loc'])) or 'the whole'}: {item['msg']}" for item in error.errors()]
        more = f" ({len(told)} problems)" if len(told) > _SHOWN else ""
        raise IntegrityError(f"{where} declares no model: {'; '.join(told[:_SHOWN])}{more}.") from error
