#include "runtime/nn/plan/expert_parallel.hpp"

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/nn/block/feed_forward.hpp"

namespace d9d {

void parallelize_expert_parallel(ExpertBlock& layer, StageParameters& parameters, StageGroups& groups) {
  const Mesh& mesh = groups.domains().mesh_for(expert_domain);
  const int degree = mesh.axis_size("ep_shard");
  D9D_REQUIRE(layer.num_experts() % degree == 0,
              "mesh.expert_parallel = {} does not divide the model's {} (num_experts); choose a divisor",
              degree, counted(layer.num_experts(), "expert"));
  for (const at::Tensor& weight : layer.expert_weights()) {
    StageParameter& parameter = parameter_of(parameters, weight);
    place(parameter, axis_of(mesh, "ep_shard", groups.rank(), Placement::shard(0)));
    place(parameter, axis_of(mesh, "ep_replicate", groups.rank(), Placement::replicate()));
  }
  layer.spread_experts(groups.open(expert_domain, {"ep_shard"}, "experts"));
}

}  // namespace d9d
