"""Writes the TIFF samples of this module, and what Pillow makes of them. Needs
Pillow 13 (pip install pillow==13.0.0) and tiffcp (Debian's libtiff-tools) for
fax and JPEG data.

    python services/preprocess/testdata/make_tiff.py
"""

import hashlib
import io
import json
import pathlib
import struct
import subprocess
import tempfile
import zlib

from PIL import Image, ImageOps

HERE = pathlib.Path(__file__).parent / "tiff"
W, H = 29, 23
NONE, LZW, DEFLATE, PACKBITS, OLD_DEFLATE = 1, 5, 8, 32773, 32946

CLIPS = "Pillow clips 16-bit grey at 255, we keep the upper byte"
NEGATIVE = CLIPS + ", and it does not invert where white is zero"
REFUSES = "Pillow refuses it"
PLANES = "Pillow forgets the depth, the order of bits and the inversion of planes that are not packed"
# Where we differ from Pillow, and why. Each has pixels that are made here.
DIFFERENT = {
    "grey16.tif": CLIPS, "grey16_be.tif": CLIPS, "grey16_lzw_predictor.tif": CLIPS, "grey16_be_deflate_predictor.tif": CLIPS,
    "grey16_negative.tif": NEGATIVE,
    "grey16_alpha.tif": REFUSES, "grey_associated.tif": REFUSES, "grey_negative_alpha.tif": REFUSES,
    "rgb16_planar.tif": PLANES,
    "palette4_tiled_planar.tif": PLANES,
    "rgb16_lsb_first.tif": REFUSES, "cmyk_lsb_first.tif": REFUSES, "grey_unknown_negative.tif": REFUSES,
    "grey_alpha_planar.tif": REFUSES, "palette4_lsb_first.tif": REFUSES, "rgb_big_be.tif": REFUSES, "rgbx_planar.tif": REFUSES,
}


def color(x, y):
    return (x * 6 + y) % 256, (y * 8 + x * 3) % 256, (x * y + 40) % 256


def alpha(x, y):
    return (x * 7 + y * 3) % 256


def grey(x, y):
    return (x * 5 + y * 3) % 256


def deep(x, y):
    return tuple(v * 256 + (v * 7 + x) % 256 for v in color(x, y))


