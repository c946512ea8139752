"""FBX files for the tests, written here: the same records as binary (both widths, packed or not) and as text.

A record is (name, values, records below); an array is a NumPy array among the values.
"""

import struct
import zlib

import numpy as np

TICKS = 46_186_158_000
CODES = {"f": b"f", "d": b"d", "i4": b"i", "i8": b"l"}


def binary(records, version=7400, packed=False):
    wide = version >= 7500
    parts, length = [], 27
    head = b"Kaydara FBX Binary  \x00\x1a\x00" + struct.pack("<I", version)
    for record in records:
        parts.append(_binary_record(record, length, wide, packed))
        length += len(parts[-1])
    return head + b"".join(parts) + b"\0" * (25 if wide else 13)


def _binary_record(record, at, wide, packed):
    name, values, below = record
    form = "<QQQB" if wide else "<IIIB"
    plain = b"".join(_binary_value(value, packed) for value in values)
    head = struct.calcsize(form) + len(name)
    parts, length = [], 0
    for one in below:
        parts.append(_binary_record(one, at + head + len(plain) + length, wide, packed))
        length += len(parts[-1])
    inner = b"".join(parts) + (b"\0" * struct.calcsize(form) if below else b"")
    end = at + head + len(plain) + len(inner)
    return struct.pack(form, end, len(values), len(plain), len(name)) + name.encode() + plain + inner


def _binary_value(value, packed):
    if isinstance(value, np.ndarray):
        raw = np.ascontiguousarray(value).tobytes()
        kind = {"float32": b"f", "float64": b"d", "int32": b"i", "int64": b"l"}[value.dtype.name]
        data = zlib.compress(raw) if packed else raw
        return kind + struct.pack("<III", len(value), int(packed), len(data)) + data
    if isinstance(value, str):
        kind, _, name = value.rpartition("::")
        data = f"{name}\0\1{kind}".encode() if kind else value.encode()
        return b"S" + struct.pack("<I", len(data)) + data
    if isinstance(value, float):
        return b"D" + struct.pack("<d", value)
    return b"L" + struct.pack("<q", value)


def text(records):
    lines = ["; FBX 7.4.0 project file", "; written by a test", ""]
    for record in records:
        _text_record(record, 0, lines)
    return ("\n".join(lines) + "\n").encode()


def _text_record(record, depth, lines):
    name, values, below = record
    array = next((value for value in values if isinstance(value, np.ndarray)), None)
    if array is not None:
        # Slopes stand as the whole numbers that have their bits, as in the files of Autodesk's programs.
        shown = array.view(np.int32) if array.dtype == np.float32 and name == "KeyAttrDataFloat" else array
        body = ",".join(repr(one) for one in shown.tolist())
        lines.append("\t" * depth + f"{name}: *{len(array)} {{\n\ta: {body}\n" + "\t" * depth + "}")
        return
    shown = ", ".join(f'"{value}"' if isinstance(value, str) else repr(value) for value in values)
    lines.append("\t" * depth + f"{name}: {shown}" + (" {" if below else ""))
    for one in below:
        _text_record(one, depth + 1, lines)
    if below:
        lines.append("\t" * depth + "}")


def prop(name, *values):
    return ("P", [name, "", "", "A", *values], [])


def properties(**given):
    """Properties by their names without blanks: LclTranslation is "Lcl Translation"."""
    rows = []
    for name, value in given.items():
        values = value if isinstance(value, tuple | list | np.ndarray) else (value,)
        rows.append(prop(name.replace("Lcl", "Lcl "), *(v if isinstance(v, int) else float(v) for v in values)))
    return ("Properties70", [], rows)


