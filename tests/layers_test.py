"""Checks what the compiler does not: includes point down the layers, CUDA is tested for in one place, files keep their size.

    python3 tests/layers_test.py ROOT
"""

import pathlib
import re
import sys

# Each layer uses only itself and what stands before it. A folder belongs to the longest prefix.
LAYERS = ["core", "device", "ops", "graph", "exec", "loaders", "models", "api", "tools"]
FOLDERS = {
    "runtime/include/plica/": "core",
    "runtime/include/plica/model.h": "api",
    "runtime/include/plica/session.h": "api",
    "runtime/core/": "core",
    "runtime/device/": "device",
    "ops/": "ops",
    "graph/": "graph",
    "runtime/exec/": "exec",
    "loaders/": "loaders",
    "models/": "models",
    "runtime/api/": "api",
    "tools/": "tools",
}
ROOTS = ["runtime", "ops", "graph", "loaders", "models", "tools", "tests"]
SOURCES = {".h", ".cpp", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.M)
CUDA_CONDITION = re.compile(r"^\s*#\s*(?:if|ifdef|ifndef|elif)\b.*CUDA", re.M)


def layer_of(path):
    owners = [prefix for prefix in FOLDERS if path.startswith(prefix)]
    return LAYERS.index(FOLDERS[max(owners, key=len)]) if owners else None


def public_name(include):
    """Public headers are included as "plica/x.h"."""
    return "runtime/include/" + include if include.startswith("plica/") else include


def upward_includes(path, text):
    own = layer_of(path)
    for include in INCLUDE.findall(text) if own is not None else []:
        other = layer_of(public_name(include))
        if other is not None and other > own:
            yield f'{path}: includes "{include}" of {LAYERS[other]}, wanted {LAYERS[own]} or below'
        if include.startswith("tests/"):
            yield f'{path}: includes "{include}", wanted nothing of the tests'


def cuda_conditions(path, text):
    if path == "ops/registry.cpp" or path.startswith("runtime/device/") or path.endswith((".cu", ".cuh")):
        return
    for found in CUDA_CONDITION.finditer(text):
        yield f"{path}: '{found.group().strip()}', wanted only in ops/registry.cpp, runtime/device and *.cu"


def limit_of(path):
    if path.startswith("tests/") and path.endswith(".cpp"):
        return 300
    if path.endswith("CMakeLists.txt"):
        return 80
    return {".h": 200, ".cpp": 400, ".cu": 500, ".cuh": 500}[pathlib.PurePath(path).suffix]


def oversize(path, text):
    lines = text.count("\n")
    reason = re.match(r"(//|#) ?\w+( \S+){3,}", text)
    if lines > limit_of(path) and not reason:
        yield f"{path}: {lines} lines, wanted at most {limit_of(path)} or a reason in line 1"


def self_check():
    """The checks find what they are for."""
    assert list(upward_includes("ops/x.cpp", '#include "graph/graph.h"\n'))
    assert list(upward_includes("runtime/core/x.h", '#include "plica/model.h"\n'))
    assert not list(upward_includes("graph/x.cpp", '#include "ops/op.h"\n#include <vector>\n'))
    assert list(cuda_conditions("ops/x.cpp", "#if PLICA_WITH_CUDA\n"))
    assert list(oversize("ops/x.h", "\n" * 201))
    assert not list(oversize("ops/x.h", "// One table that cannot be split.\n" + "\n" * 201))


def main(root):
    self_check()
    wrong, num_files = [], 0
    for folder in ROOTS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in SOURCES and file.name != "CMakeLists.txt":
                continue
            path, text = file.relative_to(root).as_posix(), file.read_text(encoding="utf-8")
            num_files += 1
            wrong += oversize(path, text)
            if file.suffix in SOURCES:
                wrong += upward_includes(path, text) if not path.startswith("tests/") else []
                wrong += cuda_conditions(path, text)
    print("\n".join(wrong))
    print(f"{num_files} files, {len(wrong)} faults")
    return 1 if wrong or num_files == 0 else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
