"""What the scripts that make golden files have in common: what Pillow 13 makes of
a file, as digests of RGB bytes.

`sha256` is that of convert("RGB"), `over` that of the picture laid over BACKGROUND
by its alpha. A file that Pillow refuses has neither.
"""

import hashlib
import io
import json
import pathlib
import warnings

from PIL import Image

BACKGROUND = (10, 200, 90)

warnings.simplefilter("ignore")


def digest(image):
    return hashlib.sha256(image.tobytes()).hexdigest()


def over(image):
    image = image.convert("RGBA")
    out = Image.new("RGB", image.size, BACKGROUND)
    out.paste(image, mask=image.getchannel("A"))
    return out


def row(name, data):
    """The golden row of one file."""
    try:
        plain = Image.open(io.BytesIO(data)).convert("RGB")
        laid = over(Image.open(io.BytesIO(data)))
    except Exception as error:
        print(name, "refused:", error)
        return {"file": name}
    return {
        "file": name, "width": plain.width, "height": plain.height,
        "sha256": digest(plain), "over": digest(laid),
    }


def write(path, rows):
    lines = ",\n".join(json.dumps(r) for r in rows)
    path.write_text("[\n" + lines + "\n]\n")


def save_all(folder, files):
    """Writes the sample files and their golden.json."""
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    write(folder / "golden.json", [row(name, data) for name, data in sorted(files.items())])


def picture(width, height, mode="RGBA"):
    """Smooth areas, edges, noise and every kind of alpha."""
    image = Image.new("RGBA", (width, height))
    state = 12345
    for y in range(height):
        for x in range(width):
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            noise = (state >> 16) % 9
            red = x * 255 // max(width - 1, 1)
            green = y * 255 // max(height - 1, 1)
            blue = (40 if (x // 7 + y // 5) % 2 else 220) + noise
            alpha = (0, 255, (x * 37 + y * 11) % 256, 128)[(x // 9 + y // 6) % 4]
            image.putpixel((x, y), (red, green, blue, alpha))
    return image.convert(mode)
