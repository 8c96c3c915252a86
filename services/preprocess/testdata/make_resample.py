"""Writes the golden file of OpenCV's bilinear resizing. Needs OpenCV (pip install
opencv-python-headless==4.10.0.84 or 5.0.0; both give the same) on x86-64.

    python services/preprocess/testdata/make_resample.py
"""

import hashlib
import json
import pathlib

import cv2
import numpy

HERE = pathlib.Path(__file__).parent

# Source size, target size: both ways on both axes, halves (for which OpenCV has
# code of its own), extremes, and what a letterbox of 640 makes of photographs.
SIZES = [
    ((97, 61), (64, 40)), ((97, 61), (150, 99)), ((97, 61), (120, 31)), ((97, 61), (31, 120)), ((97, 61), (97, 30)),
    ((97, 61), (40, 61)), ((97, 61), (97, 61)), ((31, 200), (16, 24)), ((200, 31), (24, 16)), ((1, 1), (20, 20)),
    ((1, 50), (30, 7)), ((50, 1), (7, 30)), ((3, 2), (64, 64)), ((100, 80), (50, 40)), ((100, 80), (50, 160)),
    ((500, 375), (640, 480)), ((1280, 960), (640, 480)), ((1280, 720), (640, 360)), ((375, 500), (480, 640)),
    ((2000, 1500), (640, 480)),
]


def synthetic(width, height):
    """The same image as in resample/opencv_test.go."""
    y, x, c = numpy.mgrid[:height, :width, :3]
    return ((x * x * 31 + y * y * 17 + x * y * 7 + c * 85) % 251).astype(numpy.uint8)


def main():
    cases = []
    for (width, height), target in SIZES:
        resized = cv2.resize(synthetic(width, height), target, interpolation=cv2.INTER_LINEAR)
        cases.append({"from": [width, height], "to": list(target), "sha256": hashlib.sha256(resized.tobytes()).hexdigest()})
    folder = HERE / "resample"
    folder.mkdir(exist_ok=True)
    lines = ",\n".join("  " + json.dumps(case) for case in cases)
    (folder / "opencv.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
