"""Writes GIF samples of every kind, and what Pillow makes of them. Needs Pillow 13
(pip install pillow==13.0.0).

    python services/preprocess/testdata/make_gif.py

Two rows are not Pillow's: it shows a frame with a grey palette of its own in the
colors of the other palette, and it reads codes that begin with 10 bits, which the
format does not have.
"""

import pathlib
import struct

import golden

W, H = 40, 30
PALETTE = bytes((i * k + 5 * k) % 256 for i in range(256) for k in (3, 17, 101))
GREYS = bytes(v for i in range(256) for v in (i, i, i))


def lzw(indices, bits, clear_first=True, clear_when_full=True, end=True, grow=True):
    """Codes as a GIF has them. Without growth, every pixel is a code of its own."""
    clear, stop = 1 << bits, (1 << bits) + 1
    codes, table, size, following = [], {}, bits + 1, stop + 1
    if clear_first:
        codes.append((clear, size))
    prefix = ()
    for index in indices:
        candidate = prefix + (index,)
        if len(candidate) == 1 or candidate in table:
            prefix = candidate
            continue
        codes.append((table.get(prefix, prefix[0]), size))
        if following < 4096:
            table[candidate] = following
            following += 1
            if following > (1 << size) and size < 12:
                size += 1
        elif clear_when_full:
            codes.append((clear, size))
            table, size, following = {}, bits + 1, stop + 1
        prefix = (index,)
    if prefix:
        codes.append((table.get(prefix, prefix[0]), size))
        if following == (1 << size) and size < 12:
            size += 1
    if end:
        codes.append((stop, size))
    return pack(codes)


def pack(codes):
    out, held, count = bytearray(), 0, 0
    for code, size in codes:
        held |= code << count
        count += size
        while count >= 8:
            out.append(held & 255)
            held, count = held >> 8, count - 8
    if count:
        out.append(held)
    return bytes(out)


def blocks(data, size=255):
    return b"".join(bytes([len(data[i:i + size])]) + data[i:i + size] for i in range(0, len(data), size)) + b"\0"


def table_flags(palette):
    return 0x80 | (len(palette) // 3).bit_length() - 2 if palette else 0


def indices(width, height, most, interlaced=False):
    rows = [[(x * x // 3 + y * 5 + x * y // 7) % most for x in range(width)] for y in range(height)]
    if interlaced:
        rows = rows[0::8] + rows[4::8] + rows[2::4] + rows[1::2]
    return [v for row in rows for v in row]


def control(transparent=None, disposal=0):
    flags = disposal << 2 | (transparent is not None)
    return b"!\xf9\4" + bytes([flags, 5, 0, transparent or 0, 0])


def frame(x=0, y=0, width=W, height=H, local=None, bits=8, most=None, interlaced=False, codes=None, size=255, **how):
    flags = table_flags(local) | (0x40 if interlaced else 0)
    head = b"," + struct.pack("<HHHHB", x, y, width, height, flags) + (local or b"")
    if codes is None:
        codes = lzw(indices(width, height, most or 1 << bits, interlaced), bits, **how)
    return head + bytes([bits]) + blocks(codes, size)


def gif(*parts, palette=PALETTE, background=0, width=W, height=H, end=b";"):
    head = b"GIF89a" + struct.pack("<HHBBB", width, height, table_flags(palette), background, 0)
    return head + (palette or b"") + b"".join(parts) + end


comment = b"!\xfe" + blocks(b"words about nothing " * 30)
small = dict(x=7, y=5, width=20, height=11)
plain = indices(W, H, 256)

FILES = {
    "plain.gif": gif(frame()),
    "two_colors.gif": gif(frame(bits=2, most=2), palette=PALETTE[:6]),
    "sixteen_colors.gif": gif(frame(bits=4), palette=PALETTE[:48]),
    "interlaced.gif": gif(frame(interlaced=True)),
    "interlaced_short.gif": gif(frame(interlaced=True, width=9, height=3)),
    "local_palette.gif": gif(frame(local=PALETTE[300:300 + 384], bits=7)),
    "local_palette_only.gif": gif(frame(local=PALETTE[300:300 + 384], bits=7), palette=None),
    "no_palette.gif": gif(frame(), palette=None),
    "greys.gif": gif(frame(), palette=GREYS),
    "greys_short.gif": gif(frame(), palette=GREYS[:48]),
    "greys_local.gif": gif(frame(local=GREYS)),
    "beyond_palette.gif": gif(frame(), palette=PALETTE[:96]),
    "transparent.gif": gif(control(9), frame()),
    "transparent_greys.gif": gif(control(9), frame(), palette=None),
    "transparent_beyond.gif": gif(control(200), frame(**small), palette=PALETTE[:96]),
    "transparent_twice.gif": gif(control(9), control(), frame()),
    "offset.gif": gif(frame(**small), background=3),
    "offset_transparent.gif": gif(control(4), frame(**small), background=3),
    "offset_disposal.gif": gif(control(None, 2), frame(**small), background=3),
    "offset_disposal_transparent.gif": gif(control(4, 3), frame(**small), background=3),
    "background_beyond.gif": gif(frame(**small), palette=PALETTE[:12], background=200),
    "animation.gif": gif(control(None, 2), frame(**small), control(5), frame(local=PALETTE[30:36])),
    "cut_in_second.gif": gif(frame(), frame())[:-300],
    "comments.gif": gif(comment, control(7), comment, b"!\xff\x0bNETSCAPE2.0\3\1\0\0\0", frame()),
    "odd_bytes.gif": gif(b"\0\0", comment, b"\0\x99", frame()),
    "no_trailer.gif": gif(frame(), end=b""),
    "junk_behind.gif": gif(frame(), end=b";junk"),
    "small_blocks.gif": gif(frame(size=7)),
    "no_clear.gif": gif(frame(clear_first=False)),
    "no_end.gif": gif(frame(end=False)),
    "full_table.gif": gif(frame(width=200, height=100, clear_when_full=False), width=200, height=100),
    "full_table_cleared.gif": gif(frame(width=200, height=100), width=200, height=100),
    "clear_often.gif": gif(frame(codes=pack([c for v in plain for c in ((256, 9), (v, 9))] + [(257, 9)]))),
    "data_behind.gif": gif(frame(codes=lzw(plain + plain[:200], 8))),
    "data_missing.gif": gif(frame(codes=lzw(plain[:700], 8))),
    "bad_code.gif": gif(frame(codes=pack([(256, 9), (1, 9), (400, 9)] + [(2, 9)] * 200))),
    "cut.gif": gif(frame())[:-200],
    "no_frame.gif": gif(comment),
    "code_bits_1.gif": gif(frame(bits=1, most=2), palette=PALETTE[:6]),
    "code_bits_9.gif": gif(frame(bits=9, codes=lzw(plain, 9))),
    "empty_frame.gif": gif(frame(width=0, height=5)),
}

HERE = pathlib.Path(__file__).parent / "gif"
golden.save_all(HERE, FILES)
rows = {name: golden.row(name, data) for name, data in sorted(FILES.items())}
rows["greys_local.gif"] = dict(rows["greys.gif"], file="greys_local.gif")
rows["code_bits_9.gif"] = {"file": "code_bits_9.gif"}
golden.write(HERE / "golden.json", rows.values())
