"""Each of these words names one thing (docs/glossary.md), and comments have a noun."""

import collections
import os
import pathlib
import re
import unittest

SOURCE = pathlib.Path(os.environ["WEFT_SOURCE"])
FOLDERS = ("graph", "ops", "backends", "scheduler", "models", "bindings", "tools", "examples", "bench",
           "tests")
# Names of classes, and how many classes may have them.
WORDS = {"Engine": 1, "Trace": 1, "ModelSource": 1, "Generation": 1, "Replay": 1,
         "Choice": 1, "Route": 0, "Program": 0, "Call": 0}
# Words that folders do not use, because they mean something else elsewhere.
FOREIGN = {"tools/server": r"[Rr]outes?|[Tt]racers?|[Rr]eplay(s|ed|ing)?",
           "models/text/grammar": r"[Ee]ngines?|[Pp]rograms?",
           "backends": r"[Ee]ngines?",
           "graph/include": r"rank_?", "graph/src": r"rank_?",  # a shape has n_dims()
           "scheduler": r"\w*[Dd]raft\w*",  # guesses of tokens, of which plans know nothing
           # What ranks have is a part; a share is some of the columns of a lane.
           "scheduler/src/exchange": r"\w*[Ss]hares?", "scheduler/src/shard": r"\w*[Ss]hares?",
           "models/run/src/ranks": r"\w*[Ss]hares?", "models/files/src/ranks": r"\w*[Ss]hares?"}
# Words with a meaning for each of these compounds, which docs/glossary.md has.
COMPOUNDS = {"Part": {"GraphPart", "MemoryPart", "WeightPart"}, "Share": {"Share"},
             "Unit": {"Unit"}, "Rank": {"ThreadRank", "ProcessRank"}, "Draft": set()}
# "// (ops/attention/attention.h)" and such, but no addresses.
PATH = re.compile(r"(?<![\w/.<\"-])((?:\w+/)+[\w.]+\.(?:h|cpp|cmake))\b")
DECLARATION = re.compile(r"^(?:class|struct) (\w+)(?: final)?(?: :[^;{]*)? ?\{", re.M)
TEST_NAME = re.compile(r'TEST_CASE\w*\(\s*"((?:[^"\\]|\\.)*)"')
# "// Of the queue", "int n;  // of its tokens": of what thing?
STUB = re.compile(r"//+ (?:Of|of) (?:the|a|an|its|all|each|every|this|that|these|those)\b")


def sources():
    """Yields (path relative to the root, text) of headers and sources."""
    for folder in FOLDERS:
        for path in sorted((SOURCE / folder).rglob("*")):
            if path.suffix in (".h", ".cpp", ".c"):
                yield path.relative_to(SOURCE).as_posix(), path.read_text()


class Words(unittest.TestCase):
    def test_words_name_one_class(self):
        places = collections.defaultdict(list)
        for path, text in sources():
            if path.endswith("_test.cpp"):
                continue
            for name in DECLARATION.findall(text):
                places[name].append(path)
        for word, allowed in WORDS.items():
            self.assertLessEqual(len(places[word]), allowed, f"{word}: {places[word]}")

    def test_comments_have_a_noun(self):
        for path, text in sources():
            continued = False  # the line before ends in a comment
            for number, line in enumerate(text.splitlines(), 1):
                if not (continued and line.lstrip().startswith("// of")):
                    self.assertNotRegex(line, STUB, f"{path}:{number}")
                continued = "//" in line

    def test_names_of_tests_have_no_semicolon(self):  # CMake would split it: cmake/Layers.cmake
        for path, text in sources():
            for name in TEST_NAME.findall(text):
                self.assertNotIn(";", name, path)

    def test_words_keep_to_their_folders(self):
        for path, text in sources():
            for folder, words in FOREIGN.items():
                if path.startswith(folder + "/"):
                    found = re.search(rf"\b({words})\b", text)
                    self.assertIsNone(found, f"{path}: {found}")

    def test_compound_words_have_one_meaning_each(self):
        for path, text in sources():
            if path.startswith(("scheduler/", "models/run/")) and not path.endswith("_test.cpp"):
                for name in DECLARATION.findall(text):
                    for word, known in COMPOUNDS.items():
                        self.assertFalse(name.endswith(word) and name not in known, f"{path}: {name}")

    def test_comments_name_files_that_exist(self):
        ends = set()
        for path, _ in sources():
            parts = path.split("/")
            ends |= {"/".join(parts[i:]) for i in range(len(parts))}
        for path, text in sources():
            for number, line in enumerate(text.splitlines(), 1):
                for name in PATH.findall(line.partition("//")[2]):
                    if name.rpartition("/")[2] in ends:
                        self.assertIn(name, ends, f"{path}:{number}")


if __name__ == "__main__":
    unittest.main()
