"""Tokenising the King James Bible, a document a verse: tokenizer_bench in alternation with the `tokenizers` library.

    python3 tests/bench/tokenizing.py --python PYTHON [--build build/release] [--pairs N] [--threads 1,2] [--kinds qwen,bert]

PYTHON is the interpreter of an environment with `tokenizers`. The text comes from Debian's package bible-kjv. The tokenizers
are trained on it once, into build/release/bench/tokenizing. Both sides' time begins with the text in memory or the page cache
and the tokenizer read; either goes first in turn; both have to give the same ids. Printed: the median of the pairs' ratios
with 95 % of its bootstrap.
"""
import argparse
import json
import os
import statistics
import subprocess

from paired import interval, pairs_of, ratio_text

FOLDER = "build/release/bench/tokenizing"
KINDS = ("qwen", "llama", "gemma", "unigram", "bert")
TRAIN = r"""import sys
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
kind, text, out = sys.argv[1:]
BYTES = [f"<0x{b:02X}>" for b in range(256)]
PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
def bpe(specials, alphabet=()):
    return trainers.BpeTrainer(vocab_size=16000, special_tokens=specials, initial_alphabet=list(alphabet), show_progress=False)
if kind == "qwen":
    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(PATTERN), "isolated"),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    trainer = bpe(["<|endoftext|>"], pre_tokenizers.ByteLevel.alphabet())
elif kind == "llama":
    t = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    trainer = bpe(["<unk>", "<s>", "</s>"] + BYTES)
elif kind == "gemma":
    t = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    t.normalizer = normalizers.Replace(" ", "\u2581")
    t.pre_tokenizer = pre_tokenizers.Split("\u2581", "merged_with_next")
    trainer = bpe(["<unk>", "<s>", "</s>"] + BYTES)
elif kind == "unigram":
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC()])
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=8000, special_tokens=["<unk>", "</s>"], unk_token="<unk>", show_progress=False)
else:
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=8000, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], show_progress=False)
t.train([text], trainer)
if kind == "gemma":
    t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
t.save(out)
"""
PEER = """import sys, time, zlib, array
from tokenizers import Tokenizer
t = Tokenizer.from_file(sys.argv[1])
lines = [line for line in open(sys.argv[2], encoding="utf-8").read().split("\\n") if line]
begin = time.perf_counter()
out = t.encode_batch_fast(lines, add_special_tokens=False)
seconds = time.perf_counter() - begin
ids = array.array("i")
for one in out:
    ids.extend(one.ids)
print('{"seconds": %.6f, "tokens": %d, "checksum": %d}' % (seconds, len(ids), zlib.crc32(ids.tobytes())))
"""


def call(words, threads=None):
    env = dict(os.environ)
    if threads:
        env.update(RAYON_NUM_THREADS=str(threads), TOKENIZERS_PARALLELISM="false" if threads == 1 else "true")
    out = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, env=env).stdout
    return json.loads(out) if out.strip() else None


def prepare(python, kinds):
    os.makedirs(FOLDER, exist_ok=True)
    text = os.path.join(FOLDER, "bible.txt")
    if not os.path.exists(text):
        with open(text, "w") as f:
            subprocess.run(["bible", "-f", "gen1:1-rev22:21"], check=True, stdout=f)
    for kind in kinds:
        out = os.path.join(FOLDER, kind + ".json")
        if not os.path.exists(out):
            call([python, "-c", TRAIN, kind, text, out])
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default="python3")
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--kinds", default=",".join(KINDS))
    options = parser.parse_args()
    kinds = options.kinds.split(",")
    text = prepare(options.python, kinds)
    print("| tokenizer | threads | ours, M tokens/s | the library's | ratio, 95 % of its median | same ids |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kind in kinds:
        file = os.path.join(FOLDER, kind + ".json")
        for threads in map(int, options.threads.split(",")):
            pairs = pairs_of(options.pairs,
                             lambda: call([f"{options.build}/bench/tokenizer_bench", file, text, str(threads)]),
                             lambda: call([options.python, "-c", PEER, file, text], threads))
            same = all((a["tokens"], a["checksum"]) == (b["tokens"], b["checksum"]) for a, b in pairs)
            rates = [statistics.median(one[side]["tokens"] / one[side]["seconds"] for one in pairs) / 1e6 for side in (0, 1)]
            ratio = interval([b["seconds"] / a["seconds"] for a, b in pairs])
            print(f"| {kind} | {threads} | {rates[0]:.2f} | {rates[1]:.2f} | {ratio_text(ratio)} | "
                  f"{'yes' if same else 'NO'} |", flush=True)


if __name__ == "__main__":
    main()
