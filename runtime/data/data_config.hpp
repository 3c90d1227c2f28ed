#pragma once
// The section `data` of a job: where samples come from. Plain structs; `source` names the alternative.
// build_source.hpp makes the source.

#include <array>
#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "runtime/base/config/keys.hpp"
#include "runtime/data/epochs.hpp"
#include "runtime/data/text_data_config.hpp"

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
          "label is the next token and the last position has none"},
      Key{"shuffle", "", "another order in every epoch, instead of the file's"},
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
