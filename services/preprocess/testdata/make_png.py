"""Writes PNG samples of every kind, and what Pillow makes of them and of Go's copy
of PngSuite. Needs Pillow 13 (pip install pillow==13.0.0) and Go.

    python services/preprocess/testdata/make_png.py

Where Pillow is wrong, or clips what we scale, the digest is that of the right
pixels: greys of 16 bits keep their upper byte, and tRNS is compared with samples as
they are stored.
"""

import io
import pathlib
import struct
import subprocess
import zlib

from PIL import Image

import golden

HERE = pathlib.Path(__file__).parent
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
PALETTE = bytes((i * k + 11 * k) % 256 for i in range(256) for k in (7, 31, 101))


def chunk(name, data, crc=None):
    crc = zlib.crc32(name + data) if crc is None else crc
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", crc)


def sample(x, y, channel, depth):
    """Smooth along rows, steps along columns, some noise."""
    value = (x * 977 + y * y * 131 + channel * 20011 + (x * y) % 7 * 90) % 65536
    return value >> (16 - depth)


def packed(values, depth):
    """Samples as bytes of a row."""
    if depth == 16:
        return b"".join(struct.pack(">H", v) for v in values)
    if depth == 8:
        return bytes(values)
    bits = "".join(format(v, "0%db" % depth) for v in values)
    bits += "0" * (-len(bits) % 8)
    return bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))


def paeth(a, b, c):
    p = a + b - c
    pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
    return a if pa <= pb and pa <= pc else b if pb <= pc else c


