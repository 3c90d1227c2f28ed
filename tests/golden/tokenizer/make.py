"""Expected token ids from the `tokenizers` library, for tokenizers trained here on a text made here.

Writes NAME.json (the tokenizer) and expect.NAME.json ({"cases": [{text, ids, ids_special, decoded, decoded_all}]}).
Run: python make.py   (needs `tokenizers`; the version used is in origin.md)
"""
import json
import pathlib
import random

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).parent

QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+")
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")


def corpus():
    """Sentences over several scripts from a seeded generator: enough repetition for merges to be learnt."""
    rng = random.Random(7)
    words = ("the a of and to in actor message stage tensor gradient batch token model layer weight step learns sends "
             "waits runs quickly slowly don't it's we'll they've I'm he'd can't naïve café über straße "
             "привет мир слово данные γεια κόσμε नमस्ते दुनिया 你好 世界 数据 模型 こんにちは 世界 データ 안녕하세요 세계 "
             "مرحبا العالم שלום עולם สวัสดี 🙂 🚀 👩‍💻 ½ ² x² n° 3.14 2024 100 42 007 def return if else "
             "for(i=0;i<n;++i) {x} [y] a->b http://example.org/path?q=1").split(" ")
    lines = []
    for _ in range(3000):
        count = rng.randint(3, 14)
        line = rng.choice(["", "", "  ", "\t"]) + " ".join(rng.choice(words) for _ in range(count))
        lines.append(line + rng.choice([".", "!", "?", ";", "...", "\r", ""]))
    return [line + "\n" for line in lines]


def texts():
    rng = random.Random(11)
    out = [
        "", " ", "  ", "\n", "\r\n", "\t", "a", "A", "0", "hello", "Hello, world!", " leading", "trailing ",
        "two  spaces", "three   spaces", "a    b     c", "  \n  x", "x\n\n\ny", "x \n \n y", "line\r\nline\r\n", "\r\r\n\n",
        "tab\tand\ttabs\t\t\tend", "don't DON'T it'S we'LL I'M he'D they'Ve y'all ''s", "'s 't 're 've 'm 'll 'd",
        "ſ'ſ 'ſ K'K", "1 12 123 1234 12345 1234567890", "3.14159 1,000,000 0x1F 1e-9", "²³¹ ½ ⅷ Ⅷ ४२ ٣٤ 一二三",
        "punctuation!!! ... ?!?! --- *** ((())) [[]] {{}} <<>>", "a.b,c;d:e!f?g", "snake_case camelCase PascalCase kebab-case",
        "naïve café", "nai\u0308ve cafe\u0301", "A\u030angstro\u0308m \u212bngstr\u00f6m", "e\u0301\u0301\u0301", "\u0301start",
        "\u1100\u1161\u11a8 \uac01", "\ufb01ne \ufb02ow \u2460 \u3392", "q\u0307\u0323 q\u0323\u0307", "\u0958 \u0929",
        "привет мир", "Привет, Мир! Ёлка ЁЖ", "γεια σου Κόσμε ΟΔΟΣ", "नमस्ते दुनिया क्षत्रिय", "你好世界，数据模型。", "こんにちは世界データ",
        "안녕하세요 세계", "مرحبا بالعالم", "שָׁלוֹם עולם", "สวัสดีชาวโลก", "Հայերեն ქართული አማርኛ", "ᚠᚢᚦ 𐍈 𝔘𝔫𝔦 𝟘𝟙𝟚",
        "🙂", "🙂🙂 🚀!", "👩‍💻 👨‍👩‍👧‍👦 🏳️‍🌈", "🇩🇪🇫🇷 👍🏽 ☺️ ☺", "a\u200db \u200c \u200b x\ufeffy", "\u00a0nbsp\u00a0\u00a0two",
        "\u2003em\u2009thin\u3000ideographic\u202f", "\u0085next\u2028line\u2029para", "\u180emvs\u180e", "\u000b\u000c\u001c\u001d\u001e\u001f",
        "\x00nul\x00", "\x7f\x80\x9f", "\ufffd \uffff \U0010ffff", "soft\u00adhyphen", "\u202eRTL\u202c", "i\u0307 \u0130 \u0131 I ß ẞ",
        "<|endoftext|>", "<|endoftext|><|endoftext|>", "a<|endoftext|>b", " <|endoftext|> ", "<|im_start|>user\nHi<|im_end|>\n",
        "<|endoftext", "endoftext|>", "<|ENDOFTEXT|>", "<<|endoftext|>>", "x <mask> y", "x  <mask>  y", "x<mask>y", "<mask><mask>",
        " <mask> <mask> \n<mask>", "word wordy sword word", "word.", "wörd word\u0301", "word_ word\u200d", "é e\u0301 É", "tést te\u0301st",
        "café<|im_end|>cafe\u0301", "the actor sends the message to the stage", "The Actor Sends", "tensor" * 40, "ab" * 100, "a" * 300,
        " " * 70 + "x", "\n" * 65, "xyz \n" * 20, "for(i=0;i<n;++i) {x}", "http://example.org/path?q=1&r=%20#frag", "user@example.org",
        "def f(x):\n    return x**2  # comment\n\n\nclass A:\n\tpass\n", "{\"key\": [1, 2.5, null, \"v\\n\"]}", "$1,234.56 €99 £5 ¥100 10% №7",
        "“quotes” ‘single’ «guillemets» — em – en …", "\\backslash\\ /slash/ |pipe|", "~`@#$%^&*()_+-=", "mixed日本語English한국어русский",
        "Zażółć gęślą jaźń", "Việt Nam tiếng Việt", "Vie\u0323\u0302t", "a\u0300\u0316b", "\u0344 \u0385 \u1fef", "\u2126 \u212a",
        "▁ Ġ Ċ ĉ Ã©", "ĠthisĠisĠbytes", "\u0149 \u01f0 ﬀ", "1\u20442 x\u2075", "\u0e33 \u0eb3", "a\u0345\u0301", "\U0001d15e \U0001d1bc",
        "a\u1ac6\u033a b\u033a\u1ac6 \u08cb\u035d e\u08cb\u0301 \u32ff \U00010787 \U0001e030", "漢字、カタカナ・ひらがな々〆ヶ", "\u3003\u3005\u302a",
        "x²y³ m¹ ¼½¾ x⁴ n₁ ⅷ _a_ a\u0301b a\u200db ª º ´a", "٣٤٥ 12٣4 १२३४",
    ]
    pool = ("abc xyzABC019.,'\"!?\n\r\t \u00a0\u0301\u0308éüßжйЁλ你好한\u1100\u1161🙂\u200d\u3000<|>_-" + "\u0327\u0323")
    for _ in range(60):
        out.append("".join(rng.choice(pool) for _ in range(rng.randint(1, 40))))
    specials = ["<|endoftext|>", "<mask>", "word", "tést", " ", "\n", "a", "é", "\u0301", "W", "_"]
    for _ in range(40):
        out.append("".join(rng.choice(specials) for _ in range(rng.randint(1, 12))))
    return out


