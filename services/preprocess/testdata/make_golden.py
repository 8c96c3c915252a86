"""Writes the golden file of the resampler: what Pillow makes of a synthetic
image. Needs Pillow 13 (pip install pillow==13.0.0).

    python services/preprocess/testdata/make_golden.py
"""

import pathlib

from PIL import Image

import golden

FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "box": Image.Resampling.BOX,
    "bilinear": Image.Resampling.BILINEAR,
    "hamming": Image.Resampling.HAMMING,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}

# Source size, target size: both ways on both axes, one axis only, extremes, and
# heights that shrink so much that Pillow resamples rows first.
SIZES = [
    ((97, 61), (64, 40)), ((97, 61), (150, 99)), ((97, 61), (120, 31)), ((97, 61), (31, 120)),
    ((97, 61), (97, 30)), ((97, 61), (40, 61)), ((97, 61), (97, 61)), ((31, 200), (16, 24)),
    ((200, 31), (24, 16)), ((1, 1), (20, 20)), ((1, 50), (30, 7)), ((50, 1), (7, 30)), ((3, 2), (64, 64)),
]


def synthetic(width, height):
    """The same image as in transform/golden_test.go."""
    return bytes(
        (x * x * 31 + y * y * 17 + x * y * 7 + c * 85) % 251
        for y in range(height) for x in range(width) for c in range(3)
    )


def resized():
    for size, target in SIZES:
        image = Image.frombytes("RGB", size, synthetic(*size))
        for name, resample in FILTERS.items():
            yield {
                "from": list(size), "to": list(target), "filter": name,
                "sha256": golden.digest(image.resize(target, resample)),
            }


golden.write(pathlib.Path(__file__).parent / "resized.json", resized())
