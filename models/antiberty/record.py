"""Records expected/*.npz: what the package's own PyTorch code computes for the antibodies of antibodies.fasta.

    python3 models/antiberty/record.py antiberty-0.1.3-py3-none-any.whl

Needs torch, transformers and numpy (recorded with torch 2.15 and transformers 5.24, on a CPU). `from_pretrained` of
the package fails with transformers 5 and its tokenizer maps every letter to [UNK], so the class is built from the
config, the state loaded by hand, and the ids are written here.
"""

import argparse
import io
import json
import os
import sys
import zipfile

import numpy as np
import torch
import transformers
from transformers.models.bert import modeling_bert

FOLDER = os.path.dirname(os.path.abspath(__file__))
TRAINED = "antiberty/trained_models/AntiBERTy_md_smooth/"
LETTERS = "ACDEFGHIKLMNPQRSTVWY"
CLS, SEP, MASK, FIRST_LETTER = 2, 3, 4, 5
# Conserved residues and one of CDR3, counted from 1, all masked together.
SITES = {"trastuzumab_VH": [22, 36, 96, 103], "trastuzumab_VL": [23, 35, 88, 98]}
ROW_STEP = 3  # every third token's hidden state is kept, to keep the files small


def read_fasta(path):
    records = {}
    with open(path, encoding="ascii") as file:
        for line in file:
            if line.startswith(">"):
                name = line[1:].split()[0]
                records[name] = ""
            elif not line.startswith(";"):
                records[name] += line.strip()
    return records


def load(wheel):
    sys.path.insert(0, wheel)
    modeling_bert.ModelOutput = transformers.utils.ModelOutput
    from antiberty.model.AntiBERTy import AntiBERTy

    AntiBERTy.all_tied_weights_keys = {}
    with zipfile.ZipFile(wheel) as archive:
        config = transformers.BertConfig(**json.loads(archive.read(TRAINED + "config.json")))
        state = torch.load(io.BytesIO(archive.read(TRAINED + "pytorch_model.bin")), map_location="cpu")
    config._attn_implementation = "eager"
    model = AntiBERTy(config)
    state.pop("bert.embeddings.position_ids")
    model.load_state_dict(state, strict=True)
    return model.eval()


def ids_of(sequence):
    return [CLS, *(FIRST_LETTER + LETTERS.index(letter) for letter in sequence), SEP]


@torch.no_grad()
def run(model, rows):
    """`rows` are lists of ids of one length."""
    ids = torch.tensor(rows)
    return model(input_ids=ids, attention_mask=torch.ones_like(ids), output_hidden_states=True, return_dict=True)


def letter_probabilities(logits):
    return torch.softmax(logits[..., FIRST_LETTER:], -1).numpy()


def record_chain(model, name, sequence):
    """One chain whole: hidden states, heads, the masked sites, and each residue masked alone."""
    ids = ids_of(sequence)
    plain = run(model, [ids])
    kept = np.arange(0, len(ids), ROW_STEP)
    masked = list(ids)
    for site in SITES[name]:
        masked[site] = MASK
    together = letter_probabilities(run(model, [masked]).prediction_logits)[0, SITES[name]]
    alone = []
    for site in range(1, len(sequence) + 1):
        row = ids[:site] + [MASK] + ids[site + 1 :]
        alone.append(letter_probabilities(run(model, [row]).prediction_logits)[0, site])
    np.savez(
        os.path.join(FOLDER, "expected", f"{name}.npz"),
        input_ids=np.array([ids]),
        masked_input_ids=np.array([masked]),
        hidden_rows=kept,
        hidden_states=plain.hidden_states[-1][0, kept].numpy(),
        logits=plain.prediction_logits[0, kept].numpy(),
        species_logits=plain.species_logits.numpy(),
        chain_logits=plain.chain_logits.numpy(),
        graft_logits=plain.graft_logits.numpy(),
        masked_sites=np.array(SITES[name]),
        masked_site_probabilities=together,
        masked_alone_probabilities=np.array(alone),
    )
    truth = np.array([LETTERS.index(letter) for letter in sequence])
    own = np.array(alone)[np.arange(len(sequence)), truth]
    recovered = (np.array(alone).argmax(-1) == truth).mean()
    print(name, "recovered", round(100 * recovered, 1), "% mean log-likelihood", round(float(np.log(own).mean()), 4))
    for site, row in zip(SITES[name], together):
        best = row.argsort()[::-1][:3]
        print("  site", site, sequence[site - 1], " ".join(f"{LETTERS[i]} {row[i]:.3f}" for i in best))


def main():
    parser = argparse.ArgumentParser(description="Records the expected results of AntiBERTy.")
    parser.add_argument("wheel", help="antiberty-0.1.3-py3-none-any.whl")
    model = load(parser.parse_args().wheel)
    records = read_fasta(os.path.join(FOLDER, "antibodies.fasta"))
    means = [run(model, [ids_of(s)]).hidden_states[-1][0, 1:-1].mean(0).numpy() for s in records.values()]
    np.savez(os.path.join(FOLDER, "expected", "antibodies_mean.npz"), **dict(zip(records, means)))
    for name in SITES:
        record_chain(model, name, records[name])


if __name__ == "__main__":
    main()
