"""Tell what people drew from what models saw."""

import pyarrow as pa
import pyarrow.compute as pc


def truth_of(boxes: pa.Table) -> pa.Table:
    """Return the boxes without a score: labels, which may be trained on and judged by."""
    return boxes.filter(pc.is_null(boxes["score"])) if boxes["score"].null_count < boxes.num_rows else boxes


def predictions_of(boxes: pa.Table) -> pa.Table:
    """Return the boxes with a score: what a model saw, which is nobody's label."""
    return boxes.filter(pc.is_valid(boxes["score"]))
