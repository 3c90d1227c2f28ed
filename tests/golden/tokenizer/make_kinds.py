"""As make.py, for the other kinds of models and what belongs to them: WordPiece, Unigram, WordLevel, BPE with a prefix or
a suffix, Metaspace, Precompiled, BertNormalizer. Also classes.json: what normalizers do to every single character.

Run: python make_kinds.py   (needs `tokenizers`, `sentencepiece` and `protobuf`; the versions used are in origin.md)
"""
import io
import json
import pathlib
import tempfile

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import make

HERE = pathlib.Path(__file__).parent
BYTES = [f"<0x{b:02X}>" for b in range(256)]


def texts():
    return make.texts() + [
        "[UNK]", "[CLS] a [SEP] b [MASK]", "x[MASK]y", "a##b", "##", "<unk>", "a<unk>b", "<s>hello</s>", "<s> hello </s>world", "hello<s>",
        "\u2581\u2581x \u2581", " \u2581", "\x00\x01\ufffd", "\uff21\uff22\uff23 \uff11\uff12", "\ufb01sh e\u0301 \u2122\x1eg", "\x7fa",
        "\u4e00\u3400\U00020000\uf900b", "Don't do not, it 's I 've we 're he 'm . ? ! ,", "a\u0301\u0300b\u0488c\u0903", "\r\na\r\n", "\t a",
        "unbelievably", "tensortensortensor", "\U0010ffff\U000e0001", "a\u200bb\u200ec\u2028d\u1680e\ufefff", "  <mask>  word  ", "é\u0301 <s>é",
        "\u212b \u03a3\u03a3 \u1e9e \u0130I", "1\u00bd2\u0969", "\u3000\u3000a", "xXx yYy", "don\u2019t \u201cquote\u201d"]


def character_map():
    """The map of a model that SentencePiece trains with a few rules of its own; its own maps are too large for this folder."""
    from sentencepiece import sentencepiece_model_pb2  # here: make_sentence_piece.py does without protobuf

    rules = [("\u212b", "A"), ("e\u0301", "é"), ("\ufb01", "fi"), ("\u2122", "TM"), ("\x1e", ""), ("\r", " "), ("\n", " "), ("\t", " "),
             ("\u3000", " "), ("\u00a0", " "), ("\x7f", ""), ("\u0300", ""), ("\u03a3", "\u03c3"), ("\u1100\u1161", "\uac00"),
             ("\u0915\u093c", "\u0958"), ("\u00bd", "1/2"), ("A\u030a", "\u00c5"), ("\u2019", "'"), ("🙂", ":-)"), ("\u200b", " ")]
    rules += [(chr(0xff01 + i), chr(0x21 + i)) for i in range(94)]
    with tempfile.NamedTemporaryFile("w", suffix=".tsv", encoding="utf-8") as table:
        for source, target in rules:
            table.write(" ".join(f"{ord(c):X}" for c in source) + "\t" + " ".join(f"{ord(c):X}" for c in target) + "\n")
        table.flush()
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(make.corpus()), model_writer=model, vocab_size=300,
                                                 normalization_rule_tsv=table.name, hard_vocab_limit=False, minloglevel=2)
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model.getvalue())
    return proto.normalizer_spec.precompiled_charsmap


def train(tokenizer, trainer):
    tokenizer.train_from_iterator(make.corpus(), trainer)
    return tokenizer


def around(tokenizer, single, tokens):
    return processors.TemplateProcessing(single=single, special_tokens=[(t, tokenizer.token_to_id(t)) for t in tokens])


def bert():
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=40))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    train(t, trainers.WordPieceTrainer(vocab_size=600, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
                                       show_progress=False))
    t.post_processor = processors.BertProcessing(("[SEP]", t.token_to_id("[SEP]")), ("[CLS]", t.token_to_id("[CLS]")))
    t.enable_truncation(8)
    t.enable_padding(length=16, pad_id=0, pad_token="[PAD]")
    return t


def cased():
    """Accents and case are kept, words are cut otherwise; the decoder leaves spaces before signs."""
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", continuing_subword_prefix="@@"))
    t.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True)])
    t.decoder = decoders.WordPiece(prefix="@@", cleanup=False)
    return train(t, trainers.WordPieceTrainer(vocab_size=500, special_tokens=["[UNK]"], continuing_subword_prefix="@@",
                                              show_progress=False))


def roberta():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    make.train(t, 600, ["<s>", "<pad>", "</s>", "<unk>"])
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    t.post_processor = processors.RobertaProcessing(("</s>", t.token_to_id("</s>")), ("<s>", t.token_to_id("<s>")))
    return t


def unigram():
    """As T5: a character map, Metaspace before every text, the end token after it."""
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.Precompiled(character_map()), normalizers.Strip(left=False, right=True),
                                         normalizers.Replace(Regex(" {2,}"), "\u2581")])
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.decoder = decoders.Metaspace()
    train(t, trainers.UnigramTrainer(vocab_size=500, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>",
                                     show_progress=False))
    t.post_processor = around(t, "$A </s>", ["</s>"])
    return t


