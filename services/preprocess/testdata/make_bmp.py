"""Writes the BMP samples of this module, and what Pillow makes of them. Needs
Pillow 13 (pip install pillow==13.0.0).

    python services/preprocess/testdata/make_bmp.py
"""

import hashlib
import io
import json
import pathlib
import struct

from PIL import Image, ImageOps

HERE = pathlib.Path(__file__).parent / "bmp"
W, H = 37, 29

# Where we differ from Pillow, and why. Each has pixels that are made here.
DIFFERENT = {
    "pal8_black_white.bmp": "Pillow reads pixels of 8 bits as pixels of 1 bit when the palette is black and white",
    "pal4_grey_ramp.bmp": "Pillow reads pixels of 4 bits as pixels of 8 bits when color i is i, i, i",
    "pal2.bmp": "Pillow reads no 2 bits per pixel, which Windows CE writes",
    "os2_short.bmp": "Pillow reads no header of 16 bytes, which is OS/2's, cut off",
    "masks_101010.bmp": "Pillow reads a fixed list of bit masks",
    "masks_444.bmp": "Pillow reads a fixed list of bit masks",
    "rle8_end_early.bmp": "Pillow refuses a bitmap that ends before its last pixel; the rest has color 0",
    "rle8_blank_rows.bmp": "Pillow takes an end of a row right behind another for nothing",
    "rle4_blank_rows.bmp": "Pillow takes an end of a row right behind another for nothing",
}


def color(x, y):
    return (x * 6 + y) % 256, (y * 8 + x * 3) % 256, (x * y + 40) % 256


