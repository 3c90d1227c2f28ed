#pragma once
// The ranks of a mesh as threads over shared memory.

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/factory.hpp"
#include "runtime/nn/shard/stage_groups.hpp"
#include "tests/support/in_threads.hpp"

namespace d9d::test {

struct RankOfMesh {
  const MeshDomains& domains;
  int rank;
  OpenGroup open;
};

inline void on_each_rank(const DeviceMeshParameters& mesh,
                         const std::function<void(const RankOfMesh&)>& work) {
  const Plan plan(mesh, {mesh.world_size()});
  SharedMemoryHub hub;
  const CommunicatorFactory factory(plan, hub, nullptr, {.timeout = std::chrono::seconds(20)});
  in_threads(plan.world_size(), [&](int rank) {
    const OpenGroup open = [&](const auto& domain, const auto& axes, const auto& use) {
      return std::shared_ptr<Communicator>(factory.open(rank, domain, axes, use));
    };
    work({plan.domains(), rank, open});
  });
}

}  // namespace d9d::test