def first():
    """Metaspace before the first word only, after normalizers that take characters away at the begin; marks go."""
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKD(), normalizers.StripAccents(),
                                         normalizers.Strip(left=True, right=False)])
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    t.decoder = decoders.Metaspace(prepend_scheme="first")
    train(t, trainers.UnigramTrainer(vocab_size=400, special_tokens=["<unk>", "<s>", "</s>"], unk_token="<unk>", show_progress=False))
    t.add_tokens([AddedToken("word", single_word=True, normalized=True), AddedToken("<mask>", rstrip=True, normalized=False)])
    t.post_processor = around(t, "<s> $A </s>", ["<s>", "</s>"])
    return t


def pieces():
    """Unigram with bytes for unknown characters, words cut at white space, each with a prefix (as XLM-R)."""
    t = Tokenizer(models.Unigram())
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    t.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
    train(t, trainers.UnigramTrainer(vocab_size=400, special_tokens=["<unk>", "<s>"], unk_token="<unk>", show_progress=False))
    model = json.loads(t.to_str())
    model["model"]["byte_fallback"] = True
    model["model"]["vocab"] = [v for v in model["model"]["vocab"] if v[0].isascii() or v[0].startswith("\u2581")]
    model["model"]["vocab"] += [[b, 0.0] for b in BYTES]
    return Tokenizer.from_str(json.dumps(model))


def llama():
    """As Llama 2 and Mistral today: no normalizer, Metaspace before the first text, the text is one word."""
    t = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=True)
    t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                                   decoders.Strip(" ", 1, 0)])
    make.train(t, 900, ["<unk>", "<s>", "</s>"] + BYTES, alphabet=False)
    model = json.loads(t.to_str())
    model["pre_tokenizer"]["split"] = False
    t = Tokenizer.from_str(json.dumps(model))
    t.add_special_tokens([AddedToken("<s>", normalized=False), AddedToken("</s>", normalized=False)])
    t.post_processor = around(t, "<s> $A", ["<s>"])
    return t


def prepend():
    """As Llama 2's and Mistral's older files: the normalizer does it, nothing cuts the text."""
    model = json.loads(llama().to_str())
    model["normalizer"] = {"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": "\u2581"}, {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]}
    model["pre_tokenizer"] = None
    return Tokenizer.from_str(json.dumps(model))


def gemma():
    """As Gemma: the normalizer replaces spaces and prepends nothing."""
    t = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    t.normalizer = normalizers.Replace(" ", "\u2581")
    t.pre_tokenizer = pre_tokenizers.Split("\u2581", "merged_with_previous")
    t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    make.train(t, 700, ["<pad>", "<unk>", "<s>"] + BYTES, alphabet=False)
    t.add_tokens([AddedToken("\n\n", normalized=False), AddedToken("  ", normalized=False), AddedToken("<mask>", normalized=False)])
    return t


def clip():
    """Bytes, and an end to every word."""
    t = Tokenizer(models.BPE(unk_token="<|endoftext|>", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed", invert=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False)])
    t.decoder = decoders.ByteLevel()
    train(t, trainers.BpeTrainer(vocab_size=900, special_tokens=["<|startoftext|>", "<|endoftext|>"], end_of_word_suffix="</w>",
                                 initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    t.post_processor = processors.RobertaProcessing(("<|endoftext|>", t.token_to_id("<|endoftext|>")),
                                                    ("<|startoftext|>", t.token_to_id("<|startoftext|>")))
    return t


def affixes():
    """Characters with a prefix inside words and an end to every word."""
    t = Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="##", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.Lowercase()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.BPEDecoder(suffix="</w>")
    return train(t, trainers.BpeTrainer(vocab_size=500, special_tokens=["<unk>"], continuing_subword_prefix="##",
                                        end_of_word_suffix="</w>", show_progress=False))


def words():
    t = Tokenizer(models.WordLevel(unk_token="<unk>"))
    t.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    return train(t, trainers.WordLevelTrainer(vocab_size=200, special_tokens=["<unk>"], show_progress=False))


def ranges(values):
    out = []
    for value in values:
        if out and out[-1][1] == value - 1:
            out[-1][1] = value
        else:
            out.append([value, value])
    return out


def save_classes():
    """Ranges of characters that a normalizer takes away between two letters, and of those it changes otherwise."""
    kinds = {"StripAccents": normalizers.StripAccents(), "Nmt": normalizers.Nmt(),
             "bert_clean": normalizers.BertNormalizer(True, False, False, False),
             "bert_ideographs": normalizers.BertNormalizer(False, True, False, False)}
    out = {}
    for name, normalizer in kinds.items():
        removed, changed = [], []
        for value in range(0x110000):
            if 0xD800 <= value < 0xE000:
                continue
            text = "a" + chr(value) + "b"
            found = normalizer.normalize_str(text)
            if found == "ab":
                removed.append(value)
            elif found != text:
                changed.append(value)
        out[name] = {"section": json.loads(normalizer.__getstate__()), "removed": ranges(removed), "changed": ranges(changed)}
    lines = ",\n".join(f'"{name}":{json.dumps(kind, separators=(",", ":"))}' for name, kind in out.items())
    (HERE / "classes.json").write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    for maker in (bert, cased, roberta, unigram, first, pieces, llama, prepend, gemma, clip, affixes, words):
        make.save(maker.__name__, maker(), texts())
    save_classes()
