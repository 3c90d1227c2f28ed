#pragma once
// Section `parallelism` of the job file: how ParallelOptions is read.

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include <array>

#include "runtime/base/config/keys.hpp"
#include "runtime/nn/plan/parallel_options.hpp"

namespace d9d {

BOOST_DESCRIBE_ENUM(TokenOrder, zigzag, contiguous)
BOOST_DESCRIBE_ENUM(ContextAttention, ring, ulysses)
BOOST_DESCRIBE_STRUCT(ContextOptions, (), (attention, order))
constexpr auto keys_of(config::Tag<ContextOptions>) {
  using config::Key;
  return std::array{
      Key{"attention", "",
          "keys and values go round from rank to rank, or heads and tokens change places before and after "
          "attention (attention heads must be divisible)"},
      Key{"order", "",
          "which tokens of a sequence a rank has: two chunks, as far from the middle as each other (equal "
          "work under a causal mask), or one"},
  };
}

BOOST_DESCRIBE_ENUM(ReshardAfterForward, default_, always, never)
BOOST_DESCRIBE_ENUM(ReducePeriod, step, microbatch)

BOOST_DESCRIBE_STRUCT(FullyShardOptions, (), (reshard_after_forward, reduce))
constexpr auto keys_of(config::Tag<FullyShardOptions>) {
  using namespace config;
  return std::array{
      Key{"reshard_after_forward", "",
          "free a layer's gathered parameters after its forward and gather them again for backward; default: "
          "always, but never with a pipeline, where every microbatch would gather again"},
      Key{"reduce", "",
          "when gradients are scattered: once a step, or after each microbatch, which holds no whole "
          "gradients between them"}};
}

BOOST_DESCRIBE_STRUCT(ParallelOptions, (), (context, fully_shard, zero1))
constexpr auto keys_of(config::Tag<ParallelOptions>) {
  using namespace config;
  return std::array{Key{"context", "", "how ranks share a sequence (context_parallel_shard and _replicate)"},
                    Key{"fully_shard", "",
                        "parameters, gradients and optimizer state in parts over data_parallel_shard x "
                        "context_parallel_shard "
                        "ranks (FSDP, ZeRO-3); with data_parallel_replicate it is the hybrid (HSDP)"},
                    Key{"zero1", "",
                        "replicas of data_parallel_replicate keep parts of the optimizer state and gather "
                        "the parameters after each step (ZeRO-1)"}};
}

}  // namespace d9d
