"""Trains the quickstart's tokenizer: a byte-level BPE with the splitting pattern of Qwen 2 and 3.

    sh make_text.sh kjv.txt && python make_tokenizer.py kjv.txt tokenizer.json     (pip install tokenizers==0.23.3)

The committed tokenizer.json is its output, so the quickstart itself needs no Python.
"""
import sys

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

VOCAB_SIZE = 2048  # <|endoftext|> included: a multiple of 64, small enough for a small model's head
PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
           r"|\s*[\r\n]+|\s+(?!\S)|\s+")


def main(text_path, out_path):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PATTERN), "isolated", invert=False),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(vocab_size=VOCAB_SIZE - 1, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  show_progress=False)
    tokenizer.train([text_path], trainer)
    tokenizer.add_special_tokens(["<|endoftext|>"])
    assert tokenizer.get_vocab_size() == VOCAB_SIZE
    tokenizer.save(out_path, pretty=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
