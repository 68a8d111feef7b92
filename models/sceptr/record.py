"""Records expected/receptors.npz: what PyTorch computes with the published weights for a few receptors.

    python3 models/sceptr/record.py sceptr-1.2.0-py3-none-any.whl

Needs torch, numpy and onnx (recorded with torch 2.15, on a CPU). The model is put together here: one-hot codes and
relative places as the package libtcrlm describes them, a projection, PyTorch's own nn.TransformerEncoder, in fp64.
"""

import argparse
import io
import os
import zipfile

import numpy as np
import torch

import export

FOLDER = os.path.dirname(os.path.abspath(__file__))
WIDTH, NUM_HEADS, NUM_LAYERS = 64, 8, 3
# The T-cell receptor A6, which knows the peptide Tax of a virus on HLA-A2.
A6 = {"CDR1A": "DRGSQS", "CDR2A": "IYSNGD", "CDR3A": "CAVTTDSWGKLQF",
      "CDR1B": "MNHEY", "CDR2B": "SVGAGI", "CDR3B": "CASRPGLAGGRPEQYF"}
RECEPTORS = {
    "A6": A6,
    "A6, CDR3B Y15F": {**A6, "CDR3B": "CASRPGLAGGRPEQFF"},
    "A6 with another beta chain": {**A6, "CDR1B": "SGHNS", "CDR2B": "FNNNVP", "CDR3B": "CASSLGQAYEQYF"},
    "beta chain of A6": {name: loop for name, loop in A6.items() if name.endswith("B")},
    "A6, one residue in CDR2A": {**A6, "CDR2A": "I"},
    "A6, ends of both CDR3 masked": {**A6, "CDR3A": "?AVTTDSWGKLQ?", "CDR3B": "?ASRPGLAGGRPEQY?"},
}


def load(wheel):
    """Projection, encoder and head."""
    with zipfile.ZipFile(wheel) as archive:
        state = torch.load(io.BytesIO(archive.read("sceptr/_model_saves/SCEPTR/state_dict.pt")))
    layer = torch.nn.TransformerEncoderLayer(WIDTH, NUM_HEADS, 4 * WIDTH, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, NUM_LAYERS)
    projection, head = torch.nn.Linear(29, WIDTH, bias=False), torch.nn.Linear(WIDTH, len(export.LETTERS))
    parts = {export.STACK.removesuffix(".layers"): encoder, "_self_attention_stack._initial_projector": projection,
             "_mlm_token_prediction_projector.projector": head}
    for prefix, module in parts.items():
        own = {name.removeprefix(prefix + "."): x for name, x in state.items() if name.startswith(prefix + ".")}
        module.load_state_dict(own, strict=True)
        module.double().eval()
    torch.backends.mha.set_fastpath_enabled(False)
    return projection, encoder, head


def codes(tokens):
    """One-hot letter, relative place, one-hot loop. (B, L, 29)"""
    letter, place, length, loop = tokens.unbind(-1)
    relative = ((place - 1).double() / (length - 1).double()).nan_to_num(0.5)
    relative = torch.where(place == 0, 0.0, relative)
    one_hot = torch.nn.functional.one_hot
    num_letters = export.FIRST_LETTER + len(export.LETTERS)
    return torch.cat([one_hot(letter, num_letters)[..., 1:].double(), relative[..., None],
                      one_hot(loop, len(export.LOOPS) + 1)[..., 1:].double()], -1)


def main():
    parser = argparse.ArgumentParser(description="Records the expected results of SCEPTR.")
    parser.add_argument("wheel", help="sceptr-1.2.0-py3-none-any.whl")
    projection, encoder, head = load(parser.parse_args().wheel)
    rows = [export.tokens_of(loops) for loops in RECEPTORS.values()]
    tokens = torch.zeros((len(rows), max(map(len, rows)), 4), dtype=torch.int64)
    for row, found in zip(rows, tokens):
        found[: len(row)] = torch.tensor(row)
    with torch.no_grad():
        states = encoder(projection(codes(tokens)), src_key_padding_mask=tokens[..., 0] == export.PAD)
        logits = head(states)
    vectors = torch.nn.functional.normalize(states[:, 0])
    np.savez(os.path.join(FOLDER, "expected", "receptors.npz"), tokens=tokens.numpy(), vector=vectors.float().numpy(),
             last_hidden_state=states[:2].float().numpy(), residue_logits=logits[-1:].float().numpy())
    for name, vector in zip(RECEPTORS, vectors):
        print(f"{name}: distance from A6 {float((vector - vectors[0]).norm()):.4f}")
    masked = tokens[-1, :, 0] == export.MASK
    print("masked:", "".join(export.LETTERS[i] for i in logits[-1, masked].argmax(-1)))


if __name__ == "__main__":
    main()
