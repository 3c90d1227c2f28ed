#pragma once
// The keys of `data` with `source: token_lists`.

#include <array>
#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/config/keys.hpp"
#include "runtime/data/config/row_format.hpp"
#include "runtime/data/config/sample_unit.hpp"

namespace d9d {

struct TokenListsDataConfig {
  std::vector<std::string> files;
  std::int64_t sequence_length = 0;
  std::optional<RowFormat> format;
  std::string ids_field = "input_ids";
  std::optional<std::string> labels_field;
  std::optional<std::string> mask_field = "attention_mask";
  SampleUnit samples = SampleUnit::row;
  std::optional<std::string> cache;
  bool shuffle = false;
  std::optional<std::int64_t> seed;
  Epochs epochs;
  SampleOrder order;
  std::optional<std::string> split;
  std::optional<std::int64_t> max_samples;
  std::optional<Validation> validation;
};
BOOST_DESCRIBE_STRUCT(TokenListsDataConfig, (),
                      (files, sequence_length, format, ids_field, labels_field, mask_field, samples, cache,
                       shuffle, seed, epochs, order, split, max_samples, validation))
constexpr auto keys_of(config::Tag<TokenListsDataConfig>) {
  using config::Key;
  constexpr std::array own{
      Key{"files", "",
          "files, patterns or folders (those that `datasets` saved among them), read in this order; a row is "
          "a document",
          config::required},
      data_keys::sequence_length,
      Key{"format", "",
          "what the files hold; null: what their endings say, else arrow. arrow is read where it is mapped, "
          "the ids of the others are kept in memory unless `cache` has them"},
      Key{"ids_field", "", "the column of lists of token ids"},
      Key{"labels_field", "",
          "a column of labels, as long as the ids and beside them (not shifted): the id itself, or -100 "
          "where the token does not count in the loss; without it all count"},
      Key{"mask_field", "",
          "a column of 1 for tokens and 0 for the padding around them, which is left out; a file may lack "
          "it; null: no column says so"},
  };
  return config::join(own, data_keys::of_documents);
}

}  // namespace d9d
