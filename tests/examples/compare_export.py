"""The logits of an exported folder, by transformers and by `d9d-node score`, on the same tokens.

    python tests/examples/compare_export.py runs/quickstart/export [--node build/release/d9d-node] [--text FILE]

Both compute in fp32. Prints the largest difference as a share of the largest logit, and the loss of each; ends with 1
where they differ by more than TOLERANCE, with 77 (skipped) where transformers is not installed.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

TOLERANCE = 1e-5  # sums of fp32 in another order; what is wrong differs by far more
SEQUENCES, LENGTH = 4, 96
TEXT = ("And the king said unto them, Hear me, I pray thee. In the beginning God created the heaven and the earth. "
        "Blessed are the meek: for they shall inherit the earth. 1 Numbers 23, and signs; \"quotes\" too.\n")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder")
    arguments.add_argument("--node", default="build/release/d9d-node")
    arguments.add_argument("--text", help="a file; otherwise some sentences")
    given = arguments.parse_args()
    try:
        import numpy
        import torch
        from safetensors.numpy import load_file
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as missing:
        print(f"skipped: {missing}")
        return 77
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 2)))

    text = pathlib.Path(given.text).read_text(encoding="utf-8") if given.text else TEXT
    ids = AutoTokenizer.from_pretrained(given.folder)(text, add_special_tokens=False)["input_ids"]
    # Begins at other places, so that the sequences differ.
    tokens = numpy.array([numpy.resize(numpy.roll(ids, -17 * i), LENGTH) for i in range(SEQUENCES)], dtype=numpy.int64)
    model = AutoModelForCausalLM.from_pretrained(given.folder, dtype=torch.float32).eval()
    with torch.no_grad():
        output = model(torch.from_numpy(tokens), labels=torch.from_numpy(tokens))
    theirs, their_loss = output.logits.numpy(), output.loss.item()

    with tempfile.TemporaryDirectory() as folder:
        numpy.save(f"{folder}/ids.npy", tokens)
        subprocess.run([given.node, "score", given.folder, "--tokens", f"{folder}/ids.npy", "--out",
                        f"{folder}/scores.safetensors", "--logits"], check=True, stdout=subprocess.DEVNULL)
        scores = load_file(f"{folder}/scores.safetensors")
    ours = scores["logits"].reshape(theirs.shape)

    largest = float(numpy.abs(theirs).max())
    difference = float(numpy.abs(ours - theirs).max()) / largest
    print(f"{given.folder}: {theirs.shape[0]} sequences of {theirs.shape[1]} tokens; the logits differ by at most "
          f"{difference:.1e} of the largest ({largest:.3f}); loss {float(scores['loss']):.6f}, transformers {their_loss:.6f}")
    return 0 if difference <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
