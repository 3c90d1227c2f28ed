#pragma once
// The section `order` of a source: orders other than the files' or a shuffled one. If both `sorted`
// and `shards` are given, the sorted order is cut into the shards.

#include <array>
#include <boost/describe.hpp>
#include <cstdint>
#include <optional>

#include "runtime/base/config/codec_containers.hpp"
#include "runtime/base/config/codec_enum.hpp"
#include "runtime/base/config/codec_struct.hpp"
#include "runtime/base/config/keys.hpp"

namespace d9d {

struct SortedOrderConfig {
  std::int64_t buffer_size = 0;
  std::int64_t pack_size = 0;
};
BOOST_DESCRIBE_STRUCT(SortedOrderConfig, (), (buffer_size, pack_size))
constexpr auto keys_of(config::Tag<SortedOrderConfig>) {
  using config::Key, config::required, config::within;
  return std::array{Key{"buffer_size", "samples",
                        "so many that follow each other are sorted by their length, equal ones at random",
                        required, within(1, 1 << 24)},
                    Key{"pack_size", "samples",
                        "the sorted ones are cut into packs of this size; packs are shuffled, and the "
                        "samples of each",
                        required, within(1, 1 << 24)}};
}

enum class ShardMode { sequential, chunked };
BOOST_DESCRIBE_ENUM(ShardMode, sequential, chunked)

struct ShardsConfig {
  std::int64_t count = 0;
  ShardMode mode = ShardMode::sequential;
  std::int64_t turn = 1;
};
BOOST_DESCRIBE_STRUCT(ShardsConfig, (), (count, mode, turn))
constexpr auto keys_of(config::Tag<ShardsConfig>) {
  using config::Key, config::at_least;
  return std::array{
      Key{"count", "", "the samples of an epoch are read from so many shards, which take turns",
          config::required, at_least(1)},
      Key{"mode", "",
          "sequential: shard s has the samples s, s + count, s + 2 count, ...; chunked: it has "
          "the s-th block"},
      Key{"turn", "samples",
          "of a shard, before it is the next one's turn; with global_batch_size / count each of "
          "`count` data ranks reads a shard of its own",
          config::optional, at_least(1)}};
}

struct SampleOrderKeys {
  std::optional<SortedOrderConfig> sorted;
  std::optional<ShardsConfig> shards;
};
BOOST_DESCRIBE_STRUCT(SampleOrderKeys, (), (sorted, shards))
constexpr auto keys_of(config::Tag<SampleOrderKeys>) {
  return std::array{
      config::Key{
          "sorted", "",
          "samples of about the same length follow each other, in an order that is random all the same"},
      config::Key{"shards", "", "as if so many readers read a part of the samples each"}};
}

using SampleOrder = config::Once<SampleOrderKeys>;

namespace data_keys {
inline constexpr config::Key order{
    "order", "", "the order of samples within an epoch, where it is neither the files' nor shuffled alone"};
}  // namespace data_keys

}  // namespace d9d
