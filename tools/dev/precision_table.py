"""Writes docs/precision.md: how far each precision is from the file's own, by family of models.

    precision_table.py PLICA CORPUS [--device cuda:0] [--precisions bf16,fp16] [--most 12] [--jobs 8] > docs/precision.md

CORPUS holds a folder a family, in it a folder a model: model.onnx beside test_data_set_0. Each model runs by `plica verify`,
whose reference is the plan without fusion on the CPU. A cell is the largest |a - b| / (1 + |b|) over the family's models
and outputs, with the median over its models.
"""

import argparse
import concurrent.futures
import pathlib
import re
import statistics
import subprocess
import sys

PRECISIONS = ["fp32", "tf32", "tf32x3", "bf16", "bf16-mixed", "fp16"]
FAMILIES = ["seeds", "norm", "attention", "evoformer", "plm"]
RELATIVE = re.compile(r"relative to 1 \+ \|x\| ([-+.\dena]+)")


def error_of(program, model, device, precision):
    """The largest error over the outputs; a sentence where the model did not run."""
    command = [program, "verify", model / "model.onnx", "--inputs", model / "test_data_set_0", "--rtol", "1e30"]
    command += ["--atol", "1e30", "--device", device, "--precision", precision]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)
    errors = [float(text) for text in RELATIVE.findall(done.stdout)]
    if not errors:
        return None, (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
    return max(errors, key=lambda e: (e != e, e)), []


def cell_of(errors, num_models):
    if not errors:
        return "does not run"
    text = f"{max(errors):.1e} ({statistics.median(errors):.1e})"
    return text if len(errors) == num_models else f"{text}, {num_models - len(errors)} do not run"


def spread(models, most):
    """At most so many of them, evenly spread."""
    return models if len(models) <= most else [models[i * len(models) // most] for i in range(most)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("corpus", type=pathlib.Path)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--precisions", default=",".join(PRECISIONS))
    parser.add_argument("--most", type=int, default=1000, help="models of a family")
    parser.add_argument("--jobs", type=int, default=4, help="models that run at a time")
    arguments = parser.parse_args()
    pool = concurrent.futures.ThreadPoolExecutor(arguments.jobs)
    precisions = arguments.precisions.split(",")
    print("# What a precision costs\n")
    print("Largest error relative to 1 + |x|, and the median over the models, against the file's own types without fusion on")
    print("the CPU. Made by `tools/dev/precision_table.py build/tools/plica CORPUS`.\n")
    print("| family | models |", " | ".join(precisions), "|")
    print("|---|---|" + "---|" * len(precisions))
    for family in FAMILIES:
        models = sorted(path.parent for path in (arguments.corpus / family).glob("*/model.onnx"))
        models = spread(models, arguments.most)
        if not models:
            continue
        cells = []
        for precision in precisions:
            errors = []
            run = lambda model: error_of(arguments.program, model, arguments.device, precision)
            for model, (error, why) in zip(models, pool.map(run, models)):
                if error is None:
                    print(f"{precision} {model}: {why}", file=sys.stderr)
                else:
                    errors.append(error)
            cells.append(cell_of(errors, len(models)))
        print(f"| {family} | {len(models)} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
