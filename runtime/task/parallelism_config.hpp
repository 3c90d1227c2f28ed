#pragma once
// Section `parallelism` of the job file: how ParallelOptions is read.

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include <array>

#include "runtime/base/config/keys.hpp"
#include "runtime/nn/parallel/parallel_options.hpp"

namespace d9d {

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
          "when gradients are scattered: once a step, or after each microbatch, which holds no whole gradients "
          "between them"}};
}

BOOST_DESCRIBE_STRUCT(ParallelOptions, (), (fully_shard, zero1))
constexpr auto keys_of(config::Tag<ParallelOptions>) {
  using namespace config;
  return std::array{
      Key{"fully_shard", "",
          "parameters, gradients and optimizer state in parts over data_parallel_shard x context_parallel_shard "
          "ranks (FSDP, ZeRO-3); with data_parallel_replicate it is the hybrid (HSDP)"},
      Key{"zero1", "",
          "replicas of data_parallel_replicate keep parts of the optimizer state and gather the parameters after "
          "each step (ZeRO-1)"}};
}

}  // namespace d9d
