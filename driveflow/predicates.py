"""Which frames a predicate of the flow file means."""

import json

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.flow.sections import WhereSection

Mask = npt.NDArray[np.bool_]


def matches(frames: pa.Table, boxes: pa.Table, where: WhereSection) -> Mask:
    """Return for each row of `frames` whether it has any class of `where` and, for every attribute, one of its values.

    A box counts unless it is an ignore region; predictions are boxes too, filter them by score first. A predicate
    without classes asks nothing of the boxes, one without attributes nothing of the attributes.
    """
    mask = np.ones(frames.num_rows, dtype=np.bool_)
    if where.classes:
        wanted = pc.and_(
            pc.is_in(boxes["class_name"], value_set=pa.array(where.classes, pa.string())),
            pc.invert(pc.fill_null(boxes["ignore"], False)),
        )
        found = boxes["frame_id"].filter(wanted).combine_chunks()
        mask &= pc.is_in(frames["frame_id"], value_set=found).to_numpy()
    for name, values in where.attributes.items():
        mask &= np.isin(attribute(frames, name), values)
    return mask


def attribute(frames: pa.Table, name: str) -> npt.NDArray[np.str_]:
    """Return the frame attribute `name` of each row as text; empty where a frame does not say."""
    encoded = frames["attributes"].combine_chunks().dictionary_encode()
    texts = [_value(text, name) for text in encoded.dictionary.to_pylist()]
    known = np.array([*texts, ""], dtype=np.str_)  # the last one for rows without attributes
    places = encoded.indices.fill_null(len(texts)).to_numpy()
    return np.asarray(known[places])


def _value(attributes: str | None, name: str) -> str:
    value = json.loads(attributes).get(name, "") if attributes else ""
    return value if isinstance(value, str) else json.dumps(value)
