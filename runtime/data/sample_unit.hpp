#pragma once
// What a sample of a row of documents is.

#include <boost/describe/enum.hpp>

#include "runtime/base/config/keys.hpp"

namespace d9d {

enum class SampleUnit { row, document };
BOOST_DESCRIBE_ENUM(SampleUnit, row, document)

namespace data_keys {
inline constexpr config::Key samples{
    "samples", "",
    "row: the documents one after the other, cut every sequence_length tokens; document: one document, "
    "filled "
    "up at its end with tokens that do not count in the loss; a longer one goes on in further samples"};
}  // namespace data_keys

}  // namespace d9d
