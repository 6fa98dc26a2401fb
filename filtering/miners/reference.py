"""Which kept frames rarity is measured against."""

import numpy as np

from driveflow.flow.miner_section import MinerSection
from filtering.miners.material import Ints, Mask, Material
from filtering.places import first_places

REFERENCES = {
    "kept": "all other kept frames of train and val",
    "labeled": "the other labeled frames of train and val",
    "other_drives": "the kept frames of train and val of other drives",
}


def reference_frames(material: Material, settings: MinerSection) -> tuple[Mask, Ints]:
    """Return which frames are compared with, and a group for each frame: none is compared with its own."""
    kept = material.in_splits("train", "val")
    if settings.reference == "labeled":
        kept &= material.labeled()
    if settings.reference != "other_drives":
        return kept, np.arange(material.count)
    drives = [drive for drive, _ in first_places(material.tables.frames, material.tables.sources)]
    return kept, np.unique(np.array(drives, dtype=np.str_), return_inverse=True)[1].reshape(-1).astype(np.int64)
