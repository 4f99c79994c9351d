"""Every #include in a layer names that layer or one below it, and libraries stay where they belong."""

import os
import pathlib
import re
import unittest

SOURCE = pathlib.Path(os.environ["WEFT_SOURCE"])
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.M)

# What a library's headers look like, and the folders that may include them.
LIBRARIES = {
    r"(oneapi/)?tbb/": ["scheduler/src"],
    r"xsimd/|immintrin\.h|x86intrin\.h|[a-z]+mmintrin\.h": ["backends/src/cpu"],
    r"nlohmann/": ["scheduler/src", "models/src"],
    r"utf8proc\.h": ["models/src"],
    r"xxhash\.h": ["models/src"],
    r"zlib\.h": [],
    r"CLI/|histedit\.h": [],
}
BUILDER_CODE = "models/src/arch"


def layers():
    text = (SOURCE / "cmake/Layers.cmake").read_text()
    return re.search(r"set\(WEFT_LAYERS ([a-z ]+)\)", text)[1].split()


def includes():
    """Yields (path relative to the root, what it includes)."""
    for layer in layers():
        for path in sorted((SOURCE / layer).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                for name in INCLUDE.findall(path.read_text()):
                    yield path.relative_to(SOURCE).as_posix(), name


class Includes(unittest.TestCase):
    def test_something_is_found(self):
        self.assertGreater(len(list(includes())), 100)

    def test_arrows_go_down_only(self):
        order = layers()
        for path, name in includes():
            if name.startswith("weft/"):
                used, own = name.split("/")[1], path.split("/")[0]
                self.assertIn(used, order, f"{path} includes {name}")
                self.assertLessEqual(order.index(used), order.index(own), f"{path} includes {name}")

    def test_builder_code_sees_graph_and_ops_alone(self):
        for path, name in includes():
            if path.startswith(BUILDER_CODE) and name.startswith("weft/"):
                self.assertNotIn(name.split("/")[1], ("backends", "scheduler"), f"{path} includes {name}")

    def test_libraries_stay_where_they_belong(self):
        for path, name in includes():
            for pattern, folders in LIBRARIES.items():
                if re.match(pattern, name) and not path.endswith("_test.cpp"):
                    self.assertTrue(any(path.startswith(f) for f in folders), f"{path} includes {name}")


if __name__ == "__main__":
    unittest.main()
