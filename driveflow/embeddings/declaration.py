"""How an embedding model says what it takes and gives, checked before anything of it runs."""

import json
from dataclasses import asdict, dataclass
from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from driveflow.canonical import Json, digest
from driveflow.errors import IntegrityError

_STRICT: Final = ConfigDict(extra="forbid")
_PREPARATION: Final = 1  # raise it when pictures are prepared otherwise: vectors of both are never compared
_SHOWN: Final = 5
SidePx = Annotated[int, Field(ge=16, le=2048)]
TensorName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.:/-]{0,80}$")]
Levels = tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingDeclaration:
    """A model that takes one picture, stretched to `width` x `height`, and gives `dimensions` numbers.

    What goes in is (level - mean) / std of red, green and blue, levels 0 to 255.
    """

    __pydantic_config__ = _STRICT
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]  # of the model file
    input: TensorName
    output: TensorName
    dimensions: Annotated[int, Field(ge=2, le=8192)]
    width: SidePx
    height: SidePx
    mean: Levels
    std: Annotated[Levels, Field(description="of levels 0 to 255")]
    layout: Literal["NCHW", "NHWC"] = "NCHW"

    def __post_init__(self) -> None:
        if not all(0 < value < 1e6 for value in self.std) or not all(abs(value) < 1e6 for value in self.mean):
            raise ValueError(f"mean and std must be finite and std over 0, got {self.mean} and {self.std}")

    def digest(self) -> str:
        """Return the digest that names the model: its bytes and everything that decides what goes in."""
        value: dict[str, Json] = {name: _plain(part) for name, part in asdict(self).items()}
        return digest({"kind": "embedding", "preparation": _PREPARATION, **value})


def read_declaration(data: bytes, where: str) -> EmbeddingDeclaration:
    """Return the declaration that the JSON in `data` spells.

    Raises:
        IntegrityError: it spells none; says which fields of `where` are wrong.
    """
    try:
        return TypeAdapter(EmbeddingDeclaration).validate_python(json.loads(data))
    except ValidationError as error:
        told = [f"{'.'.join(map(str, item['loc'])) or 'the whole'}: {item['msg']}" for item in error.errors()]
        more = f" ({len(told)} problems)" if len(told) > _SHOWN else ""
        raise IntegrityError(f"{where} declares no embedding: {'; '.join(told[:_SHOWN])}{more}.") from error
    except (ValueError, RecursionError) as error:
        raise IntegrityError(f"{where} is no JSON: {error}.") from error


def _plain(value: object) -> Json:
    return [float(part) for part in value] if isinstance(value, tuple) else value  # type: ignore[return-value]
