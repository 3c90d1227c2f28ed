#pragma once
// The keys of `data` with `source: megatron`.

#include <array>
#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/base/config/keys.hpp"
#include "runtime/data/config/sample_unit.hpp"

namespace d9d {

struct MegatronDataConfig {
  std::string prefix;
  std::int64_t sequence_length = 0;
  SampleUnit samples = SampleUnit::row;
  bool shuffle = false;
  std::optional<std::int64_t> seed;
  Epochs epochs;
  SampleOrder order;
  std::optional<std::int64_t> max_samples;
  std::optional<Validation> validation;
};
BOOST_DESCRIBE_STRUCT(MegatronDataConfig, (),
                      (prefix, sequence_length, samples, shuffle, seed, epochs, order, max_samples,
                       validation))
constexpr auto keys_of(config::Tag<MegatronDataConfig>) {
  using namespace data_keys;
  constexpr config::Key prefix{
      "prefix", "", "path of the files prefix.bin and prefix.idx, without their ends", config::required};
  return std::array{prefix, sequence_length, samples, shuffle, seed, epochs, order, max_samples, validation};
}

}  // namespace d9d
