"""A colour for each vertex of a glTF primitive: base colour factor, times texture, times vertex colour.

Enough to recognise a character, not a renderer: the texture is read at the vertices only, with Pillow where that is
installed (it comes with the studio); without it the factor alone decides.
"""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...compute.types import Floats
from .accessors import Accessors
from .checked_json import JsonObject
from .document import Document

MAX_PIXELS = 2**26  # of one texture; a small file can unpack to a huge picture
PICTURES = ("PNG", "JPEG", "WEBP")


class Colours:
    """Reads vertex colours, each texture once."""

    def __init__(self, document: Document, accessors: Accessors) -> None:
        self.document, self.accessors = document, accessors
        self.materials = document.root.items("materials")
        self.textures = document.root.items("textures")
        self.images = document.root.items("images")
        self.pictures: dict[int, NDArray[np.uint8] | None] = {}
        self.notes: list[str] = []

    def of(self, primitive: JsonObject, attributes: JsonObject, count: int) -> NDArray[np.uint8]:
        """(count, 4) RGBA in sRGB of a primitive's vertices."""
        linear = np.ones((count, 4))
        index = primitive.index("material", len(self.materials), "materials")
        opaque = True
        if index is not None:
            material = self.materials[index]
            opaque = material.text("alphaMode", "OPAQUE") != "BLEND"
            surface = material.object("pbrMetallicRoughness")
            linear *= np.clip(surface.numbers("baseColorFactor", 4, (1.0, 1.0, 1.0, 1.0)), 0.0, 1.0)
            if surface.has("baseColorTexture"):
                linear *= self._textured(surface.object("baseColorTexture"), attributes, count)
        painted = attributes.index("COLOR_0", len(self.accessors), "accessors")
        if painted is not None:
            own = np.clip(self.accessors.floats(painted, ("VEC3", "VEC4"), attributes, "COLOR_0"), 0.0, 1.0)
            if len(own) != count:
                attributes.fail(f"has {len(own)} colours for {count} vertices", "COLOR_0")
            linear[:, : own.shape[1]] *= own
        if opaque:
            linear[:, 3] = 1.0
        return to_srgb(linear)

    def _textured(self, reference: JsonObject, attributes: JsonObject, count: int) -> Floats:
        """(count, 4) linear colours of a texture at the vertices; ones where it cannot be read."""
        texture = reference.index("index", len(self.textures), "textures")
        channel = f"TEXCOORD_{reference.integer('texCoord', high=8, default=0)}"
        at = attributes.index(channel, len(self.accessors), "accessors")
        if texture is None or at is None:
            return np.ones((1, 4))
        image = self.textures[texture].index("source", len(self.images), "images")
        if image is None:
            return np.ones((1, 4))
        if image not in self.pictures:
            self.pictures[image] = self._picture(self.images[image])
        picture = self.pictures[image]
        if picture is None:
            return np.ones((1, 4))
        coordinates = self.accessors.floats(at, ("VEC2",), attributes, channel)
        if len(coordinates) != count:
            attributes.fail(f"has {len(coordinates)} texture coordinates for {count} vertices", channel)
        height, width = picture.shape[:2]
        size = np.array([width, height])
        column, row = (np.floor((coordinates % 1.0) * size).astype(np.int64) % size).T  # textures repeat
        return from_srgb(picture[row, column])

    def _picture(self, image: JsonObject) -> NDArray[np.uint8] | None:
        """The pixels (H, W, 4) of an image, or None with a note."""
        try:
            from PIL import Image
        except ImportError:
            self._note("textures need Pillow (pip install 'posable[studio]'); plain colours are shown")
            return None
        view = image.index("bufferView", len(self.accessors.views), "buffer views")
        if view is not None:
            data = bytes(self.accessors.view_bytes(view))
        elif self.document.has_file(image, image.text("uri")):
            data = self.document.resource(image, image.text("uri"))
        else:
            self._note(f"{image.where} is not next to the file; plain colours are shown")
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", Image.DecompressionBombWarning)
                picture = Image.open(io.BytesIO(data), formats=PICTURES)
                if picture.size[0] * picture.size[1] > MAX_PIXELS:
                    raise ValueError(f"{picture.size} pixels")
                data = picture.convert("RGBA").tobytes()
            return np.frombuffer(data, np.uint8).reshape(picture.size[1], picture.size[0], 4)
        except Exception as error:  # Pillow lets many kinds out of its decoders, and a texture is no reason to fail
            self._note(f"{image.where} cannot be read as a picture ({type(error).__name__}); plain colours are shown")
            return None

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def to_srgb(linear: Floats) -> NDArray[np.uint8]:
    """Linear colours 0 to 1 (..., 4) as sRGB bytes; alpha stays linear."""
    curved = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * np.maximum(linear, 0.0031308) ** (1 / 2.4) - 0.055)
    curved[..., 3] = linear[..., 3]
    return np.asarray(np.rint(255 * np.clip(curved, 0.0, 1.0)), dtype=np.uint8)


def from_srgb(colours: NDArray[Any]) -> Floats:
    """SRGB bytes (..., 4) as linear colours 0 to 1; alpha stays linear."""
    fraction = colours / 255.0
    linear = np.where(fraction <= 0.04045, fraction / 12.92, ((fraction + 0.055) / 1.055) ** 2.4)
    linear[..., 3] = fraction[..., 3]
    return np.asarray(linear, dtype=np.float64)
