"""Writes presets/golden.json: what the libraries themselves make of images, for
the presets of the backend "image".

    pip install pillow==13.0.0 numpy torch==2.15.0 torchvision==0.29.2 timm==1.0.31 \
        keras==3.15.1 ultralytics==8.4.190 opencv-python-headless==5.0.0.93
    KERAS_BACKEND=torch python services/preprocess/testdata/make_presets.py

Each row has the SHA-256 of the tensor's bytes in little-endian float32 (and
float16 where the library can give it), and a few of its numbers, so that a
difference can be judged. Rows of "grey" are Pillow's, of its convert("L").
"""

import hashlib
import json
import os
import pathlib

os.environ.setdefault("KERAS_BACKEND", "torch")

import numpy as np
import torch
from keras.applications.imagenet_utils import preprocess_input
from keras.utils import img_to_array, load_img
from PIL import Image
from timm.data import create_transform
from torchvision.transforms._presets import ImageClassification
from ultralytics.data.augment import LetterBox

HERE = pathlib.Path(__file__).parent
IMAGES = HERE.parents[2] / "testdata" / "images"

# Losslessly compressed, so that the decoders are no part of the question, and
# none of them turned by EXIF data: these libraries' loaders differ in that.
FILES = ["camera.png", "cat.gif", "coffee.bmp", "rocket.tiff"]

# Sizes of the image that synthetic() makes: odd, wide, tall, small.
SIZES = [(640, 427), (427, 640), (1000, 37), (37, 300), (100, 75), (1, 1)]


def synthetic(width, height):
    """The same image as in transform/golden_test.go."""
    x, y = np.meshgrid(np.arange(width), np.arange(height))
    planes = [(x * x * 31 + y * y * 17 + x * y * 7 + c * 85) % 251 for c in range(3)]
    return Image.fromarray(np.stack(planes, -1).astype(np.uint8))


def sources():
    for name in FILES:
        yield {"file": name}, Image.open(IMAGES / name).convert("RGB")
    for size in SIZES:
        yield {"width": size[0], "height": size[1]}, synthetic(*size)


def keras_caffe(image):
    path = HERE / "presets" / "keras.tmp.png"
    image.save(path)
    array = img_to_array(load_img(path, target_size=(224, 224)))
    path.unlink()
    return preprocess_input(array, mode="caffe", data_format="channels_last")


def yolo_letterbox(image):
    """ultralytics.engine.predictor: BGR as OpenCV reads it, letterboxed, turned
    into RGB planes, divided by 255."""
    boxed = LetterBox(new_shape=(320, 320), auto=False)(image=np.asarray(image)[..., ::-1])
    planes = torch.from_numpy(boxed)[None].permute(0, 3, 1, 2).contiguous().flip(1)
    return planes.float().div_(255)[0].numpy(), planes.half().div_(255)[0].numpy()


torchvision_imagenet = ImageClassification(crop_size=224)
timm = create_transform((3, 224, 224), is_training=False, interpolation="bicubic", crop_pct=0.875)


def grey(image):
    return np.asarray(image.convert("L").resize((60, 40), Image.Resampling.BICUBIC))


def row(preset, source, tensor, half=None):
    tensor = np.ascontiguousarray(tensor, dtype="<f4")
    flat = tensor.reshape(-1)
    at = [int(i) for i in np.linspace(0, flat.size - 1, 12)]
    made = {
        "preset": preset, **source, "shape": list(tensor.shape), "at": at,
        "values": [float(flat[i]) for i in at], "sha256": hashlib.sha256(tensor.tobytes()).hexdigest(),
    }
    if half is not None:
        made["sha256_fp16"] = hashlib.sha256(np.ascontiguousarray(half, dtype="<f2").tobytes()).hexdigest()
    return made


def rows():
    for source, image in sources():
        yield row("torchvision_imagenet", source, torchvision_imagenet(image).numpy())
        yield row("timm", source, timm(image).numpy())
        yield row("keras_caffe", source, keras_caffe(image))
        yield row("yolo_letterbox", source, *yolo_letterbox(image))
        yield row("grey", source, grey(image))


lines = ",\n".join(json.dumps(r) for r in rows())
(HERE / "presets" / "golden.json").write_text("[\n" + lines + "\n]\n")
