"""Writes the WebP samples and what Pillow makes of them. Needs Pillow 13
(pip install pillow==13.0.0).

    python services/preprocess/testdata/make_webp.py
"""

import io
import pathlib
import struct

import golden


def save(image, **options):
    out = io.BytesIO()
    image.save(out, "WEBP", **options)
    return out.getvalue()


def chunk(name, data):
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def riff(*chunks, size=None):
    body = b"WEBP" + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(body) if size is None else size) + body


def u24(value):
    return struct.pack("<I", value)[:3]


def vp8x(flags, width, height):
    return chunk(b"VP8X", bytes([flags, 0, 0, 0]) + u24(width - 1) + u24(height - 1))


def chunks(data, *names):
    """The chunks of a file with these names."""
    at, out = 12, b""
    while at + 8 <= len(data):
        size = struct.unpack_from("<I", data, at + 4)[0]
        end = at + 8 + size + size % 2
        if data[at:at + 4] in names:
            out += data[at:end]
        at = end
    return out


def frame(data, x, y, width, height, flags=0):
    head = u24(x // 2) + u24(y // 2) + u24(width - 1) + u24(height - 1) + u24(100) + bytes([flags])
    return chunk(b"ANMF", head + chunks(data, b"ALPH", b"VP8 ", b"VP8L"))


def anim(color):
    return chunk(b"ANIM", bytes(color) + b"\0\0")


W, H = 75, 53
rgba, rgb = golden.picture(W, H), golden.picture(W, H, "RGB")
small = golden.picture(31, 22)
lossy, lossy_alpha = save(rgb, quality=80), save(rgba, quality=60)
lossless = save(rgba, lossless=True, exact=True)
tiny_lossy, tiny_lossless = save(small, quality=90), save(small, lossless=True, exact=True)
ALPHA, ANIMATION = 0x10, 0x02

golden.save_all(pathlib.Path(__file__).parent / "webp", {
    "lossy.webp": lossy,
    "lossy_even.webp": save(golden.picture(64, 48, "RGB"), quality=30),
    "lossy_one_pixel.webp": save(golden.picture(1, 1, "RGB"), quality=80),
    "lossy_one_column.webp": save(golden.picture(1, 40, "RGB"), quality=80),
    "lossy_method0.webp": save(rgb, quality=50, method=0),
    "lossy_alpha.webp": lossy_alpha,
    "lossy_alpha_coarse.webp": save(rgba, quality=60, alpha_quality=20),
    "lossless_rgb.webp": save(rgb, lossless=True),
    "lossless_exact.webp": lossless,
    "lossless_not_exact.webp": save(rgba, lossless=True, exact=False),
    "lossless_palette.webp": save(rgba.quantize(12).convert("RGBA"), lossless=True, exact=True),
    "lossless_two_colors.webp": save(rgb.convert("1").convert("RGB"), lossless=True),
    "animated.webp": save(rgba, save_all=True, append_images=[rgba.rotate(180)], quality=70, duration=50),
    "animated_lossless.webp": save(rgba, save_all=True, append_images=[rgba.rotate(180)], lossless=True, duration=50),
    "animated_offset_lossy.webp": riff(vp8x(ALPHA | ANIMATION, W, H), anim((9, 8, 7, 255)), frame(tiny_lossy, 12, 6, 31, 22)),
    "animated_offset_lossless.webp": riff(vp8x(ALPHA | ANIMATION, W, H), anim((9, 8, 7, 255)), frame(tiny_lossless, 44, 30, 31, 22, 2)),
    "animated_offset_opaque.webp": riff(vp8x(ANIMATION, W, H), anim((9, 8, 7, 255)), frame(save(small.convert("RGB")), 0, 0, 31, 22)),
    "animated_alpha_unannounced.webp": riff(vp8x(ANIMATION, W, H), anim((9, 8, 7, 255)), frame(tiny_lossy, 2, 2, 31, 22)),
    "animated_lossless_unannounced.webp": riff(vp8x(ANIMATION, W, H), anim((9, 8, 7, 255)), frame(tiny_lossless, 2, 2, 31, 22)),
    "extended_alpha_unannounced.webp": riff(vp8x(0, W, H), chunks(lossy_alpha, b"ALPH", b"VP8 ")),
    "extended_alpha_announced.webp": riff(vp8x(ALPHA, W, H), chunks(lossy, b"VP8 ")),
    "extended_lossless_unannounced.webp": riff(vp8x(0, W, H), chunks(lossless, b"VP8L")),
    "extended_unknown_chunks.webp": riff(vp8x(ALPHA, W, H), chunk(b"ABCD", b"12345"), chunks(lossy_alpha, b"ALPH"), chunk(b"EFGH", b"xyz"), chunks(lossy_alpha, b"VP8 "), chunk(b"IJKL", b"")),
    "alpha_without_extension.webp": riff(chunks(lossy_alpha, b"ALPH", b"VP8 ")),
    "alpha_corrupt.webp": riff(vp8x(ALPHA, W, H), chunk(b"ALPH", b"\x01\xff\xff\xff\xff"), chunks(lossy_alpha, b"VP8 ")),
    "junk_behind.webp": lossy + b"junk behind the file",
    "size_too_large.webp": lossy[:4] + struct.pack("<I", len(lossy) + 1000) + lossy[8:],
    "size_too_small.webp": lossy[:4] + struct.pack("<I", 40) + lossy[8:],
    "two_pictures.webp": riff(vp8x(0, W, H), chunks(lossy, b"VP8 "), chunks(lossless, b"VP8L")),
})
