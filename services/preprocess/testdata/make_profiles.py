"""Writes samples with color profiles, made here, and what Pillow makes of them by
ImageCms.profileToProfile (perceptual intent, to sRGB): FILE.rgb beside each, or
the plain pixels where the profile is to be left alone. Needs Pillow 13
(pip install pillow==13.0.0).

    python services/preprocess/testdata/make_profiles.py
"""

import io
import json
import pathlib
import struct

from PIL import Image, ImageCms

import golden

HERE = pathlib.Path(__file__).parent / "profiles"
D50 = (0.9642, 1.0, 0.8249)


def fixed(v):
    return struct.pack(">i", round(v * 65536))


def xyz(values):
    return b"XYZ \0\0\0\0" + b"".join(fixed(v) for v in values)


def text(words):
    return b"mluc\0\0\0\0" + struct.pack(">II2s2sII", 1, 12, b"en", b"US", 2 * len(words), 28) + words.encode("utf-16-be")


def gamma(v):
    return b"curv\0\0\0\0" + struct.pack(">IH", 1, round(v * 256))


def parametric(*values):
    return b"para\0\0\0\0" + struct.pack(">HH", 3, 0) + b"".join(fixed(v) for v in values)


SRGB_CURVE = parametric(2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045)


def profile(tags, space=b"RGB ", kind=b"mntr", connection=b"XYZ ", padding=0):
    tags = dict(tags, **{"desc": text("made for a test"), "cprt": text("no rights"), "wtpt": xyz(D50)})
    table, body = b"", b""
    start = 128 + 4 + 12 * len(tags)
    for name, data in tags.items():
        data += b"\0" * (-len(data) % 4)
        table += name.encode() + struct.pack(">II", start + len(body), len(data))
        body += data
    body += bytes(i * 7 % 251 for i in range(padding))
    size = start + len(body)
    head = struct.pack(">I4sI4s4s4s", size, b"\0\0\0\0", 0x04200000, kind, space, connection)
    head += struct.pack(">6H", 2026, 1, 1, 0, 0, 0) + b"acsp" + bytes(28) + b"".join(fixed(v) for v in D50)
    return head.ljust(128, b"\0") + struct.pack(">I", len(tags)) + table + body


def matrix(red, green, blue, curve, **options):
    return profile({"rXYZ": xyz(red), "gXYZ": xyz(green), "bXYZ": xyz(blue), "rTRC": curve, "gTRC": curve, "bTRC": curve}, **options)


# Colorants adapted to D50 (Bradford), as the profiles of Apple and Adobe have them.
P3 = ((0.51512, 0.24120, -0.00105), (0.29198, 0.69225, 0.04189), (0.15710, 0.06657, 0.78407))
ADOBE = ((0.60974, 0.31111, 0.01947), (0.20528, 0.62567, 0.06087), (0.14919, 0.06322, 0.74457))
SRGB = ((0.43607, 0.22249, 0.01392), (0.38515, 0.71687, 0.09708), (0.14307, 0.06061, 0.71410))


def table():
    """A profile with a table of colors (lut16) to Lab, of 5 points a side."""
    points, out = 5, b""
    for r in range(points):
        for g in range(points):
            for b in range(points):
                light = (0.3 * r + 0.6 * g + 0.1 * b) / (points - 1)
                a, c = (r - g) / (points - 1), (g - b) / (points - 1)
                out += struct.pack(">HHH", round(light * 0xFF00), round(0x8000 + a * 0x3000), round(0x8000 + c * 0x3000))
    ramp = struct.pack(">HH", 0, 65535)
    unit = b"".join(fixed(v) for v in (1, 0, 0, 0, 1, 0, 0, 0, 1))
    lut = b"mft2\0\0\0\0" + bytes([3, 3, points, 0]) + unit + struct.pack(">HH", 2, 2) + 3 * ramp + out + 3 * ramp
    return profile({"A2B0": lut}, connection=b"Lab ")


PROFILES = {
    "p3": matrix(*P3, SRGB_CURVE),
    "adobe": matrix(*ADOBE, gamma(2.19921875)),
    "table": table(),
    "large": matrix(*P3, SRGB_CURVE, padding=150_000),
}
LEFT_ALONE = {
    "srgb": matrix(*SRGB, SRGB_CURVE),
    "cut": PROFILES["p3"][:-150],
    "no_curves": profile({"rXYZ": xyz(P3[0])}),
    "grey": profile({"kTRC": gamma(2.2)}, space=b"GRAY"),
    "ink": profile({}, space=b"CMYK", kind=b"prtr"),
    "garbage": bytes(range(128)),
}


def save(image, kind, icc):
    out = io.BytesIO()
    options = {"JPEG": {"quality": 90}, "WEBP": {"lossless": True}, "TIFF": {"compression": "raw"}}
    image.save(out, kind, icc_profile=icc, **options.get(kind, {}))
    return out.getvalue()


def expected(data, convert):
    image = Image.open(io.BytesIO(data))
    icc = image.info["icc_profile"]
    image = image.convert("RGB")
    if convert:
        source = ImageCms.ImageCmsProfile(io.BytesIO(icc))
        image = ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
    return image


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for old in HERE.iterdir():
        old.unlink()
    picture = golden.picture(48, 32, "RGB")
    rows = []
    cases = [(name, kind, True) for name in PROFILES for kind in ("JPEG", "PNG", "TIFF", "WEBP") if name != "large"]
    cases += [("large", "JPEG", True), ("large", "PNG", True)] + [(name, kind, False) for name in LEFT_ALONE for kind in ("JPEG", "PNG")]
    for name, kind, convert in cases:
        data = save(picture, kind, PROFILES.get(name) or LEFT_ALONE[name])
        file = name + "." + {"JPEG": "jpg", "PNG": "png", "TIFF": "tif", "WEBP": "webp"}[kind]
        image = expected(data, convert)
        (HERE / file).write_bytes(data)
        if convert:
            (HERE / (file + ".rgb")).write_bytes(image.tobytes())
        rows.append({"file": file, "width": 48, "height": 32, "sha256": golden.digest(image), "converted": convert, "broken": not convert and name != "srgb"})
    golden.write(HERE / "golden.json", rows)
