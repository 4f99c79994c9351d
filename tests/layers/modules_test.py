"""Modules of the Python package are in one order: each imports only modules below it, also inside
functions and for annotations."""

import ast
import os
import pathlib
import unittest

SOURCE = pathlib.Path(os.environ["WEFT_SOURCE"]) / "bindings/python"

# Modules of each package, low to high, of which `__init__` is the package itself. All modules of a
# package are below those of the next one. `backend` is a folder of scripts.
ORDER = {
    "backend": ["metadata", "archive", "build_tree", "libraries", "weft_build"],
    "weft._native": [
        # what weft.h says
        "__init__", "library", "constants", "structs", "functions",
        # what all calls share
        "errors", "interpreter", "calls", "values", "callbacks", "handles", "classes", "tables",
        "options",
        # calls by parts
        "forwards_models", "forwards_sessions", "forwards_generations", "forwards_chats",
        "forwards_graphs", "forwards_architectures", "models", "sessions", "samplers",
        "speculations", "generations", "chats", "graphs", "architectures", "custom_ops",
        "embedders", "module",
    ],
    "weft": [
        "_weft",
        # what everything shares
        "_errors", "_objects", "_plan", "_report", "_tools", "_library", "_conversion",
        # models, and texts that they write
        "_tokenizer", "_opened_model", "_sampler", "_stream", "_saved", "_embedders", "_session",
        "_speculation", "_chat",
        # graphs
        "_graph", "_graph_function", "_ops", "ops", "_custom_op", "_architecture",
        # what programs see
        "_model", "__init__", "__main__", "as_llama_cpp",
    ],
    "weft.llama_cpp": [
        # names, arguments and values
        "_constants", "_missing", "_logger", "_utils", "llama_types", "_options", "_sampling",
        "_lists", "_scores", "_state", "_formats", "_loading", "_chat_arguments", "_vision",
        "_prefixes", "_pieces", "llama_speculative", "llama_grammar", "llama_cache",
        "llama_tokenizer",
        # one text of a model, class by class
        "_words", "_logprobs", "_evaluation", "_chooser", "_context",
        # what is asked of it
        "_completion", "_chat", "_embeddings",
        # what programs see
        "_handles", "_low_level", "_parts", "llama", "llama_chat_format", "_internals",
        "llama_cpp", "llava_cpp", "mtmd_cpp", "__init__",
    ],
    "weft.llama_cpp.server": [
        "__init__", "app", "cli", "errors", "model", "settings", "types", "__main__",
    ],
}
# All modules by their whole names, low to high.
MODULES = [f"{package}.{name}" for package, names in ORDER.items() for name in names]


def files():
    """Yields (package, name of the module, path), also of stubs."""
    for package in ORDER:
        for path in sorted((SOURCE / package.replace(".", "/")).iterdir()):
            if path.suffix in (".py", ".pyi"):
                yield package, path.stem, path


def module_of(name):
    """The whole name of a module as it is in MODULES; None if it is not one of the package."""
    return name if name in MODULES else f"{name}.__init__" if name in ORDER else None


def named_by(package, node):
    """Yields the whole names of what an import statement names."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    parts = package.split(".")
    above = parts[:len(parts) + 1 - node.level] if node.level else []
    source = ".".join([*above, *filter(None, [node.module])])
    for alias in node.names:
        inner = f"{source}.{alias.name}"
        yield inner if module_of(inner) else source


def imports(package, path):
    """Yields (line, whole name of a module of the package) of all imports in a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for name in named_by(package, node):
                # Scripts of a folder import each other by their bare names.
                found = module_of(f"{package}.{name}" if package == "backend" else name)
                if found or name.split(".")[0] == "weft":
                    yield node.lineno, found or name


class Modules(unittest.TestCase):
    def test_every_module_has_one_place(self):
        self.assertEqual(len(MODULES), len(set(MODULES)))
        self.assertEqual({f"{package}.{name}" for package, name, _ in files()}, set(MODULES))

    def test_every_package_has_a_list(self):
        folders = {path.parent for path in SOURCE.rglob("__init__.py")
                   if path.relative_to(SOURCE).parts[0] == "weft"}
        self.assertEqual({folder.relative_to(SOURCE).as_posix().replace("/", ".")
                          for folder in folders} | {"backend"}, set(ORDER))

    def test_imports_go_down_only(self):
        n_found = 0
        for package, name, path in files():
            place = MODULES.index(f"{package}.{name}")
            for line, used in imports(package, path):
                where = f"{path.relative_to(SOURCE)}:{line} imports {used}"
                self.assertIn(used, MODULES, where)
                self.assertLess(MODULES.index(used), place, where)
                n_found += 1
        self.assertGreater(n_found, 150)

    # Imports by text have no place in the order, so only what is above all may have them.
    def test_modules_are_imported_by_text_at_the_top_only(self):
        for package, name, path in files():
            tree = ast.parse(path.read_text(encoding="utf-8"))
            used = {getattr(node, "attr", getattr(node, "id", None)) for node in ast.walk(tree)}
            used |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
                     for alias in node.names}
            top = ORDER[package][ORDER[package].index("__init__"):] if package != "backend" else []
            if used & {"import_module", "__import__"}:
                self.assertIn(name, top, path)


if __name__ == "__main__":
    unittest.main()
