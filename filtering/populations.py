"""The frames among which a frame is judged."""

import polars as pl
import pyarrow as pa

from filtering.light import times_of_day
from filtering.measured import Groups
from filtering.places import first_place_columns


def populations(frames: pa.Table, sources: pa.Table) -> Groups:
    """Number the populations: camera and time of day, and where that is not known camera and drive.

    A drive of unknown light is compared with itself only, so a night drive without tags is no outlier among days.
    """
    places = first_place_columns(frames["frame_id"], sources)
    time = times_of_day(frames, sources)
    known = time != ""
    among = pl.select(pl.when(known).then(time).otherwise(places["drive"])).to_series()
    keys = pl.DataFrame({"camera": places["camera"], "known": known, "among": among})
    numbers = keys.unique(maintain_order=True).with_row_index("number")
    found = keys.join(numbers, on=keys.columns, how="left", maintain_order="left")
    return found["number"].cast(pl.Int64).to_numpy()
