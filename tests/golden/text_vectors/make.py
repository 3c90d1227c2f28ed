"""Writes tests/golden/text_vectors/expect.json: what transformers makes of whole texts, text by text and without padding,
with the models of tests/golden/heads and tests/golden/dense_families/qwen2.

Usage: python make.py   (torch, transformers >= 5; see origin.md for versions)
"""
import json
import pathlib

import torch
from transformers import AutoModel, AutoModelForCausalLM, Qwen3ForSequenceClassification

HERE = pathlib.Path(__file__).parent
GOLDEN = HERE.parent
SEED = 20261128
VOCABULARY = 61
SEQUENCE_LENGTH = 6
LENGTHS = [5, 1, 2, 6, 7, 13, 1, 3]  # of the texts; one longer than a sample goes on in the next one


def numbers(tensor):
    return [round(value, 7) for value in tensor.tolist()]


def pieces_of(ids):
    return [ids[begin:begin + SEQUENCE_LENGTH] for begin in range(0, len(ids), SEQUENCE_LENGTH)]


def load(kind, name):
    return kind.from_pretrained(GOLDEN / name, attn_implementation="eager", dtype=torch.float32).eval()


@torch.no_grad()
def vectors(model, pieces):
    states = [model(input_ids=torch.tensor([piece])).last_hidden_state[0] for piece in pieces]
    return {"last": [numbers(state[-1]) for state in states], "first": [numbers(state[0]) for state in states]}


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(SEED)
    texts = [torch.randint(3, VOCABULARY, (length,), generator=generator).tolist() for length in LENGTHS]
    pieces = [piece for text in texts for piece in pieces_of(text)]
    rows = pieces_of([token for text in texts for token in text])
    expect = {"sequence_length": SEQUENCE_LENGTH, "texts": texts, "pieces": [len(piece) for piece in pieces]}
    for name in ("embedding", "embedding_both_ways"):
        model = load(AutoModel, f"heads/{name}")
        expect[name] = {"pieces": vectors(model, pieces), "rows": vectors(model, rows)}
    classifier = load(Qwen3ForSequenceClassification, "heads/classifier")
    scores = [classifier(input_ids=torch.tensor([piece])).logits[0].softmax(-1) for piece in pieces]
    expect["classes"] = [[int(score.argmax()), round(float(score.max()), 7)] for score in scores]
    language = load(AutoModelForCausalLM, "dense_families/qwen2")
    expect["next"] = [int(language(input_ids=torch.tensor([piece])).logits[0, -1].argmax()) for piece in pieces]
    (HERE / "expect.json").write_text(json.dumps(expect) + "\n")


if __name__ == "__main__":
    main()
