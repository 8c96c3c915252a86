"""Writes testdata/jpeg/*.jpg, small files of every kind that the JPEG decoder has
to know, and testdata/jpeg.json: what Pillow makes of them and of the JPEG files
in Go's own source, whole and reduced. Needs Pillow 13 (pip install
pillow==13.0.0), and for the files cjpeg 2.1 (Debian: libjpeg-turbo-progs).

    python services/preprocess/testdata/make_jpeg.py [--files] GOROOT
"""

import hashlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile

from PIL import Image

HERE = pathlib.Path(__file__).parent
OUT = HERE / "jpeg"
PHOTO = HERE.parents[2] / "testdata" / "images" / "coffee.jpg"

# By what Pillow's draft mode can divide, beside 1.
REDUCTIONS = (1, 2, 4, 8)

SAMPLINGS = {
    "444": "1x1", "422": "2x1", "440": "1x2", "420": "2x2", "411": "4x1", "410": "4x2", "1x4": "1x4", "2x4": "2x4",
    "3x1": "3x1", "1x3": "1x3", "3x2": "3x2", "chroma_2x2": "1x1,2x2,2x2", "chroma_2x1": "1x1,2x1,1x1",
    "2x2_1x2_2x1": "2x2,1x2,2x1", "2x2_2x2_1x1": "2x2,2x2,1x1", "2x2_1x1_1x2": "2x2,1x1,1x2",
    "2x2_2x1_1x2": "2x2,2x1,1x2", "4x1_2x1_1x1": "4x1,2x1,1x1",
    "1x4_1x2_1x1": "1x4,1x2,1x1",
}

SCANS = {
    "sequential": "0; 1; 2;",
    "sequential_two": "0; 1 2;",
    "only_dc": "0 1 2: 0-0, 0, 0;",
    "coarse": "0 1 2: 0-0, 0, 1; 0: 1-5, 0, 2;",
    "no_last_bits": "0 1 2: 0-0, 0, 0; 0: 1-63, 0, 1; 1: 1-63, 0, 1; 2: 1-63, 0, 1;",
}


def picture(width, height):
    with Image.open(PHOTO) as photo:
        return photo.convert("RGB").resize((width, height), Image.Resampling.BICUBIC, box=(150, 100, 350, 230))


def cjpeg(image, *options):
    ppm = io.BytesIO()
    image.save(ppm, "PPM")
    return subprocess.run(["cjpeg", *options], input=ppm.getvalue(), capture_output=True, check=True).stdout


def scanned(image, script, *options):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(script)
        file.flush()
        return cjpeg(image, "-scans", file.name, *options)


def saved(image, **options):
    out = io.BytesIO()
    image.save(out, "JPEG", **options)
    return out.getvalue()


def segments(data):
    """The segments before the first scan as (marker, bytes), and the rest."""
    at, found = 2, []
    while data[at + 1] != 0xDA:
        end = at + 2 + int.from_bytes(data[at + 2:at + 4], "big")
        found.append((data[at + 1], data[at:end]))
        at = end
    return found, data[at:]


def without(data, marker):
    found, rest = segments(data)
    return data[:2] + b"".join(s for m, s in found if m != marker) + rest


def changed(data, marker, change):
    found, rest = segments(data)
    return data[:2] + b"".join(change(bytearray(s)) if m == marker else s for m, s in found) + rest


def put(at, value):
    def change(segment):
        segment[at] = value
        return bytes(segment)
    return change


def ids(data, *values):
    """Gives other names to the components, in the frame and in the scan."""
    for i, value in enumerate(values):
        data = changed(data, 0xC0, put(10 + 3 * i, value))
    scan = bytearray(data)
    at = data.index(b"\xff\xda")
    for i, value in enumerate(values):
        scan[at + 5 + 2 * i] = value
    return bytes(scan)


def before_restarts(data, padding):
    """Puts bytes before every restart marker, as some cameras do (DEC-14)."""
    for marker in range(0xD0, 0xD8):
        data = data.replace(bytes([0xFF, marker]), padding + bytes([0xFF, marker]))
    return data


def numbered(data):
    """The number of lines is behind the scan (DNL), 0 in its header."""
    height = None

    def zero(segment):
        nonlocal height
        height = bytes(segment[5:7])
        segment[5:7] = b"\0\0"
        return bytes(segment)

    data = changed(data, 0xC0, zero)
    return data[:-2] + b"\xff\xdc\0\4" + height + data[-2:]