class Scene:
    """Collects objects and connections, and gives the records of a file."""

    def __init__(self, version=7400, **settings):
        self.version, self.settings = version, settings
        self.objects, self.connections, self.last = [], [], 1000

    def add(self, kind, name, sort="", *below, **given):
        self.last += 1
        rows = [properties(**given)] if given else []
        self.objects.append((kind, [self.last, f"{kind}::{name}", sort], [*rows, *below, ("Version", [1], [])]))
        return self.last

    def connect(self, one, other, name=None):
        values = ["OO", one, other] if name is None else ["OP", one, other, name]
        self.connections.append(("C", values, []))

    def model(self, name, parent=0, sort="LimbNode", **given):
        number = self.add("Model", name, sort, **given)
        self.connect(number, parent)
        return number

    def take(self, name="Walk", start=0.0, stop=0.0):
        stack = self.add("AnimationStack", name, LocalStart=round(start * TICKS), LocalStop=round(stop * TICKS))
        return stack, self.layer(stack)

    def layer(self, stack, name="Base", **given):
        layer = self.add("AnimationLayer", name, **given)
        self.connect(layer, stack)
        return layer

    def animate(self, layer, model, path, times, values, **keys):
        """Curves for the three axes of a property: times (K,) [s], values (K, 3)."""
        node = self.add("AnimationCurveNode", path[0], "", **{f"d|{axis}": 0.0 for axis in "XYZ"})
        self.connect(node, layer)
        self.connect(node, model, f"Lcl {path}")
        for k, axis in enumerate("XYZ"):
            self.connect(self.curve(times, np.asarray(values)[:, k], **keys), node, f"d|{axis}")
        return node

    def curve(self, times, values, flags=4, data=(0.0, 0.0, 0.0, 0.0), after=None):
        times = np.asarray(times, dtype=np.float64)
        flags = np.atleast_1d(np.asarray(flags, dtype=np.int32))
        data = np.asarray(data, dtype=np.float32).reshape(-1)
        counts = np.ones(len(times), np.int32) if len(flags) > 1 else np.array([len(times)], np.int32)
        rows = [
            ("Default", [0.0], []),
            ("KeyTime", [np.round(times * TICKS).astype(np.int64)], []),
            ("KeyValueFloat", [np.asarray(values, dtype=np.float32)], []),
            ("KeyAttrFlags", [flags], []),
            ("KeyAttrDataFloat", [data], []),
            ("KeyAttrRefCount", [counts], []),
        ]
        if after is not None:
            rows.append(("Post-Extrapolation", [], [("Type", [ord(after)], []), ("Repetition", [-1], [])]))
        return self.add("AnimationCurve", "", "", *rows)

    def records(self):
        settings = {"UpAxis": 1, "FrontAxis": 2, "CoordAxis": 0, "UnitScaleFactor": 100.0, "TimeMode": 6}
        return [
            ("FBXHeaderExtension", [], [("FBXHeaderVersion", [1003], []), ("FBXVersion", [self.version], [])]),
            ("GlobalSettings", [], [("Version", [1000], []), properties(**(settings | self.settings))]),
            ("Objects", [], self.objects),
            ("Connections", [], self.connections),
        ]

    def save(self, path, form="binary"):
        if form == "text":
            path.write_bytes(text(self.records()))
        else:
            path.write_bytes(binary(self.records(), self.version, packed=form == "packed"))
        return path


def mesh(scene, name, vertices, polygons, parent=0, colour=(0.8, 0.2, 0.2), **given):
    """A mesh as a model: its number, and that of its geometry."""
    corners = [v for polygon in polygons for v in (*polygon[:-1], -polygon[-1] - 1)]
    geometry = scene.add(
        "Geometry",
        name,
        "Mesh",
        ("Vertices", [np.asarray(vertices, dtype=np.float64).reshape(-1)], []),
        ("PolygonVertexIndex", [np.array(corners, np.int32)], []),
        ("LayerElementMaterial", [0], [("Materials", [np.zeros(1, np.int32)], [])]),
    )
    model = scene.model(name, parent, "Mesh", **given)
    scene.connect(geometry, model)
    material = scene.add("Material", "Paint", "", DiffuseColor=colour)
    scene.connect(material, model)
    return model, geometry


def skin(scene, geometry, clusters):
    """Bind a geometry: clusters of (model, indices, weights, link (4, 4), transform (4, 4))."""
    deformer = scene.add("Deformer", "", "Skin")
    scene.connect(deformer, geometry)
    for model, indices, weights, link, transform in clusters:
        rows = [
            ("Indexes", [np.asarray(indices, np.int32)], []),
            ("Weights", [np.asarray(weights, np.float64)], []),
            ("Transform", [np.asarray(transform, np.float64).T.reshape(-1).copy()], []),
            ("TransformLink", [np.asarray(link, np.float64).T.reshape(-1).copy()], []),
        ]
        number = scene.add("Deformer", "", "Cluster", *rows)
        scene.connect(number, deformer)
        scene.connect(model, number)


def little(form="binary", version=7400):
    """A small file with everything that the reader looks at: three bones, a take, a skin."""
    scene = Scene(version)
    root = scene.model("mixamorig:Hips", LclTranslation=(0, 1, 0), PreRotation=(10, 20, 30), RotationActive=1)
    spine = scene.model("Spine", root, LclTranslation=(0, 0.2, 0), RotationPivot=(0, 0.1, 0), RotationOrder=3)
    scene.model("Head_end", spine, LclTranslation=(0, 0.3, 0))
    _, layer = scene.take("Walk", 0.0, 0.2)
    times = np.arange(7) / 30
    scene.animate(layer, root, "Translation", times, np.linspace(0, 1, 21).reshape(7, 3))
    scene.animate(layer, spine, "Rotation", times[[0, 3, 6]], [[0, 0, 0], [40, 20, 10], [5, 80, 0]], flags=8)
    _, geometry = mesh(scene, "Box", [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.5]], [(0, 1, 2, 3)])
    skin(
        scene,
        geometry,
        [
            (root, [0, 1, 2], [1, 0.5, 0.2], np.eye(4), np.eye(4)),
            (spine, [1, 2, 3], [0.5, 0.8, 1], np.eye(4), np.eye(4)),
        ],
    )
    return text(scene.records()) if form == "text" else binary(scene.records(), version, packed=form == "packed")
