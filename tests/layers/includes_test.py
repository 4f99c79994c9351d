"""Every #include in a layer names that layer or one below it. Third-party libraries, names of
processors and internal declarations stay where they belong."""

import collections
import os
import pathlib
import re
import unittest

SOURCE = pathlib.Path(os.environ["WEFT_SOURCE"])
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.M)

API_SOURCES = [f"tools/server/api/{layer}/src"
               for layer in ("core", "openai", "responses", "anthropic", "ollama", "native")]
# Patterns of a library's headers, and the folders that may include them.
LIBRARIES = {
    r"(oneapi/)?tbb/": ["scheduler/src"],
    r"xsimd/|immintrin\.h|x86intrin\.h|[a-z]+mmintrin\.h": ["backends/src/cpu"],
    r"nlohmann/(?!json_fwd)": ["scheduler/src", "models/text/sample/src",
                   "models/text/template/src", "models/text/reply/src",
                   "models/text/chat/src",
                   "models/files/src", "models/run/src", "models/measure/src",
                   "models/serve/src", "models/check/src", "bindings/c/src",
                   "tools/server/hosting/src", "tools/server/program/src", *API_SOURCES],
    r"utf8proc\.h": ["models/text"],
    r"xxhash\.h": ["graph/base/src"],
    r"zlib\.h|boost/|openssl/": ["tools/server/http"],
    r"CLI/|histedit\.h": [],
}
# Instructions and names of processors, and where they may stand.
PROCESSOR = re.compile(r"__builtin_ia32_|\b_mm\d*_|\basm\b|\b__rdtsc|\b__get_cpuid|\b__(x86_64|i386|aarch64|arm)__")
PROCESSOR_FILES = ["graph/base/include/weft/base/processor.h", "graph/base/src/processor.cpp",
                   "backends/src/cpu/", "scheduler/src/machine/arithmetic.cpp"]
# Queries of the processor, and the only file that may make them.
QUERY = re.compile(r"__builtin_cpu_|__get_cpuid|\bcpuid\.h\b|\bxgetbv\b|\bgetauxval\b")
QUERY_FILE = "graph/base/src/processor.cpp"
# Layers that hosting and the page of the server may use, besides those of the server.
MODEL_LAYERS = {"base", "graph", "draw", "ops", "backends", "scheduler", "tokenize", "sample",
                "template", "grammar", "reply", "chat", "arch", "files", "quantize", "adapters",
                "run", "serve"}
# Layers that may use less than everything below them.
ONLY = {
    "arch": {"base", "graph", "ops"},
    "files": {"base", "graph", "ops", "tokenize", "arch"},
    **{layer: {"base", "tokenize"} for layer in ("tokenize", "sample", "template", "grammar")},
    "reply": {"base", "tokenize", "template", "grammar"},
    "chat": {"base", "tokenize", "template", "grammar", "reply"},
    "http": {"base"},
    # Of the server, these know no interface.
    "hosting": MODEL_LAYERS | {"http", "api"},
    "page": MODEL_LAYERS | {"http", "api", "hosting"},
}
# The folders of a layer's src/, low to high. Sources that are directly in src/ are above all of them.
INNER = {
    "run": ["weights", "streaming", "memory", "model", "plan", "session", "saved", "moved", "ranks"],
    "scheduler": ["machine", "messages", "exchange", "passes", "shard", "plan", "replay", "checks",
                  "pictures"],
}


def layers():
    """Layers by name, low to high, with their folders."""
    text = (SOURCE / "cmake/Layers.cmake").read_text()
    lists = re.findall(r"set\(WEFT_(?:SERVER_)?LAYERS\s+([^)]+)\)", text)
    return dict(entry.split("=") for entries in lists for entry in entries.split())


def sources():
    """Yields (layer, path relative to the root, text) of headers and sources."""
    folders = layers()
    for layer, folder in folders.items():
        inner = [f for f in folders.values() if f.startswith(folder + "/")]
        for path in sorted((SOURCE / folder).rglob("*")):
            name = path.relative_to(SOURCE).as_posix()
            if path.suffix in (".h", ".cpp") and not any(name.startswith(f + "/") for f in inner):
                yield layer, name, path.read_text()


def layer_of(header):
    """The layer of a public header, "weft/LAYER/.."; the C API is one header."""
    return "c_api" if header in ("weft/weft.h", "weft/initializers.h") else header.split("/")[1]


def includes():
    """Yields (layer, path relative to the root, its include)."""
    for layer, name, text in sources():
        for included in INCLUDE.findall(text):
            yield layer, name, included


def roots():
    """Folders whose folders must have an order, each by itself."""
    for layer, folder in layers().items():
        yield SOURCE / folder / "src"
        yield SOURCE / folder / "include/weft" / layer
    yield from sorted(path for path in (SOURCE / "tools").iterdir()
                      if path.is_dir() and path.name != "server")  # which consists of layers
    yield SOURCE / "tests/support"