def train(tokenizer, size, specials=(), alphabet=True):
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=list(specials), show_progress=False, min_frequency=2,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet() if alphabet else [])
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


def qwen():
    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(QWEN), "isolated", invert=False),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    train(t, 900)
    t.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    t.add_tokens([AddedToken("<mask>", special=False, normalized=False)])
    return t


def gpt2():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.ByteLevel(trim_offsets=True)
    return train(t, 700, ["<|endoftext|>"])


def template():
    """Every flag of an added token, a template around the text, compatibility forms, merges passed over for whole words."""
    t = Tokenizer(models.BPE(ignore_merges=True))
    t.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3), "isolated", invert=False),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    train(t, 700, ["<s>", "</s>"])
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, rstrip=False, special=True),
                          AddedToken("<|endoftext|>", lstrip=True, rstrip=True, special=True)])
    t.add_tokens([AddedToken("word", single_word=True, normalized=True), AddedToken("tést", normalized=True),
                  AddedToken("\n\n", normalized=False, rstrip=True)])
    t.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> $B:1 </s>:1",
                                      special_tokens=[("<s>", t.token_to_id("<s>")), ("</s>", t.token_to_id("</s>"))])])
    return t


def scripts():
    """Several splits after one another, as DeepSeek's, with classes on which regex engines differ: scripts, \\w, \\d."""
    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.NFKD()
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"\d{1,3}"), "isolated"), pre_tokenizers.Split(Regex(r"[\p{Han}\p{Hiragana}]+"), "isolated"),
        pre_tokenizers.Split(Regex(r"[!-/:-~]?\w+| ?[^\s\w]+[\r\n]*|^\s+|\s+$|\s*[\r\n]+|\s+(?!\S)|\s+"), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    train(t, 800)
    t.add_special_tokens(["<|endoftext|>"])
    return t


def characters():
    """No byte level: unknown tokens, digits alone, punctuation, other ways of cutting, the default decoder."""
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    t.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.Replace(Regex(r"[\u0300-\u036f]+"), ""),
                                         normalizers.Replace("``", '"')])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split("-", "merged_with_previous"), pre_tokenizers.Split(Regex("[A-Z]"), "merged_with_next"),
        pre_tokenizers.Split(Regex("[a-z]+"), "contiguous", invert=True), pre_tokenizers.Digits(individual_digits=False),
        pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.Whitespace()])
    return train(t, 500, ["<unk>", "<|endoftext|>"], alphabet=False)


def fallback():
    """The sentencepiece way: spaces become U+2581, unknown characters become bytes."""
    t = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    t.pre_tokenizer = pre_tokenizers.Split("\u2581", "merged_with_next")
    t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                                   decoders.Strip(" ", 1, 0)])
    return train(t, 900, ["<unk>", "<s>"] + [f"<0x{b:02X}>" for b in range(256)], alphabet=False)


def save(name, tokenizer, cases_of):
    tokenizer = Tokenizer.from_str(tokenizer.to_str())
    (HERE / f"{name}.json").write_text(tokenizer.to_str(pretty=False) + "\n", encoding="utf-8")
    # As transformers asks for them.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    cases = []
    for text in cases_of:
        plain = tokenizer.encode(text, add_special_tokens=False).ids
        special = tokenizer.encode(text, add_special_tokens=True).ids
        case = {"text": text, "ids": plain, "decoded": tokenizer.decode(plain, skip_special_tokens=True)}
        if special != plain:
            case["ids_special"] = special
        everything = tokenizer.decode(special, skip_special_tokens=False)
        if everything != case["decoded"]:
            case["decoded_all"] = everything
        if case["decoded"] == text:
            del case["decoded"]
        cases.append(case)
    lines = ",\n".join(json.dumps(case, ensure_ascii=True, separators=(",", ":")) for case in cases)
    (HERE / f"expect.{name}.json").write_text("[\n" + lines + "\n]\n")


if __name__ == "__main__":
    for maker in (qwen, gpt2, template, scripts, characters, fallback):
        save(maker.__name__, maker(), texts())
