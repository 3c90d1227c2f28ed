#pragma once
// How documents become samples: the key `samples`.

#include <array>
#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/data/config/epochs.hpp"
#include "runtime/data/config/row_choice_config.hpp"
#include "runtime/data/config/sample_order_config.hpp"

namespace d9d {

enum class SampleUnit { row, document, packed };
BOOST_DESCRIBE_ENUM(SampleUnit, row, document, packed)

namespace data_keys {
inline constexpr config::Key samples{
    "samples", "",
    "row: the documents one after the other, cut every sequence_length tokens; document: one document, "
    "filled up at its end with tokens that do not count in the loss; a longer one goes on in further "
    "samples; packed: as many whole documents as fit, which do not see each other and whose positions each "
    "begin at 0"};
}  // namespace data_keys

// The last keys of each source of documents.
struct DocumentKeys {
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
BOOST_DESCRIBE_STRUCT(DocumentKeys, (),
                      (samples, cache, shuffle, seed, epochs, order, split, max_samples, validation))
constexpr auto keys_of(config::Tag<DocumentKeys>) {
  using namespace data_keys;
  return std::array{samples, cache, shuffle, seed, epochs, order, split, max_samples, validation};
}

}  // namespace d9d