def index(x, y, colors):
    return (x // 3 + y * 2) % colors


def palette(n):
    return [((i * 37 + 5) % 256, (i * 91 + 200) % 256, (i * 13 + 77) % 256) for i in range(n)]


def rows(bottom_up=True):
    return range(H - 1, -1, -1) if bottom_up else range(H)


def padded(row):
    return row + bytes(-len(row) % 4)


def packed(values, bits):
    out = bytearray()
    per = 8 // bits
    for i in range(0, len(values), per):
        byte = 0
        for k, v in enumerate(values[i:i + per]):
            byte |= v << (8 - bits * (k + 1))
        out.append(byte)
    return bytes(out)


def bmp(data, bits, compression=0, colors=(), used=None, size=40, masks=(), height=H, gap=b"", entry=4, offset=None):
    used = len(colors) if used is None else used
    if size == 12:
        info = struct.pack("<IHHHH", 12, W, height, 1, bits)
    elif size == 16:
        info = struct.pack("<IIIHH", 16, W, height, 1, bits)
    else:
        info = struct.pack("<IiiHHIIiiII", size, W, height, 1, bits, compression, len(data), 2835, 2835, used, 0)
    behind = b""
    if size >= 52:
        info += b"".join(struct.pack("<I", m) for m in masks)
        info += bytes(size - len(info))
    else:
        behind = b"".join(struct.pack("<I", m) for m in masks)
    table = b"".join(bytes((b, g, r)) + bytes(entry - 3) for r, g, b in colors)
    at = 14 + len(info) + len(behind) + len(table) + len(gap) if offset is None else offset
    return struct.pack("<2sIHHI", b"BM", at + len(data), 0, 0, at) + info + behind + table + gap + data


def indexed(bits, n, bottom_up=True):
    return b"".join(padded(packed([index(x, y, n) for x in range(W)], bits)) for y in rows(bottom_up))


def words(pack, bottom_up=True):
    return b"".join(padded(b"".join(pack(x, y) for x in range(W))) for y in rows(bottom_up))


def bgr(x, y):
    return bytes(reversed(color(x, y)))


def bgra(x, y):
    return bgr(x, y) + bytes(((x * 7 + y) % 256,))


def fields(masks):
    """A pixel of 16 or 32 bits by masks of red, green, blue and alpha."""
    def pack(x, y):
        v = 0
        for mask, sample in zip(masks, color(x, y) + ((x * 7 + y) % 256,)):
            if mask:
                shift = (mask & -mask).bit_length() - 1
                most = mask >> shift
                v |= (sample * most // 255) << shift
        return struct.pack("<I" if max(masks) > 0xFFFF else "<H", v)
    return pack


def unpacked(masks, bits):
    def at(x, y):
        v = int.from_bytes(fields(masks)(x, y), "little")
        out = []
        for mask in masks[:3]:
            shift = (mask & -mask).bit_length() - 1
            out.append(((v & mask) >> shift) * 255 // (mask >> shift))
        return tuple(out)
    return at


def runs(values):
    """Pairs of a length and a value."""
    out = []
    for v in values:
        if out and out[-1][1] == v and out[-1][0] < 255:
            out[-1][0] += 1
        else:
            out.append([1, v])
    return out


def rle8(n, literal_rows=True):
    out = bytearray()
    for i, y in enumerate(rows()):
        values = [index(x, y, n) for x in range(W)]
        if literal_rows and i % 3 == 1:
            out += bytes((0, W)) + bytes(values) + bytes(W % 2)
        else:
            for count, v in runs(values):
                out += bytes((count, v))
        out += b"\0\0"
    return bytes(out[:-2]) + b"\0\1"


def rle4(n):
    out = bytearray()
    for i, y in enumerate(rows()):
        values = [index(x, y, n) for x in range(W)]
        if i % 3 == 1:
            body = packed(values, 4)
            out += bytes((0, W)) + body + bytes(len(body) % 2)
        else:
            for x in range(0, W, 2):
                pair = values[x:x + 2] + [0]
                out += bytes((min(2, W - x), pair[0] << 4 | pair[1]))
        out += b"\0\0"
    return bytes(out) + b"\0\1"


def image_of(at):
    return b"".join(bytes(at(x, y)) for y in range(H) for x in range(W))


# Moves leave pixels out; a row that is full ends with a code of its own.
MOVES8 = bytes((3, 5, 0, 2, 4, 2, 6, 7)) + b"\0\0" + bytes((W, 9)) + b"\0\0" + bytes((2, 3, 0, 2, W - 2, H - 6)) + (
    bytes((W, 1)) + b"\0\0") * 2 + b"\0\1"
MOVES4 = bytes((3, 0x57, 0, 2, 4, 2, 6, 0x7A)) + b"\0\0" + bytes((W, 0x9B)) + b"\0\0" + bytes((2, 3, 0, 2, W - 2, H - 6)) + (
    bytes((W, 0x12)) + b"\0\0") * 2 + b"\0\1"
PAL16, PAL200, PAL256 = palette(16), palette(200), palette(256)
V4 = (0xFF0000, 0xFF00, 0xFF, 0xFF000000)

SAMPLES = {
    "pal1.bmp": bmp(indexed(1, 2), 1, colors=palette(2)),
    "pal1_black_white.bmp": bmp(indexed(1, 2), 1, colors=[(0, 0, 0), (255, 255, 255)]),
    "pal1_white_black.bmp": bmp(indexed(1, 2), 1, colors=[(255, 255, 255), (0, 0, 0)]),
    "pal2.bmp": bmp(indexed(2, 4), 2, colors=palette(4)),
    "pal4.bmp": bmp(indexed(4, 16), 4, colors=PAL16),
    "pal4_short.bmp": bmp(indexed(4, 5), 4, colors=palette(5)),
    "pal4_grey_ramp.bmp": bmp(indexed(4, 16), 4, colors=[(i, i, i) for i in range(16)]),
    "pal8.bmp": bmp(indexed(8, 200), 8, colors=PAL256),
    "pal8_short.bmp": bmp(indexed(8, 200), 8, colors=PAL200),
    "pal8_used_0.bmp": bmp(indexed(8, 256), 8, colors=PAL256, used=0),
    "pal8_grey.bmp": bmp(indexed(8, 256), 8, colors=[(i, i, i) for i in range(256)]),
    "pal8_black_white.bmp": bmp(indexed(8, 2), 8, colors=[(0, 0, 0), (255, 255, 255)]),
    "pal8_top_down.bmp": bmp(indexed(8, 200, False), 8, colors=PAL256, height=-H),
    "pal8_gap.bmp": bmp(indexed(8, 200), 8, colors=PAL256, gap=b"gap!" * 5),
    "pal8_offset_0.bmp": bmp(indexed(8, 200), 8, colors=PAL256, offset=0),
    "pal8_offset_54.bmp": bmp(indexed(8, 200), 8, colors=PAL256, offset=54),
    "os2_pal1.bmp": bmp(indexed(1, 2), 1, colors=palette(2), size=12, entry=3),
    "os2_pal4.bmp": bmp(indexed(4, 16), 4, colors=PAL16, size=12, entry=3),
    "os2_pal8.bmp": bmp(indexed(8, 200), 8, colors=PAL256, size=12, entry=3),
    "os2_rgb24.bmp": bmp(words(bgr), 24, size=12),
    "os2_short.bmp": bmp(indexed(8, 200), 8, colors=PAL256, size=16),
    "os2_2_pal8.bmp": bmp(indexed(8, 200), 8, colors=PAL256, size=64),
    "rgb24.bmp": bmp(words(bgr), 24),
    "rgb24_top_down.bmp": bmp(words(bgr, False), 24, height=-H),
    "rgb24_last_padding_missing.bmp": bmp(words(bgr), 24)[:-1],
    "rgb24_v5.bmp": bmp(words(bgr), 24, size=124, masks=V4),
    "rgb24_fields.bmp": bmp(words(bgr), 24, 3, masks=V4[:3]),
    "x555.bmp": bmp(words(fields((0x7C00, 0x3E0, 0x1F))), 16),
    "fields_555.bmp": bmp(words(fields((0x7C00, 0x3E0, 0x1F))), 16, 3, masks=(0x7C00, 0x3E0, 0x1F)),
    "fields_565.bmp": bmp(words(fields((0xF800, 0x7E0, 0x1F))), 16, 3, masks=(0xF800, 0x7E0, 0x1F)),
    "fields_565_v4.bmp": bmp(words(fields((0xF800, 0x7E0, 0x1F))), 16, 3, size=108, masks=(0xF800, 0x7E0, 0x1F)),
    "masks_444.bmp": bmp(words(fields((0xF00, 0xF0, 0xF))), 16, 3, masks=(0xF00, 0xF0, 0xF)),
    "x888.bmp": bmp(words(bgra), 32),
    "x888_v5.bmp": bmp(words(bgra), 32, size=124),
    "masks_101010.bmp": bmp(words(fields((0x3FF00000, 0xFFC00, 0x3FF))), 32, 3, masks=(0x3FF00000, 0xFFC00, 0x3FF)),
    "rle8.bmp": bmp(rle8(200), 8, 1, colors=PAL256),
    "rle8_grey.bmp": bmp(rle8(256), 8, 1, colors=[(i, i, i) for i in range(256)]),
    "rle8_top_down.bmp": bmp(rle8(200), 8, 1, colors=PAL256, height=-H),
    "rle8_odd_offset.bmp": bmp(rle8(200), 8, 1, colors=PAL256, gap=b"!"),
    "rle8_moves.bmp": bmp(MOVES8, 8, 1, colors=PAL16),
    "rle8_no_end.bmp": bmp(rle8(200)[:-2], 8, 1, colors=PAL256),
    "rle8_long_runs.bmp": bmp(b"".join(bytes((250, y % 16, 0, 0)) for y in range(H)) + b"\0\1", 8, 1, colors=PAL16),
    "rle8_literals_over_rows.bmp": bmp(
        bytes((0, 200)) + bytes(i % 16 for i in range(200)) + b"\0\0" + (bytes((W, 7)) + b"\0\0") * (H - 6) + b"\0\1",
        8, 1, colors=PAL16),
    "rle8_end_early.bmp": bmp(bytes((W, 3)) + b"\0\0" + bytes((5, 2)) + b"\0\1", 8, 1, colors=PAL16),
    "rle8_blank_rows.bmp": bmp(
        bytes((W, 3)) + b"\0\0" * 3 + (bytes((W, 2)) + b"\0\0") * (H - 3) + b"\0\1", 8, 1, colors=PAL16),
    "rle4.bmp": bmp(rle4(16), 4, 2, colors=PAL16),
    "rle4_moves.bmp": bmp(MOVES4, 4, 2, colors=PAL16),
    "rle4_blank_rows.bmp": bmp(
        bytes((W, 0x34)) + b"\0\0" * 3 + (bytes((W, 0x21)) + b"\0\0") * (H - 3) + b"\0\1", 4, 2, colors=PAL16),
}
for number, masks in enumerate([
    (0xFF0000, 0xFF00, 0xFF, 0), (0xFF000000, 0xFF0000, 0xFF00, 0), (0xFF000000, 0xFF00, 0xFF, 0),
    (0xFF000000, 0xFF0000, 0xFF00, 0xFF), (0xFF, 0xFF00, 0xFF0000, 0xFF000000), V4, (0xFF000000, 0xFF00, 0xFF, 0xFF0000),
]):
    SAMPLES[f"fields_32_{number}.bmp"] = bmp(words(fields(masks)), 32, 3, size=108, masks=masks)
SAMPLES["fields_32_none.bmp"] = bmp(words(bgra), 32, 3, size=108, masks=(0, 0, 0, 0))
SAMPLES["fields_32_v3.bmp"] = bmp(words(fields(V4)), 32, 3, size=56, masks=V4)
SAMPLES["fields_32_v2.bmp"] = bmp(words(fields(V4[:3])), 32, 3, size=52, masks=V4[:3])
SAMPLES["fields_32_behind.bmp"] = bmp(words(fields(V4[:3])), 32, 3, masks=V4[:3])

grey16 = [(i, i, i) for i in range(16)]
OURS = {
    "pal8_black_white.bmp": lambda x, y: [(0, 0, 0), (255, 255, 255)][index(x, y, 2)],
    "pal4_grey_ramp.bmp": lambda x, y: grey16[index(x, y, 16)],
    "pal2.bmp": lambda x, y: palette(4)[index(x, y, 4)],
    "os2_short.bmp": lambda x, y: PAL256[index(x, y, 200)],
    "masks_101010.bmp": unpacked((0x3FF00000, 0xFFC00, 0x3FF), 32),
    "masks_444.bmp": unpacked((0xF00, 0xF0, 0xF), 16),
    "rle8_end_early.bmp": lambda x, y: PAL16[3 if y == H - 1 else 2 if y == H - 2 and x < 5 else 0],
    "rle8_blank_rows.bmp": lambda x, y: PAL16[3 if y == H - 1 else 0 if y >= H - 3 else 2],
    "rle4_blank_rows.bmp": lambda x, y: PAL16[(3 + x % 2) if y == H - 1 else 0 if y >= H - 3 else 2 - x % 2],
}


def pillow(data):
    return ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB").tobytes()


def golden():
    for name, data in sorted(SAMPLES.items()):
        (HERE / name).write_bytes(data)
        rgb = image_of(OURS[name]) if name in DIFFERENT else pillow(data)
        row = {"file": name, "width": W, "height": H, "sha256": hashlib.sha256(rgb).hexdigest()}
        if name in DIFFERENT:
            row["differs"] = DIFFERENT[name]
            try:
                assert pillow(data) != rgb, name
            except (OSError, ValueError):
                pass
        yield row


HERE.mkdir(exist_ok=True)
(HERE / "golden.json").write_text("[\n" + ",\n".join(json.dumps(row) for row in golden()) + "\n]\n")
