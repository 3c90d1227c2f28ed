"""Models that SentencePiece trains on the text of make.py, and the ids its Python package gives: NAME.model, expect.NAME.json.

Run: python make_sentence_piece.py   (needs `sentencepiece` of the version in origin.md, and `tokenizers` for make.py)
"""
import json
import pathlib

import sentencepiece

import make
import make_kinds

HERE = pathlib.Path(__file__).parent
# One id each as transformers reads a .model (make_beside.py); SentencePiece itself never finds them in a text.
CONTROL = ["<unk>", "<s>", "</s>", "<pad>"]


def train(name, **options):
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(make.corpus()), model_prefix=str(HERE / name), minloglevel=2,
                                             **options)
    (HERE / f"{name}.vocab").unlink()
    processor = sentencepiece.SentencePieceProcessor(model_file=str(HERE / f"{name}.model"))
    cases = [{"text": text, "ids": processor.encode(text), "decoded": processor.decode(processor.encode(text))}
             for text in make_kinds.texts() if not any(token in text for token in CONTROL)]
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    (HERE / f"expect.{name}.json").write_text("[\n" + lines + "\n]\n")


if __name__ == "__main__":
    # As Llama 2 and Mistral.
    train("piece_bpe", model_type="bpe", vocab_size=700, byte_fallback=True, split_digits=True, normalization_rule_name="identity",
          remove_extra_whitespaces=False, character_coverage=0.98)
    # As T5: characters without a token are unknown, spaces in a row are one, words of the user's own.
    train("piece_unigram", model_type="unigram", vocab_size=400, normalization_rule_name="identity", hard_vocab_limit=False,
          user_defined_symbols=["<mask>", "tést"], pad_id=3, character_coverage=0.98)
