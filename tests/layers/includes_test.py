"""Every #include names the same layer or one below, and libraries are used only in their layer."""

import os
import pathlib
import re
import unittest

SOURCE = pathlib.Path(os.environ["WEFT_SOURCE"])
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.M)

# Patterns of a library's headers, and the folders that may include them.
LIBRARIES = {
    r"(oneapi/)?tbb/": ["scheduler/src"],
    r"xsimd/|immintrin\.h|x86intrin\.h|[a-z]+mmintrin\.h": ["backends/src/cpu"],
    r"nlohmann/": ["scheduler/src", "models/text/sample/src",
                   "models/text/template/src", "models/text/reply/src",
                   "models/files/src", "models/run/src",
                   "models/serve/src", "models/check/src"],
    r"utf8proc\.h": ["models/text"],
    r"xxhash\.h": ["models/run/src", "models/check/src"],
    r"zlib\.h": [],
    r"CLI/|histedit\.h": [],
}
# Layers that may use less than all layers below.
ONLY = {
    "arch": {"base", "graph", "ops"},
    "files": {"base", "graph", "ops", "tokenize", "arch"},
    **{room: {"base", "tokenize"} for room in ("tokenize", "sample", "template", "grammar", "reply")},
}


def rooms():
    """Layers by name, low to high, with their folders."""
    text = (SOURCE / "cmake/Layers.cmake").read_text()
    entries = re.search(r"set\(WEFT_LAYERS\s+([^)]+)\)", text)[1].split()
    return dict(entry.split("=") for entry in entries)


def includes():
    """Yields (layer, path relative to the root, included file)."""
    folders = rooms()
    for room, folder in folders.items():
        inner = [f for f in folders.values() if f.startswith(folder + "/")]
        for path in sorted((SOURCE / folder).rglob("*")):
            name = path.relative_to(SOURCE).as_posix()
            if path.suffix in (".h", ".cpp") and not any(name.startswith(f + "/") for f in inner):
                for included in INCLUDE.findall(path.read_text()):
                    yield room, name, included


class Includes(unittest.TestCase):
    def test_every_room_is_found(self):
        self.assertEqual({room for room, _, _ in includes()}, set(rooms()))

    def test_arrows_go_down_only(self):
        order = list(rooms())
        for room, path, name in includes():
            if name.startswith("weft/") and not path.endswith("_test.cpp"):
                used = name.split("/")[1]
                self.assertIn(used, order, f"{path} includes {name}")
                self.assertLessEqual(order.index(used), order.index(room), f"{path} includes {name}")

    def test_rooms_that_see_less(self):
        for room, path, name in includes():
            if room in ONLY and name.startswith("weft/") and not path.endswith("_test.cpp"):
                self.assertIn(name.split("/")[1], ONLY[room] | {room}, f"{path} includes {name}")

    def test_libraries_stay_where_they_belong(self):
        for _, path, name in includes():
            for pattern, folders in LIBRARIES.items():
                if re.match(pattern, name) and not path.endswith("_test.cpp"):
                    self.assertTrue(any(path.startswith(f) for f in folders), f"{path} includes {name}")

    def test_examples_are_copied_from_and_never_linked(self):
        self.assertNotIn("add_library", (SOURCE / "examples/CMakeLists.txt").read_text())


if __name__ == "__main__":
    unittest.main()
