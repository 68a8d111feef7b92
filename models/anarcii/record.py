"""Records expected/*.npz: what the package's own PyTorch modules compute for the chains of chains.fasta.

    python3 models/anarcii/record.py anarcii-2.0.8-py3-none-any.whl

Needs torch, numpy and onnx (recorded with torch 2.15, on a CPU). The modules are read out of the wheel, since importing
the package needs all that it depends on; the loop over the decoder's steps is written here.
"""

import argparse
import io
import os
import types
import zipfile

import numpy as np
import torch

import export

FOLDER = os.path.dirname(os.path.abspath(__file__))
WIDTH, DROPOUT = 128, 0.0
PAD, SOS, EOS, SKIP = range(4)
# What is recorded of each model; the small one is of two minds about what is no antibody.
CHAINS = {
    "antibody": ["trastuzumab_VH", "trastuzumab_VL", "ubiquitin"],
    "antibody_speed": ["trastuzumab_VH", "trastuzumab_VL"],
}
ROW_STEP = 10  # every tenth row of states and logits is kept, to keep the files small


def read_fasta(path):
    records = {}
    with open(path, encoding="ascii") as file:
        for line in file:
            if line.startswith(">"):
                name = line[1:].split()[0]
                records[name] = ""
            else:
                records[name] += line.strip()
    return records


def load(wheel, name):
    """The published S2S module with the weights of one of export.MODELS."""
    with zipfile.ZipFile(wheel) as archive:
        module = types.ModuleType("anarcii_model")
        exec(archive.read("anarcii/inference/model.py"), module.__dict__)
        member = f"anarcii/models/{export.MODELS[name][0]}"
        state = torch.load(io.BytesIO(archive.read(member)), map_location="cpu")
    num_layers, num_targets = export.num_layers(state, "encoder"), len(state["decoder.fc_out.bias"])
    shared = (WIDTH, num_layers, export.NUM_HEADS, 4 * WIDTH, DROPOUT, "cpu")
    encoder = module.Encoder(len(export.SOURCE_TOKENS), *shared)
    decoder = module.Decoder(num_targets, *shared)
    model = module.S2S(encoder, decoder, PAD, PAD, "cpu")
    model.load_state_dict(state, strict=True)
    return model.eval()


@torch.no_grad()
def decode(model, source):
    """Greedily, one label more than the source has tokens: states, target ids, logits of each step."""
    mask = model.make_src_mask(source)
    states = model.encoder(source, mask)
    target, logits, caches = torch.tensor([[SOS]]), [], None
    for _ in range(source.shape[1]):
        padding, causal = model.make_trg_mask(target)
        out, caches = model.decoder(target[:, -1:], states, padding, causal, mask, caches)
        logits.append(out[0, -1])
        target = torch.cat([target, out.argmax(2)], 1)
    return states[0], target, torch.stack(logits)


def score(target, logits, x):
    """The mean of the top logits, as the package takes it: at each numbered place that of the place behind it."""
    end = target.index(EOS) if EOS in target else len(target) - 1
    places = [i for i in range(end) if target[i] not in (PAD, SOS, SKIP, x)]
    return float(logits.max(1).values[places].mean())


def main():
    parser = argparse.ArgumentParser(description="Records the expected results of ANARCII.")
    parser.add_argument("wheel", help="anarcii-2.0.8-py3-none-any.whl")
    wheel = parser.parse_args().wheel
    sequences = read_fasta(os.path.join(FOLDER, "chains.fasta"))
    for name, chains in CHAINS.items():
        model = load(wheel, name)
        tokens = export.target_tokens(export.MODELS[name][1])
        for chain in chains:
            ids = [SOS, *(export.SOURCE_TOKENS.index(letter) for letter in sequences[chain]), EOS]
            states, target, logits = decode(model, torch.tensor([ids]))
            labels = target[0].tolist()
            found = score(labels, logits, tokens.index("X"))
            np.savez(
                os.path.join(FOLDER, "expected", f"{name}_{chain}.npz"),
                source_ids=np.array([ids]),
                target_ids=target.numpy(),
                rows=np.arange(0, len(ids), ROW_STEP),
                encoder_states=states[::ROW_STEP].numpy(),
                logits=logits[::ROW_STEP].numpy(),
                score=np.float64(found),
            )
            gap = logits.topk(2).values[: labels.index(EOS) if EOS in labels else None]
            print(name, chain, f"score {found:.4f}", f"smallest gap {float((gap[:, 0] - gap[:, 1]).min()):.1f}",
                  " ".join(tokens[label] for label in labels))


if __name__ == "__main__":
    main()
