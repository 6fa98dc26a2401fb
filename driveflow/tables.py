"""The columns of every table that driveflow writes."""

import pyarrow as pa

SCHEMA_VERSION = 1

SPLITS = ("train", "val", "holdout")
VERDICTS = ("kept", "dropped", "quarantined")
CLOCKS = ("utc", "gps", "drive_relative", "none")

# Identity of a snapshot: these three tables, sorted by their keys, and the taxonomy.
FRAMES = pa.schema(
    [
        ("frame_id", pa.string()),  # sha256 of the encoded bytes
        ("width", pa.int32()),  # pixels of the upright (EXIF-applied) picture
        ("height", pa.int32()),
        ("media_type", pa.string()),  # image/jpeg, image/png, ... by content, not by name
        ("byte_count", pa.int64()),
        ("split", pa.string()),  # train, val, holdout
        ("drive_group", pa.string()),
        ("annotated_classes", pa.list_(pa.string())),  # sorted; empty = unlabeled
        ("attributes", pa.string()),  # canonical JSON object of frame attributes, e.g. {"time_of_day":"night"}
    ]
)
SOURCES = pa.schema(
    [
        ("frame_id", pa.string()),
        ("batch", pa.string()),
        ("path", pa.string()),  # relative to the batch; archive members as "archive.zip!member"
        ("drive", pa.string()),
        ("camera", pa.string()),
        ("captured_ns", pa.int64()),  # nullable
        ("clock", pa.string()),  # utc, gps, drive_relative, none
        ("lat", pa.float64()),
        ("lon", pa.float64()),
        ("speed_mps", pa.float64()),
        ("heading_deg", pa.float64()),
        # what the data itself calls its split: train, valid, test; empty: it does not say
        ("source_split", pa.string()),
    ]
)
BOXES = pa.schema(
    [
        ("frame_id", pa.string()),
        ("box_id", pa.string()),
        ("class_name", pa.string()),
        ("x1", pa.float64()),  # upright pixels, origin at the corner of the top-left pixel
        ("y1", pa.float64()),
        ("x2", pa.float64()),
        ("y2", pa.float64()),
        ("score", pa.float64()),  # null on truth
        ("origin", pa.string()),  # "batch:NAME", "campaign:ID" or "model:DIGEST"
        ("annotator", pa.string()),  # nullable
        ("guideline", pa.string()),  # nullable
        ("ignore", pa.bool_()),
        ("attributes", pa.string()),  # canonical JSON object
    ]
)
KEYS = {"frames": ("frame_id",), "sources": ("frame_id", "batch", "path"), "boxes": ("frame_id", "box_id")}

# Beside the identity.
LOCATIONS = pa.schema(  # where the encoded bytes of a frame lie: a whole object, or a slice of a shard
    [
        ("frame_id", pa.string()),
        ("uri", pa.string()),
        ("offset", pa.int64()),
        ("length", pa.int64()),
        ("digest", pa.string()),  # sha256 of the bytes there; null: it is the frame_id
    ]
)
DECISIONS = pa.schema(
    [
        ("frame_id", pa.string()),
        ("step", pa.string()),
        ("rule", pa.string()),
        ("verdict", pa.string()),  # kept, dropped
        ("reason", pa.string()),  # exact_duplicate, near_duplicate, blur, under_exposed, leak, ...
        ("score", pa.float64()),  # nullable
        ("limit", pa.float64()),  # nullable
        ("twin", pa.string()),  # frame_id of the kept twin, nullable
        ("detail", pa.string()),  # one sentence for a person, may be empty
    ]
)
QUARANTINE = pa.schema(
    [
        ("batch", pa.string()),
        ("path", pa.string()),
        ("reason", pa.string()),  # short code: truncated, not_an_image, too_large, ...
        ("detail", pa.string()),
        ("byte_count", pa.int64()),
        ("line", pa.int64()),  # line of a label file where that is what was wrong, else null
    ]
)
REMARKS = frozenset(["label_nearest_picture", "metadata_nearest_path", "time_jump"])
"""Reasons of rows in quarantine that only tell what was found: nothing is lost by them."""
CONFLICTS = pa.schema(
    [
        ("frame_id", pa.string()),
        ("kind", pa.string()),  # box, attribute, split, annotated_classes
        ("left", pa.string()),  # canonical JSON of the one value, with its batch
        ("right", pa.string()),
        ("rule", pa.string()),
        ("winner", pa.string()),  # left, right, both, neither, or review: nothing is decided
        ("where", pa.string()),  # "batch/path" of a picture in which to see it, null where that is not known
    ]
)
SIGNALS = pa.schema(  # what one scaled decode of a frame tells; kept per (frame_id, extractor digest)
    [
        ("frame_id", pa.string()),
        ("phash64", pa.uint64()),
        ("phash256", pa.binary(32)),
        ("thumbnail_print", pa.uint64()),  # equal only where every pixel of the reduced picture is
        ("brightness", pa.float32()),  # mean of the grey picture, 0..255
        ("contrast", pa.float32()),  # standard deviation of the grey picture
        ("dark_share", pa.float32()),  # share of pixels under 10
        ("bright_share", pa.float32()),  # share of pixels over 245
        ("sharpness", pa.float32()),  # variance of the Laplacian at a fixed long side of 120 px
        ("edge_ratio", pa.float32()),  # energy of second over first differences there, the less of across and down
        ("saturation", pa.float32()),  # mean of the largest minus the smallest of red, green and blue
        ("red_blue", pa.float32()),  # mean of red minus blue
        ("green_cast", pa.float32()),  # mean of green minus the mean of red and blue
        ("tail_share", pa.float32()),  # share of rows, from the bottom up, of one colour, not black or white
        ("steepness_grid", pa.binary(32)),  # 4 x 8 cells: 16 times the root of the mean difference of neighbours
        ("red_blue_grid", pa.binary(32)),  # 4 x 8 cells: red minus blue, halved, around 128
        ("error", pa.string()),  # why there are no signals, else null
    ]
)
PREDICTIONS = BOXES  # with a score on every row