def files():
    photo = picture(97, 61)
    for name, sampling in SAMPLINGS.items():
        yield f"s_{name}", cjpeg(photo, "-quality", "80", "-sample", sampling)
    for name in ("444", "422", "420", "440", "410", "2x2_1x1_1x2"):
        yield f"p_{name}", cjpeg(photo, "-quality", "80", "-progressive", "-sample", SAMPLINGS[name])
    for name in ("444", "420"):
        yield f"a_{name}", cjpeg(photo, "-quality", "80", "-arithmetic", "-sample", SAMPLINGS[name])
        yield f"ap_{name}", cjpeg(photo, "-quality", "80", "-arithmetic", "-progressive", "-sample", SAMPLINGS[name])
    for name, script in SCANS.items():
        yield f"scans_{name}", scanned(photo, script, "-quality", "80")
    for name in ("3x3,1x1,1x1", "4x4,2x1,1x2", "4x2,2x2,1x1"):
        yield f"scans_{name.replace(',', '_')}", scanned(photo, "0; 1; 2;", "-quality", "80", "-sample", name)
    for size in ((1, 1), (7, 9), (17, 33), (3, 40), (40, 3)):
        for name in ("444", "420", "410", "3x1"):
            yield f"{size[0]}x{size[1]}_{name}", cjpeg(picture(*size), "-sample", SAMPLINGS[name])
        yield f"{size[0]}x{size[1]}_p_420", cjpeg(picture(*size), "-progressive")
        yield f"{size[0]}x{size[1]}_a_420", cjpeg(picture(*size), "-arithmetic")
    yield from of_other_colors(photo)
    yield from odd(photo)


def of_other_colors(photo):
    yield "grey", cjpeg(photo, "-grayscale")
    yield "grey_2x2", cjpeg(photo, "-grayscale", "-sample", "2x2")
    yield "grey_p", cjpeg(photo, "-grayscale", "-progressive")
    cmyk = saved(photo.convert("CMYK"), quality=80)
    small = saved(photo.convert("CMYK"), quality=80, subsampling=2)
    yield "cmyk", cmyk
    yield "cmyk_420", small
    yield "cmyk_p", saved(photo.convert("CMYK"), quality=80, progressive=True)
    yield "cmyk_no_adobe", without(cmyk, 0xEE)
    yield "ycck", changed(cmyk, 0xEE, put(15, 2))
    yield "ycck_420", changed(small, 0xEE, put(15, 2))
    rgb = cjpeg(photo, "-rgb", "-quality", "80")
    yield "rgb_adobe", ids(rgb, 1, 2, 3)
    yield "rgb_ids", without(rgb, 0xEE)
    yield "ycc_adobe", changed(rgb, 0xEE, put(15, 1))
    yield "ycc_odd_ids", ids(without(rgb, 0xEE), 7, 8, 9)
    yield "ycc_no_jfif", without(cjpeg(photo), 0xE0)


def odd(photo):
    plain = cjpeg(photo, "-quality", "80")
    restarts = cjpeg(photo, "-quality", "80", "-restart", "2B")
    yield "no_dht", without(plain, 0xC4)
    yield "no_dqt", without(plain, 0xDB)
    yield "restarts", restarts
    yield "restarts_rows_420", cjpeg(photo, "-quality", "80", "-restart", "1")
    yield "restarts_p", cjpeg(photo, "-quality", "80", "-progressive", "-restart", "3B")
    yield "restarts_a", cjpeg(photo, "-quality", "80", "-arithmetic", "-restart", "1")
    yield "restarts_filled", before_restarts(restarts, b"\xff\xff\xff")
    yield "restarts_stuffed", before_restarts(restarts, b"\xff\0\xff\0")
    yield "restarts_zeros", before_restarts(restarts, b"\0\0")
    yield "quality_1", cjpeg(photo, "-quality", "1")
    yield "quality_100", cjpeg(photo, "-quality", "100", "-sample", "1x1")
    yield "lines_behind", numbered(plain)
    yield "no_lines", changed(plain, 0xC0, lambda s: bytes(s[:5] + b"\0\0" + s[7:]))
    yield "bits_12", changed(plain, 0xC0, put(4, 12))
    yield "no_pixels", plain[:plain.index(b"\xff\xda")] + b"\xff\xd9"


def digest(data):
    return hashlib.sha256(data).hexdigest()


def rows(path, name):
    data = path.read_bytes()
    row = {"file": name, "of": digest(data)[:16]}
    for reduce in REDUCTIONS:
        try:
            with Image.open(io.BytesIO(data)) as image:
                size = image.size
                if reduce > 1:
                    # draft takes the largest division that stays above a size.
                    image.draft("RGB", tuple(max(1, side // reduce) for side in size))
                    want = tuple(-(-side // reduce) for side in size)
                    if image.size != want:
                        continue
                pixels = image.convert("RGB").tobytes()
        except Exception as error:
            yield {**row, "refused": f"{type(error).__name__}: {error}".split(" at 0x")[0]}
            return
        yield {**row, "width": size[0], "height": size[1], "reduce": reduce, "sha256": digest(pixels)}


def golden(goroot):
    for path in sorted(OUT.glob("*.jpg")):
        yield from rows(path, path.name)
    for path in sorted((goroot / "src" / "image" / "testdata").glob("*.jpeg")):
        yield from rows(path, "GOROOT/" + path.name)


def main(arguments):
    if "--files" in arguments:
        arguments.remove("--files")
        OUT.mkdir(exist_ok=True)
        for name, data in files():
            (OUT / f"{name}.jpg").write_bytes(data)
    lines = ",\n".join(json.dumps(row) for row in golden(pathlib.Path(arguments[0])))
    (HERE / "jpeg.json").write_text("[\n" + lines + "\n]\n")


main(sys.argv[1:])