def inner_includes(root):
    """Yields (path in root, the path in root that it includes) of sources that are no tests."""
    for path in sorted(root.rglob("*")):
        if path.suffix not in (".h", ".cpp") or path.name.endswith("_test.cpp"):
            continue
        for included in INCLUDE.findall(path.read_text()):
            for base in (path.parent, root, root.parent, root.parent.parent):
                found = pathlib.Path(os.path.normpath(base / included))
                if found.is_file() and found.is_relative_to(root):
                    yield path.relative_to(root), found.relative_to(root)
                    break


def reached(start, arrows):
    """The nodes that arrows lead to from `start`; arrows are pairs of nodes."""
    found, ahead = set(), {start}
    while ahead:
        ahead = {end for begin, end in arrows if begin in ahead} - found
        found |= ahead
    return found


class Includes(unittest.TestCase):
    def test_every_layer_is_found(self):
        self.assertEqual({layer for layer, _, _ in includes()}, set(layers()))

    def test_arrows_go_down_only(self):
        order = list(layers())
        for layer, path, name in includes():
            if name.startswith("weft/") and not path.endswith("_test.cpp"):
                used = layer_of(name)
                self.assertIn(used, order, f"{path} includes {name}")
                self.assertLessEqual(order.index(used), order.index(layer),
                                     f"{path} includes {name}")

    def test_inner_folders_have_an_order(self):
        for layer, order in INNER.items():
            root = SOURCE / layers()[layer] / "src"
            folders = {path.name for path in root.iterdir()
                       if any(f.suffix in (".h", ".cpp") for f in path.rglob("*"))}
            self.assertEqual(folders, set(order), f"the folders of {layer}")
            self.assertEqual(len(order), len(set(order)), layer)

    def test_inner_arrows_go_down_only(self):
        for layer, order in INNER.items():
            # Of a path in src/; sources directly in src/ are above all folders.
            def floor(path):
                return order.index(path.parts[0]) if len(path.parts) > 1 else len(order)

            found = list(inner_includes(SOURCE / layers()[layer] / "src"))
            self.assertTrue(found, f"{layer} includes nothing of its own")
            for path, used in found:
                self.assertLessEqual(floor(used), floor(path), f"{layer}: {path} includes {used}")

    # Nodes are folders, and the files beside them, each with its header. Files alone may form a circle.
    def test_folders_have_no_circles(self):
        for root in roots():
            levels = collections.defaultdict(lambda: collections.defaultdict(list))
            for path, used in inner_includes(root):
                level = os.path.commonpath([path, used])
                depth = len(pathlib.PurePath(level).parts)
                arrow = tuple(p.parts[depth] + "/" if len(p.parts) > depth + 1
                              else p.name.split(".")[0] for p in (path, used))
                if arrow[0] != arrow[1]:
                    levels[level][arrow].append(f"{path} includes {used}")
            for level, arrows in levels.items():
                folders = {node for arrow in arrows for node in arrow if node.endswith("/")}
                circles = {frozenset(node for node in reached(folder, arrows)
                                     if folder in reached(node, arrows)) for folder in folders}
                for circle in circles - {frozenset()}:
                    cause = [line for arrow, lines in arrows.items()
                             if circle.issuperset(arrow) for line in lines]
                    with self.subTest():
                        self.fail("\n".join([f"a circle in {root / level}:", *cause]))

    def test_rooms_that_may_use_less(self):
        for layer, path, name in includes():
            if layer in ONLY and name.startswith("weft/") and not path.endswith("_test.cpp"):
                self.assertIn(layer_of(name), ONLY[layer] | {layer}, f"{path} includes {name}")

    def test_libraries_stay_where_they_belong(self):
        for _, path, name in includes():
            for pattern, folders in LIBRARIES.items():
                if re.match(pattern, name) and not path.endswith("_test.cpp"):
                    self.assertTrue(any(path.startswith(f) for f in folders),
                                    f"{path} includes {name}")

    # An interface of the server can be left out.
    def test_interfaces_do_not_know_each_other(self):
        interfaces = {layer for layer, folder in layers().items()
                      if folder.startswith("tools/server/api/") and layer != "api"}
        self.assertEqual(len(interfaces), 5)
        for layer, path, name in includes():
            if layer in interfaces and name.startswith("weft/"):
                self.assertNotIn(layer_of(name), interfaces - {layer}, f"{path} includes {name}")

    # The order of layers stands in cmake/Layers.cmake only.
    def test_layers_are_added_by_the_list(self):
        folders = set(layers().values())
        groups = {str(parent) for folder in folders for parent in pathlib.PurePath(folder).parents}
        groups -= {".", "tools", "tools/server"}  # which options leave out
        for path in SOURCE.rglob("CMakeLists.txt"):
            here = path.parent.relative_to(SOURCE)
            if here.parts[:1] == ("build",):
                continue
            added = {(here / name).as_posix()
                     for name in re.findall(r"add_subdirectory\(\s*([^\s)]+)", path.read_text())}
            self.assertFalse(added & (folders | groups), path)

    # config_cast() checks that a config is the struct that a block expects.
    def test_configs_are_cast_with_a_check(self):
        cast = re.compile(r"(static|reinterpret)_cast<const \w+ ?[&*]>\(&?(\w+(\.|->))?c\)")
        users = [path for layer, path, text in sources() if layer == "arch" and cast.search(text)]
        self.assertEqual(users, ["models/arch/include/weft/arch/hparams.h"])

    # Its headers take seconds to compile.
    def test_one_source_includes_cli11(self):
        users = [path.relative_to(SOURCE).as_posix()
                 for folder in ("tools", "examples", "bench", "tests")
                 for path in (SOURCE / folder).rglob("*") if path.suffix in (".h", ".cpp")
                 and any(name.startswith("CLI/") for name in INCLUDE.findall(path.read_text()))]
        self.assertEqual(users, ["tools/common/app.cpp", "tools/common/help/app_text.cpp"])

    def test_processors_are_named_in_few_places(self):
        for _, path, text in sources():
            if not any(path.startswith(f) for f
                       in PROCESSOR_FILES) and not path.endswith("_test.cpp"):
                self.assertNotRegex(text, PROCESSOR, path)

    # Concessions to a budget are decided in models/run/src/plan alone. Others may only report a
    # refusal, or drop the data that they keep.
    def test_one_place_gives_up_memory(self):
        handlers = {"models/run/src/plan/",
                    "models/serve/src/conversation/saved_conversation.cpp",
                    "models/serve/src/generation/batch.cpp", "models/serve/src/generation/guesses.cpp",
                    "models/serve/src/engine/engine_stepper.cpp",
                    "models/serve/src/embeddings/engine_embedders.cpp",
                    "models/serve/src/engine/slot_files.cpp",
                    "tools/server/api/core/src/errors.cpp", "tools/server/hosting/src/model_pool.cpp",
                    "models/text/"}
        paths = [path for folder in ("models", "scheduler", "tools", "examples")
                 for path in (SOURCE / folder).rglob("*") if path.suffix in (".cpp", ".h")]
        # They try plans: contexts for selftest and forecasts, a picture for any budget, drafts if there
        # is room.
        triers = {"models/check/src/borders.cpp", "models/measure/src/forecast.cpp",
                  "models/measure/src/rank_forecast.cpp",
                  "models/serve/src/drafts/speculation.cpp",
                  "models/serve/src/engine/engine_plan.cpp", "tools/weft/inputs/variant.cpp",
                  "models/run/include/weft/run/memory_plan.h"}
        for path in paths:
            name = path.relative_to(SOURCE).as_posix()
            if name.endswith("_test.cpp") or any(name.startswith(h) for h in handlers):
                continue
            text = path.read_text()
            self.assertNotRegex(text, r"\battempt_session\(", name)
            if name not in triers:
                self.assertNotRegex(text, r"\b(fits_budget|plan_if_fits)\(", name)
            self.assertNotRegex(text, r"catch \(const (weft::)?BudgetError", name)
            self.assertNotRegex(text, r"concessions\.(push_back|insert|emplace)", name)

    def test_one_file_queries_the_processor(self):
        folders = ("graph", "ops", "backends", "scheduler", "models", "tools", "examples", "bench", "tests")
        users = [path.relative_to(SOURCE).as_posix()
                 for folder in folders for path in (SOURCE / folder).rglob("*")
                 if path.suffix in (".h", ".cpp", ".c") and QUERY.search(path.read_text())]
        self.assertEqual(users, [QUERY_FILE])

    def test_own_keys_are_in_one_header_and_documented(self):
        key = re.compile(r'"(weft\.[a-z_]+(?:\.[a-z_]+)?)"')
        header = "models/files/include/weft/files/weft_keys.h"
        keys = {}
        for _, path, text in sources():
            if not path.endswith("_test.cpp"):
                keys.setdefault(path, set()).update(key.findall(text))
        self.assertEqual({path for path, found in keys.items() if found}, {header})
        page = (SOURCE / "docs/safetensors.md").read_text()
        documented = re.findall(r"`(weft\.[a-z_]+(?:\.[a-z_]+)?)`", page)
        self.assertEqual(keys[header], set(documented))

    # All headers in src/, except X_impl.h, which complete public classes, have their own namespace.
    def test_internals_have_a_namespace(self):
        for _, path, text in sources():
            if "/src/" in path and path.endswith(".h") and not path.endswith("_impl.h"):
                self.assertNotRegex(text, r"(?m)^namespace weft \{", path)

    # backend_skeleton is a project of its own, whose library is loaded, not linked.
    def test_examples_and_benchmarks_have_no_libraries(self):
        lists = [path for folder in ("examples", "bench") for path
                 in (SOURCE / folder).rglob("CMakeLists.txt")]
        self.assertIn(SOURCE / "examples/CMakeLists.txt", lists)
        for path in lists:
            if path.parent.name != "backend_skeleton":
                self.assertNotRegex(path.read_text(), r"add_library\((?!\w+ MODULE)", path)


if __name__ == "__main__":
    unittest.main()
