"""Folders in which tokens stand beside the tokenizer's file, as transformers reads them: expect.beside.json.

Run: python make_beside.py   (after make.py, make_kinds.py and make_sentence_piece.py; needs `transformers` of the version in origin.md)

A folder is one of the tokenizers here under the usual name and the files that the case names. Of a .model the texts begin with
no blank: there transformers' classes and SentencePiece itself go three ways.
"""
import json
import pathlib
import shutil
import tempfile

import transformers

HERE = pathlib.Path(__file__).parent
TEXTS = ["And God said", "<|im_start|>user\nAnd then?<|im_end|>\n<|im_start|>assistant\nIt  is.<|im_end|>\n", "<s>[INST] And [/INST]\nIt </s>",
         "x<extra>  y <extra>", "the<|im_end|> the <|im_end|>the", "a <pad> b", ""]


def token(content, special=True, **flags):
    return {"content": content, "lstrip": False, "normalized": not special, "rstrip": False, "single_word": False, "special": special, **flags}


def llama(**more):
    return {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", **more}


def general(**more):
    return {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False, **more}


def ids_of(name, tokens):
    """The tokenizer's own, else the next ones."""
    root = json.loads((HERE / name).read_text())
    known = {token["content"]: token["id"] for token in root["added_tokens"]}
    next_id = max([len(root["model"]["vocab"]) - 1] + list(known.values())) + 1
    for token in tokens:
        if token not in known:
            known[token] = next_id
            next_id += 1
    return [known[token] for token in tokens]


def cases():
    n = 700
    start, end = "<|im_start|>", "<|im_end|>"
    yield "piece_bpe.model", {"tokenizer_config.json": llama(), "added_tokens.json": {start: n, end: n + 1}}
    yield "piece_bpe.model", {"tokenizer_config.json": llama(legacy=True), "added_tokens.json": {start: n, end: n + 1}}
    yield "piece_bpe.model", {"tokenizer_config.json": llama(add_bos_token=True, added_tokens_decoder={
        "0": token("<unk>"), "1": token("<s>"), "2": token("</s>"), str(n): token(start), str(n + 1): token(end),
        str(n + 2): token("<extra>", special=False, rstrip=True)})}
    yield "piece_bpe.model", {"tokenizer_config.json": llama(add_bos_token=True, add_eos_token=True)}
    yield "piece_bpe.model", {"tokenizer_config.json": llama(add_prefix_space=False, pad_token="<pad>"), "added_tokens.json": {"<pad>": n}}
    for name in ["qwen.json", "llama.json", "gemma.json", "prepend.json"]:
        first, second, third = ids_of(name, [start, end, "<extra>"])
        decoder = {str(first): token(start), str(second): token(end), str(third): token("<extra>", special=False, lstrip=True)}
        yield name, {"tokenizer_config.json": general(added_tokens_decoder=decoder, eos_token=end)}
        yield name, {"tokenizer_config.json": general(add_bos_token=True, bos_token=start, added_tokens_decoder=decoder)}
    n, = ids_of("llama.json", ["<pad>"])
    yield "llama.json", {"tokenizer_config.json": general(add_bos_token=False), "added_tokens.json": {"<pad>": n},
                         "special_tokens_map.json": {"pad_token": "<pad>"}}


def read(base, files):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        shutil.copy(HERE / base, folder / f"tokenizer{pathlib.Path(base).suffix}")
        (folder / "config.json").write_text(json.dumps({"model_type": "llama"}))
        for name, content in files.items():
            (folder / name).write_text(json.dumps(content))
        return transformers.AutoTokenizer.from_pretrained(folder)


def result(tokenizer, text):
    plain = tokenizer(text, add_special_tokens=False)["input_ids"]
    around = tokenizer(text)["input_ids"]
    return {"text": text, "ids": plain, "ids_special": around, "decoded": tokenizer.decode(around, skip_special_tokens=True)}


if __name__ == "__main__":
    lines = []
    for base, files in cases():
        tokenizer = read(base, files)
        # The same three ways, where each text between tokens begins anew.
        legacy = files.get("tokenizer_config.json", {}).get("legacy")
        texts = [text for text in TEXTS if not (legacy and "> " in text)]
        results = [result(tokenizer, text) for text in texts]
        for case in results if legacy else []:
            del case["decoded"]
        lines.append(json.dumps({"base": base, "files": files, "vocab_size": len(tokenizer),
                                 "texts": results}, separators=(",", ":")))
    (HERE / "expect.beside.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
