#pragma once
// The keys of `data` with `source: synthetic`.

#include <array>
#include <boost/describe.hpp>
#include <cstdint>

#include "runtime/base/config/keys.hpp"

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

}  // namespace d9d
