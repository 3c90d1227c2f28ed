"""Which bytes of a text each token was made of, as the `tokenizers` library says: expect.spans.json.

Run: python make_spans.py   (after make.py and make_kinds.py; needs `tokenizers` of the version in origin.md)

The library counts characters, and blanks that its post-processor trims; here are bytes, and no post-processor.
"""
import json
import pathlib
import re

import tokenizers

import make_kinds

HERE = pathlib.Path(__file__).parent
KINDS = ["qwen", "gpt2", "template", "scripts", "characters", "fallback", "bert", "cased", "roberta", "unigram", "first", "pieces",
         "llama", "prepend", "gemma", "clip", "affixes", "words"]
CHATS = ["<|im_start|>user\nWhat is 7 + 5?<|im_end|>\n<|im_start|>assistant\nIt is twelve.<|im_end|>\n",
         "<s>[INST] And  then? [/INST]\nAnd so on.</s>", "\n\nAnd\n the end", "café au lait, naïve",
         "e\u0301te\u0301 \ufb01n \u1100\u1161\u11a8 \u212b", "日本語 と English mixed 😀😀 end", "   spaces   everywhere   ", "ÀÉÎ ÕÜ ıİ ſ"]

# Of two marks in a row the library composes one and counts the other as made of either.
MARKS = re.compile("[\u0300-\u036f]{2}")


def spans(tokenizer, text):
    ends, at = [0], 0
    for character in text:
        at += len(character.encode())
        ends.append(at)
    encoding = tokenizer.encode(text, add_special_tokens=False)
    return {"ids": encoding.ids, "spans": [[ends[begin], ends[end]] for begin, end in encoding.offsets]}


def cases(kind, texts):
    root = json.loads((HERE / f"{kind}.json").read_text())
    root["post_processor"] = root["padding"] = root["truncation"] = None
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(root))
    return [{"text": text, **spans(tokenizer, text)} for text in texts]


if __name__ == "__main__":
    texts = CHATS + [text for text in make_kinds.texts() if len(text) < 120 and not MARKS.search(text)][::24]
    lines = []
    for kind in KINDS:
        lines += [json.dumps({"kind": kind, **case}, separators=(",", ":")) for case in cases(kind, texts)]
    (HERE / "expect.spans.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
