"""In which pictures of a COCO document somebody looked for a class: by driveflow's own key, or by those of LVIS."""

from collections.abc import Collection, Mapping, Sequence

from driveflow.formats.coco_records import CocoImage, key_text


def looked_for(image: CocoImage, drawn: Collection[str], names: Mapping[str, str]) -> Sequence[str] | None:
    """Return the names of the classes that were looked for in `image`; None: all that the document has.

    Our own key `annotated_classes` says them. In LVIS they are those of the image's boxes and those that were verified
    not to be there, a class that `not_exhaustive` names among them: its boxes are objects as any other, there may
    only be more. COCO has neither key and means all. `drawn` are ids of categories, `names` what they mean.

    >>> looked_for(CocoImage(neg_category_ids=[5], not_exhaustive_category_ids=[1]), ["1"], {"1": "car", "5": "bus"})
    ['car', 'bus']
    """
    if image.annotated_classes is not None or image.neg_category_ids is None:
        return image.annotated_classes
    looked = {*drawn, *map(key_text, image.neg_category_ids)}
    return [names[key] for key in sorted(looked) if key in names]


def not_exhaustive(image: CocoImage, names: Mapping[str, str]) -> list[str]:
    """Return the classes of which LVIS says that more objects may be in `image` than have a box."""
    said = map(key_text, image.not_exhaustive_category_ids or ())
    return [names[key] for key in dict.fromkeys(said) if key in names]
