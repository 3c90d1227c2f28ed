#pragma once
// The section `data` of a job: where samples come from. Plain structs; `source` names the alternative.
// build_source.hpp makes the source.

#include <array>
#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/base/config/keys.hpp"
#include "runtime/data/epochs.hpp"

namespace d9d {

struct SyntheticDataConfig {
  std::int64_t sequence_length = 0;
  std::int64_t vocab_size = 0;
  std::int64_t seed = 1234;
};
BOOST_DESCRIBE_STRUCT(SyntheticDataConfig, (), (sequence_length, vocab_size, seed))
constexpr auto keys_of(config::Tag<SyntheticDataConfig>) {
  using config::Key;
  return std::array{
      Key{"sequence_length", "tokens", "length of a sample", config::required,
          config::within(1, (1 << 20) - 1)},
      Key{"vocab_size", "", "ids are below this", config::required, config::within(1, 0x7FFFFFFF)},
      Key{"seed", "", "chooses the corpus"},
  };
}

// Keys of every source that has an end.
namespace data_keys {
inline constexpr config::Key seed{"seed", "",
                                  "chooses the shuffled orders; null: trainer.determinism.base_seed does"};
inline constexpr config::Key epochs{
    "epochs", "",
    "how often the job may read the data; as_needed: as often as trainer.schedule.total_steps takes. More "
    "steps than that are refused"};
}  // namespace data_keys

struct TokensDataConfig {
  std::string tokens;
  std::optional<std::string> labels;
  bool shuffle = false;
  std::optional<std::int64_t> seed;
  Epochs epochs;
};
BOOST_DESCRIBE_STRUCT(TokensDataConfig, (), (tokens, labels, shuffle, seed, epochs))
constexpr auto keys_of(config::Tag<TokensDataConfig>) {
  using config::Key;
  return std::array{
      Key{"tokens", "", ".npy file of integers [samples, length]", config::required},
      Key{"labels", "",
          ".npy file of labels [samples, length], already shifted, -100 ignored; without it a position's "
          "label "
          "is the next token and the last position has none"},
      Key{"shuffle", "", "another order in every epoch, instead of the file's"},
      data_keys::seed,
      data_keys::epochs,
  };
}

enum class TextFormat { text, jsonl };
BOOST_DESCRIBE_ENUM(TextFormat, text, jsonl)

enum class DocumentUnit { file, paragraph, line };
BOOST_DESCRIBE_ENUM(DocumentUnit, file, paragraph, line)

struct TextDataConfig {
  std::vector<std::string> files;
  std::string tokenizer;
  std::int64_t sequence_length = 0;
  TextFormat format = TextFormat::text;
  std::string text_field = "text";
  DocumentUnit document = DocumentUnit::file;
  std::optional<std::string> eos_token;
  bool shuffle = false;
  std::optional<std::int64_t> seed;
  Epochs epochs;
};
BOOST_DESCRIBE_STRUCT(TextDataConfig, (),
                      (files, tokenizer, sequence_length, format, text_field, document, eos_token, shuffle,
                       seed, epochs))
constexpr auto keys_of(config::Tag<TextDataConfig>) {
  using config::Key;
  return std::array{
      Key{"files", "", "files or patterns such as text/*.txt, read in this order (a pattern's files by name)",
          config::required},
      Key{"tokenizer", "", "a Hugging Face tokenizer.json", config::required},
      Key{"sequence_length", "tokens", "length of a sample", config::required, config::at_least(1)},
      Key{"format", "", "what the files hold: plain text, or a JSON object a line"},
      Key{"text_field", "", "with jsonl: the key of the text"},
      Key{"document", "", "with text: what a document is; paragraphs are parted by blank lines"},
      Key{"eos_token", "",
          "the token put after every document; without it documents follow each other directly"},
      Key{"shuffle", "", "another order of samples in every epoch, instead of the text's"},
      data_keys::seed,
      data_keys::epochs,
  };
}

using DataConfig = std::variant<SyntheticDataConfig, TextDataConfig, TokensDataConfig>;
constexpr auto choices_of(config::Tag<DataConfig>) {
  return config::Choices<3>{"source",
                            {{{"synthetic", "endless made-up sequences, the same on every machine"},
                              {"text", "files of text, tokenised and packed"},
                              {"tokens", "an array of token ids"}}}};
}

}  // namespace d9d
