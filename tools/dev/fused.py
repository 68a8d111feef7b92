"""Compares what `plica explain` finds in exported models with the fused.txt beside their recipe, or writes that anew.

    python3 tools/dev/fused.py [--plica build/tools/plica] models/antiberty/fused.txt
    python3 tools/dev/fused.py --write models/*/fused.txt

An entry of fused.txt is a model with the arguments of `plica explain`, then what is found in it:

    antiberty.onnx --shape input_ids=1x122 --shape attention_mask=1x122
      structures: attention 8, gelu 9, layer_norm 18
      steps: 69, Attention 8, Copy 3, Gather 1, LayerNorm 18, Map 3, MatMul 36

The structures must be these and no others, on any device. The steps are a ceiling for the CPU: the number of all steps
and of each operator that is named, but for Map and Copy, which stand in for each other. So a better plan passes, and a
lost fusion does not. A model lies beside fused.txt or where tools/dev/models puts it, in .deps/models/RECIPE; one that
is absent is passed over.
"""

import argparse
import collections
import json
import os
import shlex
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEVICE = os.environ.get("PLICA_TEST_DEVICE") or "cpu"
TRADED = ("Copy", "Map")
DIFFERS, ALL_ABSENT = 1, 77  # exit codes


class Entry:
    """One model of a fused.txt: its command and what the file says of it."""

    def __init__(self, folder, command):
        self.command = command
        self.name, *self.arguments = shlex.split(command)
        self.wanted = {}  # "structures" and "steps": name to count
        made = os.path.join(ROOT, ".deps/models", os.path.basename(folder))
        places = [os.path.join(place, self.name) for place in (folder, made)]
        self.path = next((place for place in places if os.path.exists(place)), None)

    def found(self, plica):
        command = [plica, "explain", self.path, *self.arguments, "--json", "--device", DEVICE]
        ended = subprocess.run(command, capture_output=True, text=True)
        if ended.returncode != 0:
            sys.exit(f"{shlex.join(command)} ended with {ended.returncode}: {ended.stderr.strip()}")
        plan = json.loads(ended.stdout)
        steps = collections.Counter(step["op"] for step in plan["steps"])
        return {"structures": dict(sorted(plan["structures"].items())),
                "steps": {"": len(plan["steps"]), **dict(sorted(steps.items()))}}


def parse_counts(text):
    """"69, Attention 8" as {"": 69, "Attention": 8}"""
    pairs = (part.split() for part in text.split(","))
    return {" ".join(name): int(count) for *name, count in pairs}


def print_counts(counts):
    return ", ".join(f"{name} {count}".strip() for name, count in counts.items())


def read(path):
    """The comment at the head of the file, and its entries."""
    head, entries = [], []
    with open(path, encoding="ascii") as file:
        for line in file.read().splitlines():
            if line.startswith("#"):
                head.append(line)
            elif line.startswith("  "):
                kind, _, counts = line.strip().partition(":")
                entries[-1].wanted[kind] = parse_counts(counts)
            elif line:
                entries.append(Entry(os.path.dirname(os.path.abspath(path)), line))
    return head, entries


def write(path, head, entries, plica):
    for entry in entries:
        if entry.path is None:
            sys.exit(f"{path}: {entry.name} is absent: its recipe, or tools/dev/models, makes it")
        entry.wanted = entry.found(plica)
    with open(path, "w", encoding="ascii") as file:
        file.write("".join(f"{line}\n" for line in head))
        for entry in entries:
            kinds = "".join(f"  {kind}: {print_counts(entry.wanted[kind])}\n" for kind in ("structures", "steps"))
            file.write(f"\n{entry.command}\n{kinds}")


def differences(entry, plica):
    found, wanted = entry.found(plica), entry.wanted
    if found["structures"] != wanted["structures"]:
        yield f"found structures {print_counts(found['structures'])}; wanted {print_counts(wanted['structures'])}"
    if DEVICE == "cpu":
        for name, most in wanted["steps"].items():
            if name not in TRADED and found["steps"].get(name, 0) > most:
                yield f"found {found['steps'][name]} steps{' of ' if name else ''}{name}; wanted {most} at most"


def agrees(path, entry, plica):
    """None where the model is absent. Says what differs."""
    if entry.path is None:
        print(f"{path}: skipped: {entry.name} is absent: tools/dev/models makes it")
        return None
    texts = list(differences(entry, plica))
    for text in texts:
        print(f"{path}: {entry.name}: {text}. If that is meant: tools/dev/fused.py --write {path}")
    return not texts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", help="fused.txt of recipes")
    parser.add_argument("--plica", default=os.path.join(ROOT, "build/tools/plica"), help="the program")
    parser.add_argument("--write", action="store_true", help="write what is found into the files")
    options = parser.parse_args()
    results = set()
    for path in options.files:
        head, entries = read(path)
        if options.write:
            write(path, head, entries, options.plica)
        else:
            results.update(agrees(path, entry, options.plica) for entry in entries)
    sys.exit(DIFFERS if False in results else ALL_ABSENT if results == {None} else 0)


if __name__ == "__main__":
    main()
