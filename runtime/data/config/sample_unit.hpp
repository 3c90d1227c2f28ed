#pragma once
// How documents become samples: the key `samples`.

#include <boost/describe/enum.hpp>

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
// The last keys of each source of documents.
inline constexpr std::array of_documents{samples, cache, shuffle,     seed,      epochs,
                                         order,   split, max_samples, validation};
}  // namespace data_keys

}  // namespace d9d
