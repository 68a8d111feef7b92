"""Plica beside PyTorch on one GPU: times, errors and peak memory of the structures in models/structures, as one table.

    python3 tools/bench/cuda_table.py --plica build/tools/plica --out table [--cases a,b] [--precisions fp32,tf32,bf16]
    python3 tools/bench/cuda_table.py --plica build/tools/plica --out odd --odd

Writes table.jsonl (a row a measurement) and table.md. Every case is exported with torch.onnx.export (dynamo) from the
very module that PyTorch runs. PyTorch runs eagerly, as a CUDA graph, compiled, and compiled in a CUDA graph; Plica runs
the ONNX file. For all: inputs and outputs resident on the device, floats as the precision stores them; `ms` is the
median of single calls between events, `mean_ms` the mean of 100 back-to-back calls. Errors are against the module in
fp64 on the same device. Rows of one case and precision are measured one right after the other; the exports run before,
side by side. With `--odd` Plica alone, at odd shapes and the round ones beside them: how near to the device's limits it
comes at both. Needs torch, onnx, onnxscript; transformers for the ESM-2 cases.
"""

import argparse
import copy
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "models", "structures"))
import cases  # noqa: E402
import export  # noqa: E402

MODES = ["eager", "graph", "compile", "compile+graph"]
TORCH_DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def single_call_ms(call, repeat=30):
    times = []
    for _ in range(repeat):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


def back_to_back_ms(call, budget_ms, repeat=100):
    repeat = max(3, min(repeat, int(2000 / max(budget_ms, 1e-3))))
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(repeat):
        call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / repeat


def in_graph(call):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = call()
    return graph, kept


def error(outputs, expected):
    """The largest difference, and that over the largest expected value, of the worst output."""
    worst = (0.0, 0.0)
    for y, wanted in zip(outputs, expected):
        difference = float((y.double() - wanted).abs().max())
        worst = max(worst, (difference, difference / float(wanted.abs().max())))
    return worst


def limit_share(steps):
    """How near a plan is to the device's limits: the mean of its steps, each as heavy as its time."""
    return sum(step["ms"] * step["limit_percent"] for step in steps) / sum(step["ms"] for step in steps)


def cast(inputs, dtype):
    return {name: value.to(dtype) if value.is_floating_point() else value for name, value in inputs.items()}


