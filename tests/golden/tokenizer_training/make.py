"""Tokenizers trained by the `tokenizers` library on texts made here.

Writes NAME.txt (the text) and expect.NAME.json (the file that the library saves).
Run: python make.py   (the versions are in origin.md)
"""
import pathlib
import random

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).parent
END = "<|endoftext|>"


def ascii_text(rng):
    words = ("the a of and to in actor message stage tensor gradient batch token model layer weight step learns sends "
             "waits runs quickly slowly don't it's we'll they've I'm he'd can't return if else for(i=0;i<n;++i) {x} [y] "
             "a->b http://example.org/path?q=1").split(" ")
    return "".join(" ".join(rng.choice(words) for _ in range(rng.randint(3, 14))) + rng.choice([".", "!", ";", ""]) + "\n"
                   for _ in range(150))


def utf8_text(rng):
    words = ("naïve café über straße привет мир слово данные γεια κόσμε नमस्ते दुनिया 你好 世界 数据 模型 こんにちは データ 안녕하세요 "
             "세계 مرحبا العالم שלום עולם สวัสดี 🙂 🚀 👩‍💻 ½ ² x² n° e\u0301 \u00a0 \u3000 \u2028 \u0085").split(" ")
    return "".join(" ".join(rng.choice(words) for _ in range(rng.randint(3, 10))) + "\n" for _ in range(120))


def ties(rng):
    """Every pair of letters once or twice: ties decide everything."""
    pairs = [a + b for a in "zyxwvutsrqponm" for b in "abcdefghijkl"]
    rng.shuffle(pairs)
    return " ".join(pairs) + "\n" + "".join(pairs) + "\n" + " ".join(p[::-1] for p in pairs) + "\n" + "ZZ".join(pairs)


def repeats(rng):
    """Long runs, and tokens that come about in two ways (ab + c, a + bc)."""
    lines = ["a" * n for n in (1, 2, 3, 4, 5, 7, 8, 15, 16, 31, 33, 100)]
    lines += ["ab" * n for n in (1, 2, 3, 5, 8, 40)] + ["aab" * 30, "aba" * 31, "abc" * 20, "bca" * 20, "cabab" * 17]
    lines += ["".join(rng.choice("abc") for _ in range(rng.randint(1, 40))) for _ in range(120)]
    return "\n".join(lines * 2) + "\n"


def digits(rng):
    return "".join(f"{rng.randint(0, 10**rng.randint(1, 12))},{rng.random():.{rng.randint(1, 9)}f} 0x{rng.randint(0, 65535):04X} ٣٤ ½ 2024-01-{rng.randint(1, 31):02d}\n"
                   for _ in range(120))


def spaces(rng):
    """Runs of all kinds of white space, line ends of both kinds, lines of nothing, no end of the last line."""
    out = []
    for _ in range(200):
        out.append(rng.choice(["", " ", "  ", "    ", "\t", "\t\t", " \t ", "        "]))
        out.append(rng.choice(["x", "return", "def f(x):", "", "}", "word  word   word", END]))
        out.append(rng.choice(["\n", "\n\n", "\r\n", " \n", "\n \n\n", "\r", "\v", "\f"]))
    return "".join(out) + "   end  "


# name: text, vocabulary, least frequency, special tokens
CASES = {
    "ascii": (ascii_text, 480, 2, [END]),
    "utf8": (utf8_text, 520, 2, [END]),
    "ties": (ties, 700, 1, [END]),
    "often": (ties, 700, 2, [END]),
    "repeats": (repeats, 420, 0, [END]),
    "digits": (digits, 460, 2, []),
    "spaces": (spaces, 340, 2, [END, "<|im_start|>", "!", END, "<|im_end|>"]),
    "bytes": (ascii_text, 257, 2, [END]),
}


def main():
    for name, (text, vocab_size, min_frequency, special) in CASES.items():
        (HERE / f"{name}.txt").write_text(text(random.Random(5)), encoding="utf-8", newline="")
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(vocab_size=vocab_size, min_frequency=min_frequency, special_tokens=special,
                                      initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
        tokenizer.train([str(HERE / f"{name}.txt")], trainer)
        tokenizer.save(str(HERE / f"expect.{name}.json"))


if __name__ == "__main__":
    main()
