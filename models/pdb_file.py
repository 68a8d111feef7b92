"""Reads what the recipes' records need of a PDB file in the old format, whose columns 77 and 78 hold no element."""

import numpy as np

BACKBONE = ["N", "CA", "C", "O"]
RESIDUES = "ALA CYS ASP GLU PHE GLY HIS ILE LYS LEU MET ASN PRO GLN ARG SER THR VAL TRP TYR".split()  # by their letters
ELEMENTS = {"C": 6, "N": 7, "O": 8, "F": 9, "P": 15, "S": 16}


def _position(line):
    return [float(line[i:i + 8]) for i in (30, 38, 46)]


def read_backbone(path):
    """coords (1, L, 4, 3); tokens, number (in its chain) and chain (from 1), each (1, L); mask, all ones"""
    residues = {}
    with open(path, encoding="ascii") as file:
        for line in file:
            if line.startswith("ATOM") and line[12:16].strip() in BACKBONE and line[17:20] in RESIDUES:
                key = (line[21], int(line[22:26]), RESIDUES.index(line[17:20]))
                residues.setdefault(key, {})[line[12:16].strip()] = _position(line)
    chains = sorted({key[0] for key in residues})
    return {
        "coords": np.array([[[atoms[name] for name in BACKBONE] for atoms in residues.values()]], np.float32),
        "mask": np.ones((1, len(residues)), np.float32),
        "number": np.array([[key[1] for key in residues]]),
        "chain": np.array([[chains.index(key[0]) + 1 for key in residues]]),
        "tokens": np.array([[key[2] for key in residues]]),
    }


def read_ligand(path):
    """Positions (M, 3) and elements (M) of all heavy atoms that are neither protein nor water."""
    positions, elements = [], []
    with open(path, encoding="ascii") as file:
        for line in file:
            element = line[12:16].strip(" 0123456789")[:1]
            if line.startswith("HETATM") and line[17:20] != "HOH" and element in ELEMENTS:
                positions.append(_position(line))
                elements.append(ELEMENTS[element])
    return np.array(positions, np.float32), np.array(elements)
