#pragma once
// Keys that several sources share to choose the rows that a job reads.

#include <array>
#include <boost/describe.hpp>
#include <cstdint>
#include <optional>

#include "runtime/base/config/codec.hpp"
#include "runtime/base/config/decode.hpp"
#include "runtime/base/config/keys.hpp"

namespace d9d {

enum class DataSide { training, validation };
BOOST_DESCRIBE_ENUM(DataSide, training, validation)

struct ValidationKeys {
  std::optional<double> fraction;
  std::optional<std::int64_t> samples;
  DataSide side = DataSide::training;
};
BOOST_DESCRIBE_STRUCT(ValidationKeys, (), (fraction, samples, side))
constexpr auto keys_of(config::Tag<ValidationKeys>) {
  using namespace config;
  return std::array{
      Key{"fraction", "", "this share of the rows, drawn by the seed; either it or `samples`", optional,
          Range{.min = 0, .max = 1, .open_min = true, .open_max = true}},
      Key{"samples", "rows", "so many rows, drawn by the seed", optional, at_least(1)},
      Key{"side", "",
          "training: the rows that are left, in the files' order; validation: those that are held out, as "
          "`evaluation` without `data` takes them"}};
}

using Validation = config::Once<ValidationKeys>;

namespace data_keys {
inline constexpr config::Key split{
    "split", "",
    "of files that a folder or pattern names, those whose names or folders say this split: train, test, "
    "validation, "
    "another name; all: every file; null: files of several splits are refused (plain text: a warning)"};
inline constexpr config::Key max_samples{
    "max_samples", "rows", "only the first rows (documents, conversations) of the files; null: all",
    config::optional, config::at_least(1)};
inline constexpr config::Key validation{"validation", "",
                                        "rows held out of training for `evaluation`, which then needs no "
                                        "`data`; the same ones on any mesh; null: none"};
}  // namespace data_keys

}  // namespace d9d
