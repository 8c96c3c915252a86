"""Refreshes the sizes and digests in testdata/cases/verdicts.json: what Pillow
makes of each file in testdata/cases/images. The verdicts, the notes and what
builds without C libraries say ("portable") are decisions: they are kept, and held
against Pillow. Where a file gets other pixels than Pillow's, or another answer, a
note must say why. Needs Pillow 13 (pip install pillow==13.0.0).

    python services/preprocess/testdata/make_verdicts.py [--check]
"""

import hashlib
import json
import pathlib
import sys
import warnings

from PIL import Image, ImageOps

CASES = pathlib.Path(__file__).resolve().parents[3] / "testdata" / "cases"
VERDICTS = CASES / "verdicts.json"
KINDS = {"pixels", "broken", "unsupported", "too_large"}


def pillow(path):
    """What Pillow makes of a file, or None when it refuses it."""
    try:
        return ImageOps.exif_transpose(Image.open(path)).convert("RGB")
    except Exception:  # whatever it says, it is a refusal
        return None


def judged(row):
    """The row with Pillow's size and digest, and what is wrong with it."""
    image = pillow(CASES / "images" / row["file"])
    size = {"width": row.get("width", 0), "height": row.get("height", 0)}
    note = row.get("note")
    fresh = {key: row[key] for key in ("file", "verdict", "portable") if key in row}
    if row["verdict"] == "pixels":
        if image:
            size = {"width": image.width, "height": image.height}
        fresh |= size
        if image and not note:
            fresh["sha256"] = hashlib.sha256(image.tobytes()).hexdigest()
    if note:
        fresh["note"] = note
    if row["verdict"] not in KINDS or row.get("portable", "pixels") not in KINDS:
        return fresh, "has an unknown verdict"
    if not note and (row["verdict"] == "pixels") != (image is not None):
        return fresh, "gets another answer from Pillow, and no note says why"
    return fresh, None


def main(check):
    warnings.simplefilter("ignore")
    text = VERDICTS.read_text()
    rows = {row["file"]: row for row in json.loads(text)}
    files = {path.name for path in (CASES / "images").iterdir()}
    faults = [f"{name}: has no row" for name in sorted(files - rows.keys())]
    faults += [f"{name}: is not there" for name in sorted(rows.keys() - files)]
    lines = []
    for name in sorted(files & rows.keys()):
        fresh, fault = judged(rows[name])
        lines.append(json.dumps(fresh))
        if fault:
            faults.append(f"{name}: {fault}")
    fresh = "[\n" + ",\n".join(lines) + "\n]\n"
    if check and fresh != text:
        faults.append("sizes or digests are not Pillow's: run it without --check")
    if not check:
        VERDICTS.write_text(fresh)
    return "\n".join(faults)


sys.exit(main("--check" in sys.argv))
