#pragma once
// Section `mesh` of the job file (reference A.1): how DeviceMeshParameters is read.

#include <boost/describe/class.hpp>

#include <array>

#include "runtime/base/config/keys.hpp"
#include "runtime/mesh/mesh_parameters.hpp"

namespace d9d {

BOOST_DESCRIBE_STRUCT(DeviceMeshParameters, (),
                      (pipeline_parallel, data_parallel_replicate, data_parallel_shard,
                       context_parallel_replicate, context_parallel_shard, tensor_parallel, expert_parallel))

constexpr auto keys_of(config::Tag<DeviceMeshParameters>) {
  using namespace config;
  return std::array{
      Key{"pipeline_parallel", "ranks", "pipeline ranks; each runs one or more stages", config::optional,
          at_least(1)},
      Key{"data_parallel_replicate", "ranks", "replicas that see different samples and hold equal parameters",
          config::optional, at_least(1)},
      Key{"data_parallel_shard", "ranks", "ranks that see different samples and hold parts of the parameters",
          config::optional, at_least(1)},
      Key{"context_parallel_replicate", "ranks", "ranks that share a sequence and hold equal parameters",
          config::optional, at_least(1)},
      Key{"context_parallel_shard", "ranks", "ranks that share a sequence and hold parts of the parameters",
          config::optional, at_least(1)},
      Key{"tensor_parallel", "ranks", "ranks that share each matrix", config::optional, at_least(1)},
      Key{"expert_parallel", "ranks",
          "ranks that share the experts of a layer; taken from the ranks of a stage, so it divides their "
          "number",
          config::optional, at_least(1)},
  };
}

}  // namespace d9d