def associated(x, y):
    a = alpha(x, y)
    return tuple(v * a // 255 for v in color(x, y)) + (a,)


def bits_packed(values, bits):
    out, have, n = bytearray(), 0, 0
    for v in values:
        have, n = have << bits | v, n + bits
        if n == 8:
            out.append(have)
            have, n = 0, 0
    if n:
        out.append(have << (8 - n))
    return bytes(out)


def pack_row(values, bits, order):
    if bits == 16:
        return struct.pack(order + f"{len(values)}H", *values)
    return bytes(values) if bits == 8 else bits_packed(values, bits)


def predicted(values, step, bits):
    return values[:step] + [(v - left) % (1 << bits) for v, left in zip(values[step:], values)]


def packbits(data):
    out, i = bytearray(b"\x80"), 0
    while i < len(data):
        run = 1
        while run < 128 and i + run < len(data) and data[i + run] == data[i]:
            run += 1
        if run > 2:
            out += bytes((257 - run, data[i]))
            i += run
            continue
        n = 1
        while n < 128 and i + n < len(data) and not data[i + n:i + n + 3] == data[i + n:i + n + 1] * 3:
            n += 1
        out += bytes((n - 1,)) + data[i:i + n]
        i += n
    return bytes(out)


def lzw(data, old=False):
    codes, table, width, string = [(256, 9)], {}, 9, b""

    def reset():
        table.clear()
        table.update({bytes((i,)): i for i in range(256)})

    reset()
    following = 258
    for byte in data:
        longer = string + bytes((byte,))
        if longer in table:
            string = longer
            continue
        codes.append((table[string], width))
        table[longer] = following
        following += 1
        if following + (0 if old else 1) > (1 << width) and width < 12:
            width += 1
        if following >= 4093:
            codes.append((256, width))
            reset()
            following, width = 258, 9
        string = bytes((byte,))
    codes.append((table[string], width))
    following += 1
    if following + (0 if old else 1) > (1 << width) and width < 12:
        width += 1
    codes.append((257, width))
    have, n, out = 0, 0, bytearray()
    for code, width in codes:
        if old:
            have |= code << n
            n += width
            while n >= 8:
                out.append(have & 255)
                have, n = have >> 8, n - 8
        else:
            have, n = have << width | code, n + width
            while n >= 8:
                out.append(have >> (n - 8) & 255)
                n -= 8
                have &= (1 << n) - 1
    if n:
        out.append(have & 255 if old else have << (8 - n) & 255)
    return bytes(out)


PACK = {NONE: bytes, LZW: lzw, DEFLATE: zlib.compress, OLD_DEFLATE: zlib.compress, PACKBITS: packbits}
FLIP = bytes(int(f"{i:08b}"[::-1], 2) for i in range(256))


def write(blocks, tags, order="<", big=False, type_of=None):
    """A file of one page. The tags that say where the blocks are come to it."""
    word, size = ("Q", 8) if big else ("I", 4)
    tiled = 322 in tags
    body = (b"II" if order == "<" else b"MM") + struct.pack(order + "H", 43 if big else 42)
    body += struct.pack(order + "HH", 8, 0) if big else b""
    at = len(body) + size
    data, offsets = b"", []
    for block in blocks:
        offsets.append(at + len(data))
        data += block + bytes(len(block) % 2)
    tags = dict(tags)
    tags.setdefault(324 if tiled else 273, offsets)
    tags.setdefault(325 if tiled else 279, [len(b) for b in blocks])
    ifd_at = at + len(data)
    entry = 4 + 2 * size
    behind_at = ifd_at + (8 if big else 2) + entry * len(tags) + size
    ifd, behind = struct.pack(order + ("Q" if big else "H"), len(tags)), b""
    for tag, values in sorted(tags.items()):
        if isinstance(values, bytes):
            kind, stored, count = 7, values, len(values)
        else:
            values = values if isinstance(values, (list, tuple)) else [values]
            kind = (type_of or {}).get(tag, 16 if big and tag in (273, 324) else 4 if max(values) > 65535 or tag in (273, 279, 324, 325) else 3)
            stored = struct.pack(order + f"{len(values)}" + {1: "B", 3: "H", 4: "I", 16: "Q"}[kind], *values)
            count = len(values)
        ifd += struct.pack(order + "HH" + word, tag, kind, count)
        if len(stored) <= size:
            ifd += stored + bytes(size - len(stored))
        else:
            ifd += struct.pack(order + word, behind_at + len(behind))
            behind += stored + bytes(len(stored) % 2)
    return body + struct.pack(order + word, ifd_at) + data + ifd + struct.pack(order + word, 0) + behind


def page(pixel, bits, samples, photometric, compression=NONE, order="<", planar=1, tile=None, rows=None, predictor=1,
         fill=1, extra=(), tags=(), big=False, old=False, width=W, height=H, type_of=None):
    """pixel(x, y) gives the samples of a pixel, as a tuple."""
    bw, bh = tile or (width, rows or height)
    planes = [range(samples)] if planar == 1 else [[s] for s in range(samples)]
    blocks = []
    for plane in planes:
        for top in range(0, height, bh):
            for left in range(0, width, bw):
                block = b""
                for y in range(top, top + bh if tile else min(top + bh, height)):
                    values = [pixel(min(x, width - 1), min(y, height - 1))[s] for x in range(left, left + bw) for s in plane]
                    if predictor == 2:
                        values = predicted(values, len(plane), bits)
                    block += pack_row(values, bits, order)
                packed = lzw(block, True) if old else PACK[compression](block)
                blocks.append(packed.translate(FLIP) if fill == 2 else packed)
    all_tags = {256: width, 257: height, 258: [bits] * samples, 259: compression, 262: photometric, 277: samples}
    if planar != 1:
        all_tags[284] = planar
    if tile:
        all_tags.update({322: bw, 323: bh})
    elif rows:
        all_tags[278] = rows
    if predictor != 1:
        all_tags[317] = predictor
    if fill != 1:
        all_tags[266] = fill
    if extra:
        all_tags[338] = list(extra)
    all_tags.update(dict(tags))
    return write(blocks, {k: v for k, v in all_tags.items() if v is not None}, order, big, type_of)


def colors(n):
    table = [((i * 37 + 5) % 256, (i * 91 + 200) % 256, (i * 13 + 77) % 256) for i in range(n)]
    return table, [t[c] * 256 + i % 256 for c in range(3) for i, t in enumerate(table)]


def one(f, modulus=256):
    return lambda x, y: (f(x, y) % modulus,)


def paletted(bits, used=None, n=None, **more):
    n = n or 1 << bits
    return page(one(lambda x, y: x // 2 + y * 3, used or n), bits, 1, 3, tags={320: colors(n)[1]}, **more)


def cmyk(x, y):
    return color(x, y) + ((x * 2 + y) % 200,)


def cmyk_rgb(x, y):
    c, light = cmyk(x, y), 255 - cmyk(x, y)[3]

    def multiplied(v):
        t = v * light + 128
        return ((t >> 8) + t) >> 8

    return tuple(light - multiplied(v) for v in c[:3])


def straight(v, a):
    return min(v * 255 // a, 255) if a else 0


RGBA = lambda x, y: color(x, y) + (alpha(x, y),)
DEEP_GREY = lambda x, y: (grey(x, y) * 256 + (x * 31 + y) % 256,)
LA = lambda x, y: (grey(x, y), alpha(x, y))
grey3 = lambda x, y: (grey(x, y),) * 3
LINE = one(lambda x, y: (x * x // 9 + y // 2) % 7 < 3)

SAMPLES = {
    "rgb.tif": page(color, 8, 3, 2),
    "rgb_be.tif": page(color, 8, 3, 2, order=">"),
    "rgb_big.tif": page(color, 8, 3, 2, big=True, rows=8),
    "rgb_big_be.tif": page(color, 8, 3, 2, big=True, rows=8, order=">"),
    "rgb_strips.tif": page(color, 8, 3, 2, rows=4),
    "rgb_no_rows.tif": page(color, 8, 3, 2, compression=LZW),
    "rgb_rows_max.tif": page(color, 8, 3, 2, tags={278: 2**32 - 1}),
    "rgb_no_counts.tif": page(color, 8, 3, 2, rows=5, tags={279: None}),
    "rgb_bits_once.tif": page(color, 8, 3, 2, tags={258: 8}),
    "rgb_tiled.tif": page(color, 8, 3, 2, tile=(16, 16)),
    "rgb_tiled_deflate.tif": page(color, 8, 3, 2, tile=(32, 16), compression=DEFLATE, predictor=2),
    "rgb_one_tile.tif": page(color, 8, 3, 2, tile=(48, 32), compression=LZW),
    "rgb_tiled_lzw.tif": page(color, 8, 3, 2, tile=(16, 16), compression=LZW),
    "rgb_planar.tif": page(color, 8, 3, 2, planar=2),
    "rgb_planar_strips_lzw.tif": page(color, 8, 3, 2, planar=2, rows=7, compression=LZW, predictor=2),
    "rgb_planar_tiled.tif": page(color, 8, 3, 2, planar=2, tile=(16, 32), compression=DEFLATE),
    "rgb_lsb_first.tif": page(color, 8, 3, 2, fill=2),
    "rgb_lsb_first_lzw.tif": page(color, 8, 3, 2, fill=2, rows=6, compression=LZW),
    "rgb_lsb_first_planar.tif": page(color, 8, 3, 2, fill=2, planar=2, compression=PACKBITS),
    "rgb_packbits.tif": page(color, 8, 3, 2, rows=6, compression=PACKBITS),
    "rgb_lzw.tif": page(color, 8, 3, 2, rows=6, compression=LZW),
    "rgb_lzw_predictor.tif": page(color, 8, 3, 2, rows=6, compression=LZW, predictor=2),
    "rgb_lzw_old.tif": page(color, 8, 3, 2, rows=9, compression=LZW, old=True),
    "rgb_lzw_long.tif": page(lambda x, y: ((x * x * 7 + y * y * 13 + x * y) % 256, (x * 11 ^ y * 5) % 256, (x * y * 3) % 256),
                             8, 3, 2, compression=LZW, width=61, height=53),
    "rgb_lzw_flat.tif": page(lambda x, y: (7, 7, 7), 8, 3, 2, compression=LZW, width=211, height=97),
    "rgb_lzw_old_flat.tif": page(lambda x, y: (7, 7, 7), 8, 3, 2, compression=LZW, old=True, width=97, height=53),
    "rgb_deflate.tif": page(color, 8, 3, 2, rows=10, compression=DEFLATE),
    "rgb_deflate_old.tif": page(color, 8, 3, 2, rows=10, compression=OLD_DEFLATE, predictor=2),
    "rgb_predictor_ignored.tif": page(color, 8, 3, 2, compression=PACKBITS, tags={317: 2}),
    "rgb_orientation_6.tif": page(color, 8, 3, 2, rows=6, tags={274: 6}),
    "rgb_orientation_7_lzw.tif": page(color, 8, 3, 2, rows=6, tags={274: 7}, compression=LZW),
    "rgba.tif": page(RGBA, 8, 4, 2, extra=(2,)),
    "rgba_unsaid.tif": page(RGBA, 8, 4, 2),
    "rgba_corel.tif": page(RGBA, 8, 4, 2, extra=(999,)),
    "rgba_associated.tif": page(associated, 8, 4, 2, extra=(1,)),
    "rgba_associated_lzw.tif": page(associated, 8, 4, 2, extra=(1,), compression=LZW, predictor=2, tile=(16, 16)),
    "rgba_planar.tif": page(RGBA, 8, 4, 2, extra=(2,), planar=2),
    "rgba_planar_associated.tif": page(associated, 8, 4, 2, extra=(1,), planar=2, compression=LZW),
    "rgbx.tif": page(RGBA, 8, 4, 2, extra=(0,)),
    "rgbx_planar.tif": page(RGBA, 8, 4, 2, extra=(0,), planar=2),
    "rgbax.tif": page(lambda x, y: RGBA(x, y) + (9,), 8, 5, 2, extra=(2, 0), compression=LZW),
    "rgb_associated_xx.tif": page(lambda x, y: associated(x, y) + (9, 8), 8, 6, 2, extra=(1, 0, 0)),
    "rgbxxx.tif": page(lambda x, y: RGBA(x, y) + (9, 8), 8, 6, 2, extra=(0, 0, 0), compression=DEFLATE),
    "rgb16.tif": page(deep, 16, 3, 2),
    "rgb16_be.tif": page(deep, 16, 3, 2, order=">"),
    "rgb16_lzw_predictor.tif": page(deep, 16, 3, 2, compression=LZW, predictor=2, rows=9),
    "rgb16_be_deflate_predictor.tif": page(deep, 16, 3, 2, compression=DEFLATE, predictor=2, order=">", tile=(16, 16)),
    "rgb16_planar.tif": page(deep, 16, 3, 2, planar=2),
    "rgb16_planar_deflate_predictor.tif": page(deep, 16, 3, 2, planar=2, compression=DEFLATE, predictor=2),
    "rgb16_lsb_first.tif": page(deep, 16, 3, 2, fill=2),
    "rgba16.tif": page(lambda x, y: deep(x, y) + (alpha(x, y) * 256,), 16, 4, 2, extra=(2,)),
    "rgba16_associated.tif": page(lambda x, y: tuple(v * 256 + 77 for v in associated(x, y)), 16, 4, 2, extra=(1,)),
    "rgbx16_be.tif": page(lambda x, y: deep(x, y) + (alpha(x, y) * 256,), 16, 4, 2, extra=(0,), order=">"),
    "grey.tif": page(one(grey), 8, 1, 1),
    "grey_signed.tif": page(one(grey), 8, 1, 1, tags={339: 2}),
    "grey_negative.tif": page(one(grey), 8, 1, 0),
    "grey_no_photometric.tif": page(one(grey), 8, 1, 0, tags={262: None}),
    "grey_lsb_first.tif": page(one(grey), 8, 1, 1, fill=2),
    "grey_lzw_predictor.tif": page(one(grey), 8, 1, 1, compression=LZW, predictor=2),
    "grey1.tif": page(LINE, 1, 1, 1),
    "grey1_negative.tif": page(LINE, 1, 1, 0),
    "grey1_lsb_first.tif": page(LINE, 1, 1, 1, fill=2),
    "grey1_packbits.tif": page(LINE, 1, 1, 0, compression=PACKBITS, fill=2, rows=8),
    "grey1_tiled.tif": page(LINE, 1, 1, 1, tile=(16, 16), compression=DEFLATE),
    "grey1_no_bits.tif": page(LINE, 1, 1, 1, tags={258: None, 277: None}),
    "grey2.tif": page(one(grey, 4), 2, 1, 1),
    "grey2_negative.tif": page(one(grey, 4), 2, 1, 0, compression=LZW),
    "grey2_lsb_first.tif": page(one(grey, 4), 2, 1, 1, fill=2),
    "grey4.tif": page(one(grey, 16), 4, 1, 1, compression=DEFLATE, rows=5),
    "grey4_negative.tif": page(one(grey, 16), 4, 1, 0),
    "grey16.tif": page(DEEP_GREY, 16, 1, 1),
    "grey16_be.tif": page(DEEP_GREY, 16, 1, 1, order=">"),
    "grey16_lzw_predictor.tif": page(DEEP_GREY, 16, 1, 1, compression=LZW, predictor=2),
    "grey16_be_deflate_predictor.tif": page(DEEP_GREY, 16, 1, 1, compression=DEFLATE, predictor=2, order=">"),
    "grey16_negative.tif": page(DEEP_GREY, 16, 1, 0),
    "grey_alpha.tif": page(LA, 8, 2, 1, extra=(2,)),
    "grey_unknown.tif": page(LA, 8, 2, 1, extra=(0,), compression=LZW),
    "grey_unknown_negative.tif": page(LA, 8, 2, 0, extra=(0,)),
    "grey_alpha_planar.tif": page(LA, 8, 2, 1, extra=(2,), planar=2),
    "grey_associated.tif": page(lambda x, y: (grey(x, y) * alpha(x, y) // 255, alpha(x, y)), 8, 2, 1, extra=(1,)),
    "grey_negative_alpha.tif": page(LA, 8, 2, 0, extra=(2,)),
    "grey16_alpha.tif": page(lambda x, y: DEEP_GREY(x, y) + (alpha(x, y) * 256,), 16, 2, 1, extra=(2,)),
    "palette1.tif": paletted(1),
    "palette2.tif": paletted(2, compression=LZW),
    "palette4.tif": paletted(4, compression=PACKBITS, rows=3),
    "palette4_lsb_first.tif": paletted(4, fill=2),
    "palette8.tif": paletted(8, compression=DEFLATE, predictor=2),
    "palette8_be_tiled.tif": paletted(8, order=">", tile=(16, 16)),
    "palette8_short.tif": paletted(8, used=50, n=50),
    "palette4_tiled_planar.tif": paletted(4, tile=(16, 16), planar=2),
    "palette_alpha.tif": page(lambda x, y: ((x + y) % 256, alpha(x, y)), 8, 2, 3, extra=(2,), tags={320: colors(256)[1]}),
    "palette_unknown.tif": page(lambda x, y: ((x + y) % 256, 5), 8, 2, 3, extra=(0,), tags={320: colors(256)[1]}),
    "cmyk.tif": page(cmyk, 8, 4, 5),
    "cmyk_lzw_predictor.tif": page(cmyk, 8, 4, 5, compression=LZW, predictor=2, tile=(32, 16)),
    "cmyk_planar.tif": page(cmyk, 8, 4, 5, planar=2),
    "cmyk_x.tif": page(lambda x, y: cmyk(x, y) + (3,), 8, 5, 5, extra=(0,)),
    "cmyk16.tif": page(lambda x, y: tuple(v * 256 + 99 for v in cmyk(x, y)), 16, 4, 5),
    "cmyk16_be.tif": page(lambda x, y: tuple(v * 256 + 99 for v in cmyk(x, y)), 16, 4, 5, order=">", compression=LZW),
    "cmyk_lsb_first.tif": page(cmyk, 8, 4, 5, fill=2),
}

# Tiles whose places stand in the tags of strips, as some writers have it.
SAMPLES["rgb_tiled_offsets_as_strips.tif"] = SAMPLES["rgb_tiled_lzw.tif"].replace(
    struct.pack("<H", 324), struct.pack("<H", 273)).replace(struct.pack("<H", 325), struct.pack("<H", 279))

# Made by libtiff: fax and JPEG data.
BY_TIFFCP = {
    "fax_g3.tif": ("line.tif", "-c", "g3:1d"),
    "fax_g3_fill.tif": ("line.tif", "-c", "g3:1d:fill", "-r", "8"),
    "fax_g3_2d.tif": ("line.tif", "-c", "g3:2d"),
    "fax_g3_2d_fill.tif": ("line.tif", "-c", "g3:2d:fill", "-r", "8"),
    "fax_g3_2d_lsb_first.tif": ("line.tif", "-c", "g3:2d", "-f", "lsb2msb"),
    "fax_g4.tif": ("line.tif", "-c", "g4"),
    "fax_g4_strips.tif": ("line.tif", "-c", "g4", "-r", "5"),
    "fax_g4_lsb_first.tif": ("line.tif", "-c", "g4", "-f", "lsb2msb"),
    "fax_g4_tiled.tif": ("line.tif", "-c", "g4", "-t", "-w", "16", "-l", "16"),
    "fax_g4_black_is_zero.tif": ("negative.tif", "-c", "g4"),
    "fax_g4_big.tif": ("line.tif", "-c", "g4", "-8"),
    "fax_g4_wide.tif": ("wide.tif", "-c", "g4"),
    "fax_g3_wide.tif": ("wide.tif", "-c", "g3:1d"),
    "fax_g3_2d_wide.tif": ("wide.tif", "-c", "g3:2d"),
    "jpeg_ycbcr.tif": ("photo.tif", "-c", "jpeg"),
    "jpeg_ycbcr_strips.tif": ("photo.tif", "-c", "jpeg", "-r", "16"),
    "jpeg_ycbcr_tiled.tif": ("photo.tif", "-c", "jpeg:60", "-t", "-w", "32", "-l", "16"),
    "jpeg_rgb.tif": ("photo.tif", "-c", "jpeg:r", "-r", "8"),
    "jpeg_rgb_planar.tif": ("photo.tif", "-c", "jpeg:r", "-p", "separate", "-r", "16"),
    "jpeg_rgb_tiled_be.tif": ("photo.tif", "-c", "jpeg:r:90", "-B", "-t", "-w", "16", "-l", "16"),
    "jpeg_ycbcr_big.tif": ("photo.tif", "-c", "jpeg", "-8", "-r", "16"),
    "jpeg_grey.tif": ("grey.tif", "-c", "jpeg"),
    "jpeg_grey_strips.tif": ("grey.tif", "-c", "jpeg", "-r", "8"),
    "jpeg_grey_negative.tif": ("negative_grey.tif", "-c", "jpeg"),
}
SOURCES = {
    "line.tif": page(LINE, 1, 1, 0), "negative.tif": page(LINE, 1, 1, 1), "photo.tif": page(color, 8, 3, 2),
    "grey.tif": page(one(grey), 8, 1, 1), "negative_grey.tif": page(one(grey), 8, 1, 0),
    "wide.tif": page(one(lambda x, y: y % 4 == 0 or y % 4 == 2 and x > 2700 or y % 4 == 3 and (x * x + y) % 97 < 40),
                     1, 1, 0, width=2803, height=11),
}


def by_tiffcp():
    with tempfile.TemporaryDirectory() as folder:
        for name, data in SOURCES.items():
            pathlib.Path(folder, name).write_bytes(data)
        for name, (source, *options) in BY_TIFFCP.items():
            subprocess.run(["tiffcp", *options, source, name], cwd=folder, check=True)
            yield name, pathlib.Path(folder, name).read_bytes()
    out = io.BytesIO()
    Image.open(io.BytesIO(SOURCES["line.tif"])).save(out, "TIFF", compression="tiff_ccitt")
    yield "fax_ccitt.tif", out.getvalue()
    wide = io.BytesIO()
    Image.open(io.BytesIO(SOURCES["wide.tif"])).save(wide, "TIFF", compression="tiff_ccitt")
    yield "fax_ccitt_wide.tif", wide.getvalue()


def inverted(f):
    return lambda x, y: tuple(255 - v for v in f(x, y))


OURS = {
    "grey16.tif": grey3, "grey16_be.tif": grey3, "grey16_lzw_predictor.tif": grey3, "grey16_be_deflate_predictor.tif": grey3,
    "grey16_negative.tif": inverted(grey3), "grey16_alpha.tif": grey3,
    "grey_associated.tif": lambda x, y: (straight(grey(x, y) * alpha(x, y) // 255, alpha(x, y)),) * 3,
    "grey_negative_alpha.tif": inverted(grey3), "grey_unknown_negative.tif": inverted(grey3),
    "rgb16_planar.tif": color, "rgb16_lsb_first.tif": color, "rgb_big_be.tif": color, "rgbx_planar.tif": color,
    "cmyk_lsb_first.tif": cmyk_rgb, "grey_alpha_planar.tif": grey3,
    "palette4_tiled_planar.tif": lambda x, y: colors(16)[0][(x // 2 + y * 3) % 16],
    "palette4_lsb_first.tif": lambda x, y: colors(16)[0][(x // 2 + y * 3) % 16],
}


def pillow(data):
    return ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")


def golden():
    for name, data in sorted([*SAMPLES.items(), *by_tiffcp()]):
        (HERE / name).write_bytes(data)
        try:
            image = pillow(data)
        except Exception as why:
            assert name in DIFFERENT, (name, why)
            image = Image.new("RGB", (W, H))
        rgb, width, height = image.tobytes(), image.width, image.height
        row = {"file": name, "width": width, "height": height}
        if name in DIFFERENT:
            ours = b"".join(bytes(OURS[name](x, y)) for y in range(H) for x in range(W))
            assert ours != rgb, name + " does not differ"
            rgb, row["differs"] = ours, DIFFERENT[name]
        row["sha256"] = hashlib.sha256(rgb).hexdigest()
        if name.startswith("jpeg"):
            row["jpeg"] = True
        yield row


HERE.mkdir(exist_ok=True)
(HERE / "golden.json").write_text("[\n" + ",\n".join(json.dumps(row) for row in golden()) + "\n]\n")
