#include "actors/cli/start/tokenizer.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <ostream>

#include "runtime/base/config/decode.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/tokenizer/train/trained_tokenizer.hpp"

namespace d9d {
namespace {

int train(const Arguments& arguments, Console& console) {
  const auto& words = arguments.positional();
  D9D_REQUIRE(words.front() == "train", "tokenizer: unknown word {}; {}", words.front(),
              config::suggestion(words.front(), {"train"}));
  D9D_REQUIRE(words.size() > 1, "tokenizer train: name the files of text after it");
  const auto out = arguments.value("--out");
  D9D_REQUIRE(out, "tokenizer train: --out FILE is missing, e.g. --out tokenizer.json");
  require_new(*out);
  std::vector<std::string> special = arguments.values("--special");
  if (special.empty()) special.emplace_back(end_of_text);
  const BpeTraining training{
      .vocab_size = arguments.required_integer("--vocab-size", 1, vocab_size_max),
      .min_frequency = arguments.integer("--min-frequency", 0, vocab_size_max).value_or(2),
      .special_tokens = special};
  const TextLook text =
      look_through({words.begin() + 1, words.end()}, arguments.value("--text-field").value_or("text"));
  const TrainedBpe trained = train_bpe(text.words, training);
  PosixDisk disk;
  write_text(disk, *out, tokenizer_json(trained, special));
  console.out << fmt::format(
      "{}: {}, {:.2f} bytes of the text a token\n", *out, counted(trained.tokens.size(), "token"),
      static_cast<double>(text.words.bytes()) / static_cast<double>(trained.num_tokens));
  if (static_cast<std::int64_t>(trained.tokens.size()) < training.vocab_size)
    console.err << fmt::format(
        "warning: {} were asked for; no other pair of tokens occurs {} times in the text\n",
        counted(training.vocab_size, "token"), std::max<std::int64_t>(training.min_frequency, 1));
  return 0;
}

}  // namespace

void require_new(const std::string& path) {
  std::error_code ignored;
  D9D_REQUIRE(!std::filesystem::exists(std::filesystem::symlink_status(path, ignored)),
              "{} is there already, and nothing is written over it; choose another name or remove it", path);
}

Command tokenizer_command() {
  return {
      .name = "tokenizer",
      .positional = "train FILE...",
      .summary = "make a tokenizer.json of one's own text: a byte-level BPE",
      .positional_min = 1,
      .positional_max = 100'000,
      .options = {{"--vocab-size", "N", "how many tokens, the special ones and the 256 bytes among them"},
                  {"--out", "FILE", "the tokenizer.json to write; never over one that is there"},
                  {"--special", "TOKEN",
                   "a token with a meaning of its own; they get the first ids (default: <|endoftext|>)",
                   true},
                  {"--min-frequency", "N", "a pair that is rarer becomes no token (default 2)"},
                  {"--text-field", "KEY", "of files of rows: the key of the text (default: text)"}},
      .run = train,
      .details =
          "Files are those that `data.files` takes: text, JSONL, Parquet, packed ones, patterns, folders.\n"
          "Tokens, ids and file are those that BpeTrainer of the library `tokenizers` makes of the same "
          "text.\n",
      .examples = {
          "tokenizer train book.txt --vocab-size 4096 --out tokenizer.json",
          "tokenizer train chat.jsonl --vocab-size 8192 --out t.json --special \"<|endoftext|>\" --special "
          "\"<|im_start|>\" --special \"<|im_end|>\""}};
}

}  // namespace d9d
