"""Shows which antibody domains are alike, and how far the vectors are from those that PyTorch computed.

    antibody_neighbours.py VECTORS.npz ANTIBODIES.fasta EXPECTED.npz

Both npz files hold one vector under each record's id. Ends with 1 when a vector is missing or differs by over 1e-4.
"""

import sys

import numpy as np

TOLERANCE = 1e-4


def read_headers(path):
    """{id: description} in the order of the file."""
    with open(path, encoding="utf-8") as file:
        headers = [line[1:].strip().partition(" ") for line in file if line.startswith(">")]
    return {name: description for name, _, description in headers}


def show_neighbours(vectors, headers):
    names = list(headers)
    unit = np.stack([vectors[name] / np.linalg.norm(vectors[name]) for name in names])
    cosine = unit @ unit.T - 2 * np.eye(len(names), dtype=unit.dtype)
    width = max(map(len, names))
    about = max(map(len, headers.values()))
    print(f"\n{'domain':{width}}  {'target and origin':{about}}  {'most alike':{width}}  cosine")
    alike = 0
    for row, name in enumerate(names):
        nearest = names[int(cosine[row].argmax())]
        alike += name[-2:] == nearest[-2:]
        print(f"{name:{width}}  {headers[name]:{about}}  {nearest:{width}}  {cosine[row].max():.3f}")
    print(f"\n{alike} of {len(names)} domains are nearest to one of their own kind, heavy (VH) or light (VL).")


def main():
    vectors, expected = np.load(sys.argv[1]), np.load(sys.argv[3])
    headers = read_headers(sys.argv[2])
    missing = [name for name in headers if name not in vectors.files]
    if missing:
        sys.exit(f"{sys.argv[1]}: holds {', '.join(vectors.files)}; no vector for {', '.join(missing)}")
    show_neighbours(vectors, headers)
    difference = max(float(np.abs(vectors[name] - expected[name]).max()) for name in headers)
    print(f"Largest difference from PyTorch on the same weights: {difference:.1e} (allowed: {TOLERANCE:.0e})")
    if not difference <= TOLERANCE:
        sys.exit("the vectors differ from the expected ones")


if __name__ == "__main__":
    main()