def filtered(kind, row, above, step):
    out = bytearray([kind])
    for i, v in enumerate(row):
        a = row[i - step] if i >= step else 0
        c = above[i - step] if i >= step else 0
        b = above[i]
        out.append((v - [0, a, b, (a + b) // 2, paeth(a, b, c)][kind]) & 255)
    return bytes(out)


def rows(width, height, depth, color, interlaced, most=None):
    """All rows of a picture, each with the next of the five filters."""
    step = max(1, depth * CHANNELS[color] // 8)
    count = 0
    for x0, y0, dx, dy in ADAM7 if interlaced else [(0, 0, 1, 1)]:
        columns = range(x0, width, dx)
        above = None
        for y in range(y0, height, dy) if columns else ():
            values = [sample(x, y, c, depth) for x in columns for c in range(CHANNELS[color])]
            if most:
                values = [v % most for v in values]
            row = packed(values, depth)
            yield filtered(count % 5, row, above or bytes(len(row)), step)
            above, count = row, count + 1


def png(width, height, depth, color, interlaced=0, before=(), behind=(), palette=PALETTE, most=None, data=None, split=None):
    if data is None:
        data = zlib.compress(b"".join(rows(width, height, depth, color, interlaced, most)), 9)
    parts = [data[i:i + split] for i in range(0, len(data), split)] if split else [data]
    out = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlaced))
    if color == 3 and palette is not None:
        out += chunk(b"PLTE", palette[:3 << min(depth, 8)])
    out += b"".join(before) + b"".join(chunk(b"IDAT", part) for part in parts) + b"".join(behind)
    return out + chunk(b"IEND", b"")


def raw(width, height, depth, color):
    return b"".join(rows(width, height, depth, color, 0))


KINDS = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (2, 8), (2, 16), (3, 1), (3, 2), (3, 4), (3, 8), (4, 8), (4, 16), (6, 8), (6, 16)]
W, H = 37, 21


def key(color, depth, x=3, y=2):
    """tRNS with a color that the picture has."""
    return chunk(b"tRNS", b"".join(struct.pack(">H", sample(x, y, c, depth)) for c in range(CHANNELS[color])))


def files():
    out = {}
    for color, depth in KINDS:
        for interlaced in (0, 1):
            name = "c%d_d%d%s.png" % (color, depth, "_i" if interlaced else "")
            out[name] = png(W, H, depth, color, interlaced)
    for width, height in ((1, 1), (2, 3), (5, 5), (9, 4), (4, 9), (1, 20), (20, 1)):
        out["tiny_%dx%d_i.png" % (width, height)] = png(width, height, 8, 2, 1)
        out["tiny_%dx%d_2bits_i.png" % (width, height)] = png(width, height, 2, 0, 1)
    for color, depth in ((0, 1), (0, 2), (0, 4), (0, 8), (2, 8), (0, 16)):
        out["trns_c%d_d%d.png" % (color, depth)] = png(W, H, depth, color, before=[key(color, depth)])
    alphas = bytes((i * 53) % 256 for i in range(40))
    out["trns_palette.png"] = png(W, H, 8, 3, before=[chunk(b"tRNS", alphas)])
    out["trns_palette_i.png"] = png(W, H, 4, 3, 1, before=[chunk(b"tRNS", alphas[:9])])
    out["trns_palette_one.png"] = png(W, H, 8, 3, before=[chunk(b"tRNS", b"\xff\xff\x00\xff")])
    out["palette_short.png"] = png(W, H, 8, 3, palette=PALETTE[:300])
    out["palette_short_4bits.png"] = png(W, H, 4, 3, palette=PALETTE[:15])
    out["palette_of_rgb.png"] = png(W, H, 8, 2, before=[chunk(b"PLTE", PALETTE)])
    out["gamma.png"] = png(W, H, 8, 2, before=[chunk(b"gAMA", struct.pack(">I", 100000)), chunk(b"cHRM", bytes(32)), chunk(b"sBIT", b"\5\5\5")])
    out["split.png"] = png(W, H, 8, 2, split=100, before=[])
    whole = png(W, H, 8, 2)
    out["junk_behind.png"] = whole + b"junk behind the file" + chunk(b"eXIf", b"MM")
    out["end_missing.png"] = whole[:-12]
    out["sum_of_end_missing.png"] = whole[:-16]
    data = zlib.compress(raw(W, H, 8, 2), 9)
    out["checksum_cut.png"] = png(W, H, 8, 2, data=data[:-4])
    out["checksum_wrong.png"] = png(W, H, 8, 2, data=data[:-4] + b"abcd")
    out["data_behind.png"] = png(W, H, 8, 2, data=zlib.compress(raw(W, H, 8, 2) + bytes(5000), 9))
    out["stored.png"] = png(W, H, 8, 2, data=zlib.compress(raw(W, H, 8, 2), 0))
    out["text_bomb.png"] = png(W, H, 8, 2, before=[chunk(b"iTXt", b"k\0\1\0\0\0" + zlib.compress(bytes(900000), 9))])
    animation = io.BytesIO()
    first = golden.picture(30, 20)
    first.save(animation, "PNG", save_all=True, append_images=[first.rotate(180)], default_image=False, duration=50)
    out["animated.png"] = animation.getvalue()
    animation = io.BytesIO()
    first.save(animation, "PNG", save_all=True, append_images=[first.rotate(180), first.rotate(90)], default_image=True, duration=50)
    out["animated_default.png"] = animation.getvalue()
    return out


def right(row, data):
    """Puts the right digests in where Pillow's are not."""
    image = Image.open(io.BytesIO(data))
    depth = data[24]
    key = image.info.get("transparency")
    if image.mode == "I;16":
        samples = image.tobytes()
        plain = Image.frombytes("L", image.size, samples[1::2])
        alpha = bytes(0 if int.from_bytes(samples[i:i + 2], "little") == key else 255 for i in range(0, len(samples), 2))
        laid = plain.convert("RGBA")
        laid.putalpha(Image.frombytes("L", image.size, alpha))
        row["sha256"], row["over"] = golden.digest(plain.convert("RGB")), golden.digest(golden.over(laid))
    elif depth == 16 and key is not None:
        row["over"] = ""  # Pillow has no RGB of 16 bits to compare with
    elif depth < 8 and data[25] == 0 and key is not None:
        scaled = (key & ((1 << depth) - 1)) * 255 // ((1 << depth) - 1)
        image = image.convert("L")
        laid = image.convert("RGBA")
        laid.putalpha(image.point(lambda v: 0 if v == scaled else 255))
        row["over"] = golden.digest(golden.over(laid))
    return row


if __name__ == "__main__":
    golden.save_all(HERE / "png", files())
    golden.write(HERE / "png" / "golden.json", [right(golden.row(n, d), d) for n, d in sorted(files().items())])
    root = subprocess.run(["go", "env", "GOROOT"], check=True, capture_output=True, text=True).stdout.strip()
    suite = sorted((pathlib.Path(root) / "src/image/png/testdata/pngsuite").glob("*.png"))
    golden.write(HERE / "png" / "pngsuite.json", [right(golden.row(p.name, p.read_bytes()), p.read_bytes()) for p in suite])