def export_all(names, folder):
    """The ONNX files and inputs of the cases that the folder lacks, each in a process of its own."""
    names = [name for name in names if not os.path.exists(os.path.join(folder, name + ".onnx"))]
    script = os.path.join(ROOT, "models", "structures", "export.py")
    started = [subprocess.Popen([sys.executable, script, name, folder, "--only-model"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL) for name in names]
    for name, process in zip(names, started):
        if process.wait() != 0:
            print(f"{name}: its export failed", file=sys.stderr)


def compile_all(names, precisions, processes):
    """Fills the cache of PyTorch's compiler for all cases, several at a time, so that measuring waits for none."""
    waiting = [(name, precision) for name in names for precision in precisions if precision in TORCH_DTYPES]
    running = []
    while waiting or running:
        running = [child for child in running if child.poll() is None]
        while waiting and len(running) < processes:
            name, precision = waiting.pop(0)
            running.append(subprocess.Popen(
                [sys.executable, os.path.abspath(__file__), "--compile-only", name, precision],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        time.sleep(0.1)


def compile_only(name, precision):
    """Compiles one case in this process, which leaves the result in the compiler's cache."""
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    case, dtype = cases.CASES[name], TORCH_DTYPES[precision]
    module = cases.build(case).cuda().to(dtype)
    inputs = cast({k: v.cuda() for k, v in cases.make_inputs(case).items()}, dtype)
    with torch.inference_mode():
        torch.compile(module, dynamic=False)(**inputs)


class Case:
    """One workload: the module on the device, its inputs, the expected outputs in fp64, the ONNX file."""

    def __init__(self, name, folder):
        self.name, self.case = name, cases.CASES[name]
        self.inputs = {k: v.cuda() for k, v in cases.make_inputs(self.case).items()}
        self.module = cases.build(self.case).cuda()
        self.path = os.path.join(folder, name + ".onnx")
        with torch.inference_mode():
            double = self.module.double()
            self.expected = [y.clone() for y in export.as_tuple(double(**cast(self.inputs, torch.float64)))]
            self.module = self.module.float()
        torch.cuda.empty_cache()
        self.runners = {}

    def runner(self, precision, compiled):
        """The module as the precision stores it; the modes that come one behind the other share it, and its compiling."""
        if (precision, compiled) not in self.runners:
            dtype = TORCH_DTYPES[precision]
            module = self.module if dtype == torch.float32 else copy.deepcopy(self.module).to(dtype)
            torch._dynamo.reset()
            self.runners = {(precision, compiled): torch.compile(module, dynamic=False) if compiled else module}
        return self.runners[precision, compiled]

    def run_torch(self, precision, mode):
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        inputs = cast(self.inputs, TORCH_DTYPES[precision])
        row = {}
        with torch.inference_mode():
            runner = self.runner(precision, mode.startswith("compile"))
            began = time.time()
            outputs = export.as_tuple(runner(**inputs))
            torch.cuda.synchronize()
            row["first_s"] = round(time.time() - began, 2)
            row["error"], row["relative_error"] = error(outputs, self.expected)
            del outputs
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            call = lambda: runner(**inputs)  # noqa: E731
            graph = None
            if mode.endswith("graph"):
                graph = in_graph(call)
                call = graph[0].replay
            for _ in range(3):
                call()
            row["ms"] = single_call_ms(call)
            row["mean_ms"] = back_to_back_ms(call, row["ms"])
            row["peak_mib"] = torch.cuda.max_memory_allocated() / 2**20
        return row

    def run_plica(self, command, precision, folder):
        out = os.path.join(folder, "outputs.npz")
        ran = subprocess.run([*command, "--device", "cuda:0", "--precision", precision, "bench", self.path,
                              self.path[:-5] + ".npz", "--stored-edges", "--repeat", "30", "--json", "--steps",
                              "--output", out], capture_output=True, text=True, timeout=180)
        if ran.returncode != 0:
            raise RuntimeError(" ".join(ran.stderr.split())[-400:])
        measured = json.loads(ran.stdout.strip().splitlines()[-1])
        with np.load(out) as arrays:
            outputs = [torch.from_numpy(arrays[str(i)]).cuda() for i in range(len(self.expected))]
        row = dict(zip(("error", "relative_error"), error(outputs, self.expected)))
        row.update({key: measured[key] for key in ("host_us", "load_ms", "first_ms") if key in measured})
        row["ms"] = measured["median_ms"]
        row["mean_ms"] = measured["back_to_back_ms"]
        row["limit_percent"] = limit_share(measured["steps"][0])
        row["peak_mib"] = (measured["arena_bytes"] + measured["weights_bytes"]) / 2**20
        return row


def table(rows):
    """Markdown: a line a case and precision; the fastest of PyTorch's modes beside ours."""
    lines = ["| workload | precision | PyTorch ms (mode) | Plica ms | ratio | mean of 100, PyTorch / Plica | relative error | MiB |",
             "|---|---|---|---|---|---|---|---|"]
    keys = dict.fromkeys((row["case"], row["precision"]) for row in rows)
    for case, precision in keys:
        mine = [r for r in rows if (r["case"], r["precision"]) == (case, precision)]
        ours = next((r for r in mine if r["system"] == "plica"), {})
        peers = sorted((r for r in mine if r["system"] != "plica" and "ms" in r), key=lambda r: r["ms"])
        best = peers[0] if peers else {}
        show = lambda row, key, form="{:.4g}": form.format(row[key]) if key in row else "-"  # noqa: E731
        ratio = f"{ours['ms'] / best['ms']:.2f}" if "ms" in ours and best else "-"
        lines.append(
            f"| {cases.CASES[case].title} | {precision} | {show(best, 'ms')} ({best.get('mode', '-')}) | "
            f"{show(ours, 'ms') if 'ms' in ours else ours.get('failed', '-')[:80]} | {ratio} | "
            f"{show(best, 'mean_ms')} / {show(ours, 'mean_ms')} | {show(best, 'relative_error', '{:.1e}')} / "
            f"{show(ours, 'relative_error', '{:.1e}')} | {show(best, 'peak_mib', '{:.0f}')} / "
            f"{show(ours, 'peak_mib', '{:.0f}')} |")
    return "\n".join(lines) + "\n"


def odd_table(rows):
    """Markdown: the shares of the device's limit at odd shapes beside those at round ones; empty without such rows."""
    share = {(r["case"], r["precision"]): r["limit_percent"] for r in rows if "limit_percent" in r}
    lines = []
    for (case, precision), percent in share.items():
        whole = share.get((cases.ODD_CASES.get(case), precision))
        if whole:
            lines.append(f"| {cases.CASES[case].title} | {precision} | {percent:.0f} % | {whole:.0f} % | {percent / whole:.2f} |")
    head = ["| odd shape | precision | of the limit | round shape | ratio |", "|---|---|---|---|---|"]
    return "\n".join(head + lines) + "\n" if lines else ""


def measure(row, run):
    """The row with what run() found, or with why it failed."""
    try:
        row.update(run())
    except Exception as failure:  # a peer that cannot run a case is a row too
        row["failed"] = f"{type(failure).__name__}: {' '.join(str(failure).split())[:300]}"
    torch.cuda.empty_cache()
    return row


def main():
    if sys.argv[1:2] == ["--compile-only"]:
        compile_only(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plica", required=True, help="the program, with options if it needs some")
    parser.add_argument("--out", required=True, help="result files without their endings")
    parser.add_argument("--cases", default=",".join(cases.CASES))
    parser.add_argument("--precisions", default="fp32,tf32x3,tf32,bf16")
    parser.add_argument("--modes", default=",".join(MODES), help="of PyTorch; empty: Plica alone")
    parser.add_argument("--odd", action="store_true", help="the odd shapes and the round ones beside them, Plica alone")
    parser.add_argument("--compilers", type=int, default=0, help="processes that compile PyTorch's modules beforehand")
    parser.add_argument("--models", help="folder for the exported models, kept; default: a temporary one")
    parser.add_argument("--limit-s", type=float, default=1e9, help="start no further case after so long")
    options = parser.parse_args()
    if options.odd:
        options.cases = ",".join(sum(cases.ODD_CASES.items(), ()))
        options.precisions, options.modes = "fp32,tf32,bf16", ""
    modes = [mode for mode in options.modes.split(",") if mode]
    began, rows = time.time(), []
    with tempfile.TemporaryDirectory() as temporary, open(options.out + ".jsonl", "w") as lines:

        def keep(row):
            rows.append(row)
            print(json.dumps(row), file=lines, flush=True)
            print({k: v for k, v in row.items() if k not in ("first_s",)}, flush=True)

        names, folder = options.cases.split(","), options.models or temporary
        export_all(names, folder)
        if options.compilers and any(mode.startswith("compile") for mode in modes):
            compile_all(names, options.precisions.split(","), options.compilers)
        for name in names:
            if time.time() - began > options.limit_s:
                print(f"{name}: not run, the time is up")
                continue
            case = Case(name, folder)
            for precision in options.precisions.split(","):
                key = {"case": name, "precision": precision}
                keep(measure({**key, "system": "plica"},
                             lambda: case.run_plica(options.plica.split(), precision, folder)))
                for mode in modes if precision in TORCH_DTYPES else []:
                    keep(measure({**key, "system": "torch " + torch.__version__, "mode": mode},
                                 lambda: case.run_torch(precision, mode)))
            del case
    with open(options.out + ".md", "w") as page:
        page.write(table(rows) + "\n" + odd_table(rows))
    print(table(rows))
    print(odd_table(rows))


if __name__ == "__main__":
    main()
