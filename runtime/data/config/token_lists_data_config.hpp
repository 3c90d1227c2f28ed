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

struct TokenListKeys {
  std::vector<std::string> files;
  std::int64_t sequence_length = 0;
  std::optional<RowFormat> format;
  std::string ids_field = "input_ids";
  std::optional<std::string> labels_field;
  std::optional<std::string> mask_field = "attention_mask";
};
BOOST_DESCRIBE_STRUCT(TokenListKeys, (),
                      (files, sequence_length, format, ids_field, labels_field, mask_field))
constexpr auto keys_of(config::Tag<TokenListKeys>) {
  using config::Key;
  return std::array{
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
}

struct TokenListsDataConfig : TokenListKeys, DocumentKeys {};
BOOST_DESCRIBE_STRUCT(TokenListsDataConfig, (TokenListKeys, DocumentKeys), ())
constexpr auto keys_of(config::Tag<TokenListsDataConfig>) {
  return config::join(keys_of(config::Tag<TokenListKeys>{}), keys_of(config::Tag<DocumentKeys>{}));
}

}  // namespace d9d
