"""Pillow's side of `make bench-preprocess`: reads orders from standard input, a
JSON document a line, and answers each (loadtest/bench/turns has the other end)."""

import hashlib
import io
import json
import pathlib
import sys
import time

import PIL
from PIL import Image, ImageOps

FILTERS = {f.name.lower(): f for f in Image.Resampling}


def shortest(width, height, size):
    """torchvision's Resize(size)."""
    if width <= height:
        return size, int(size * height / width)
    return int(size * width / height), size


def whole(task):
    """From the bytes of a file to the bytes of the tensor, as a loader does it."""
    size, crop, filter = task["size"], task["crop"], FILTERS[task["filter"]]

    def work(data):
        image = Image.open(io.BytesIO(data))
        if task.get("scaled"):
            image.draft("RGB", shortest(image.width, image.height, size))
        if task.get("upright"):
            image = ImageOps.exif_transpose(image)
        image = image.convert("RGB")
        image = image.resize(shortest(image.width, image.height, size), filter)
        left, top = round((image.width - crop) / 2), round((image.height - crop) / 2)
        return image.crop((left, top, left + crop, top + crop)).tobytes()

    return work, [pathlib.Path(file).read_bytes() for file in task["files"]], bytes


def resize(task):
    """From pixels in memory to pixels in memory."""
    filter = FILTERS[task["filter"]]

    def work(image):
        return image.resize(shortest(image.width, image.height, task["size"]), filter)

    return work, [Image.open(file).convert("RGB") for file in task["files"]], Image.Image.tobytes


def prepare(task):
    work, items, content = {"image": whole, "resize": resize}[task["kind"]](task)
    sums = [hashlib.sha256(content(work(item))).hexdigest() for item in items]
    return (work, items), {"prepared": {"sums": sums, "version": PIL.__version__}}


def turn(job, seconds, first):
    work, items = job
    count, begin, cpu = 0, time.perf_counter(), time.process_time()
    while count == 0 or time.perf_counter() - begin < seconds:
        work(items[(first + count) % len(items)])
        count += 1
    return {"turn": {"count": count, "wall": time.perf_counter() - begin, "cpu": time.process_time() - cpu}}


def main():
    job, done = None, 0
    for line in sys.stdin:
        order = json.loads(line)
        try:
            if "task" in order:
                job, answer = prepare(order["task"])
            else:
                answer = turn(job, order["seconds"], done)
                done += answer["turn"]["count"]
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


main()
