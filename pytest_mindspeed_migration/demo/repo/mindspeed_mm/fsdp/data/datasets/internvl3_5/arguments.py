"""Fields that only this dataset knows: section `internvl3_5_extra` beside `basic_parameters`."""

from dataclasses import dataclass


@dataclass
class InternVLExtraArguments:
    """How images are found and cut. Closed like any dataclass: an unknown key is an error.

    Attributes:
        image_root: folder that the image paths of the annotation are relative to.
        min_dynamic_patch: fewest tiles of one image.
        max_dynamic_patch: most tiles of one image, the thumbnail not counted.
        use_thumbnail: add the whole image as one more tile where it was cut.
    """

    image_root: str = "."
    min_dynamic_patch: int = 1
    max_dynamic_patch: int = 12
    use_thumbnail: bool = True
