#pragma once
// The keys of `data` with `source: tokens`.

#include <array>
#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/base/config/keys.hpp"
#include "runtime/data/config/epochs.hpp"
#include "runtime/data/config/row_choice_config.hpp"
#include "runtime/data/config/sample_order_config.hpp"

namespace d9d {

struct TokensDataConfig {
  std::string tokens;
  std::optional<std::string> labels;
  std::optional<std::string> targets;
  bool shuffle = false;
  std::optional<std::int64_t> seed;
  Epochs epochs;
  std::optional<std::string> position_ids;
  std::optional<std::string> attention_mask;
  SampleOrder order;
  std::optional<std::int64_t> max_samples;
  std::optional<Validation> validation;
};
BOOST_DESCRIBE_STRUCT(TokensDataConfig, (),
                      (tokens, labels, targets, shuffle, seed, epochs, position_ids, attention_mask, order,
                       max_samples, validation))
constexpr auto keys_of(config::Tag<TokensDataConfig>) {
  using config::Key;
  return std::array{
      Key{"tokens", "", ".npy file of integers [samples, length]", config::required},
      Key{"labels", "",
          ".npy file of labels [samples, length], already shifted, -100 ignored; without it a position's "
          "label is the next token and the last position has none"},
      Key{"targets", "",
          ".npy file of floats [samples, length], NaN where there is none, in the place of labels: the "
          "numbers that a classification head of one label learns, each at the token that the head reads"},
      data_keys::shuffle,
      data_keys::seed,
      data_keys::epochs,
      Key{"position_ids", "",
          ".npy file [samples, length] of each token's position in its document, for rows of several "
          "documents: 0 begins one, which does not see those before it; without it a row is one document"},
      Key{"attention_mask", "",
          ".npy file [samples, length] of 1 for tokens and 0 for the padding before or after them, which "
          "neither counts nor trains"},
      data_keys::order,
      data_keys::max_samples,
      data_keys::validation,
  };
}

}  // namespace d9d
