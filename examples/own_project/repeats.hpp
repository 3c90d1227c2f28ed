#pragma once
// The data source `repeats` and what its section may say.

#include <boost/describe/class.hpp>

#include <array>
#include <cstdint>
#include <memory>

#include "runtime/base/config/keys.hpp"

namespace d9d {
class SampleSource;
struct SourceContext;
}  // namespace d9d

namespace mine {

struct RepeatsConfig {
  std::int64_t vocab_size = 0;
  std::int64_t sequence_length = 0;
  std::int64_t phrase = 8;
  std::int64_t samples = 1024;
  std::array<std::int64_t, 2> spoiled = {0, 0};
};
BOOST_DESCRIBE_STRUCT(RepeatsConfig, (), (vocab_size, sequence_length, phrase, samples, spoiled))
constexpr auto keys_of(d9d::config::Tag<RepeatsConfig>) {
  using namespace d9d::config;
  return std::array{Key{"vocab_size", "tokens", "ids are below this", required, at_least(1)},
                    Key{"sequence_length", "tokens", "length of a sample", required, at_least(2)},
                    Key{"phrase", "tokens", "what is repeated", d9d::config::optional, at_least(1)},
                    Key{"samples", "", "of an epoch", d9d::config::optional, at_least(1)},
                    Key{"spoiled", "samples",
                        "from the first to before the second with ids that no other has: the loss jumps"}};
}

std::shared_ptr<const d9d::SampleSource> make_repeats(const RepeatsConfig& config,
                                                      const d9d::SourceContext& context);

}  // namespace mine
