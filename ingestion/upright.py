"""Put boxes into pixels of the upright picture."""

import polars as pl

_SLACK_PX = 2  # sizes that tools round differently


def with_turn(images: pl.DataFrame) -> pl.DataFrame:
    """Return `images` with a column `exif_turn`: how the labels see the picture.

    Needed are stated_width and stated_height (null where the labels say none), width and height of the upright picture
    and `turned`, its EXIF orientation if that swaps the sides. 1: the labels are upright already; 5 to 8: they are of
    the picture as it is stored, and have to be turned; null: they are of a picture of another size.
    """
    upright = _near("stated_width", "width") & _near("stated_height", "height")
    stored = _near("stated_width", "height") & _near("stated_height", "width") & (pl.col("turned") >= 5)
    unstated = pl.col("stated_width").is_null() | pl.col("stated_height").is_null()
    turn = pl.when(unstated | upright).then(1).when(stored).then(pl.col("turned"))
    return images.with_columns(exif_turn=turn.cast(pl.Int64))


def in_upright_pixels(boxes: pl.DataFrame) -> pl.DataFrame:
    """Return `boxes` with corners in upright pixels; needed are `normalised`, width, height and `exif_turn`."""
    scaled = [
        pl.when("normalised").then(pl.col(name) * pl.col(side)).otherwise(pl.col(name)).alias(name)
        for name, side in (("x1", "width"), ("y1", "height"), ("x2", "width"), ("y2", "height"))
    ]
    return boxes.with_columns(scaled).with_columns(_turned())


def _turned() -> list[pl.Expr]:
    """Turn corners of the stored picture, whose sides are `height` by `width`, as EXIF says (5 to 8)."""
    turn, width, height = pl.col("exif_turn"), pl.col("width"), pl.col("height")
    x1, y1, x2, y2 = (pl.col(name) for name in ("x1", "y1", "x2", "y2"))
    from_right = turn.is_in([6, 7])  # the stored top is at the right of the upright picture
    from_below = turn.is_in([7, 8])  # the stored left is at the bottom
    swapped = turn >= 5
    return [
        pl.when(from_right).then(width - y2).when(swapped).then(y1).otherwise(x1).alias("x1"),
        pl.when(from_below).then(height - x2).when(swapped).then(x1).otherwise(y1).alias("y1"),
        pl.when(from_right).then(width - y1).when(swapped).then(y2).otherwise(x2).alias("x2"),
        pl.when(from_below).then(height - x1).when(swapped).then(x2).otherwise(y2).alias("y2"),
    ]


def _near(stated: str, real: str) -> pl.Expr:
    return (pl.col(stated) - pl.col(real)).abs() <= _SLACK_PX
