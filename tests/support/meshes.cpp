#include "tests/support/meshes.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <random>

namespace d9d::test {
namespace {

void for_each_degree(int ranks_left, std::size_t next, DeviceMeshParameters& mesh,
                     const std::function<void(const DeviceMeshParameters&)>& use) {
  static constexpr int DeviceMeshParameters::*degrees[] = {
      &DeviceMeshParameters::pipeline_parallel,      &DeviceMeshParameters::data_parallel_replicate,
      &DeviceMeshParameters::data_parallel_shard,    &DeviceMeshParameters::context_parallel_replicate,
      &DeviceMeshParameters::context_parallel_shard, &DeviceMeshParameters::tensor_parallel};
  if (next == std::size(degrees)) return use(mesh);
  for (int degree = 1; degree <= ranks_left; ++degree) {
    if (ranks_left % degree != 0) continue;
    mesh.*degrees[next] = degree;
    for_each_degree(ranks_left / degree, next + 1, mesh, use);
  }
}

unsigned seed() {
  const char* given = std::getenv("D9D_MESH_SEED");
  return given == nullptr ? 1 : static_cast<unsigned>(std::strtoul(given, nullptr, 10));
}

}  // namespace

std::vector<DeviceMeshParameters> meshes_of(int ranks, const MeshLimits& limits) {
  std::vector<DeviceMeshParameters> all;
  DeviceMeshParameters mesh;
  for_each_degree(ranks, 0, mesh, [&](const DeviceMeshParameters& dense) {
    const bool fits = dense.world_size() == ranks && dense.pipeline_parallel <= limits.pipeline &&
                      dense.tensor_parallel <= limits.tensor &&
                      (limits.context || dense.context_parallel() == 1);
    if (!fits) return;
    DeviceMeshParameters found = dense;
    for (int ep = 1; ep <= (limits.experts > 0 ? dense.stage_size() : 1); ++ep) {
      if (dense.stage_size() % ep != 0 || (ep > 1 && limits.experts % ep != 0)) continue;
      found.expert_parallel = ep;
      all.push_back(found);
    }
  });
  return all;
}

std::vector<DeviceMeshParameters> sampled(std::vector<DeviceMeshParameters> meshes, std::size_t count) {
  if (std::getenv("D9D_NIGHT") != nullptr || count >= meshes.size()) return meshes;
  std::vector<DeviceMeshParameters> chosen;
  std::mt19937 random(seed());
  // std::sample keeps the order.
  std::sample(meshes.begin(), meshes.end(), std::back_inserter(chosen), count, random);
  return chosen;
}

std::string text_of(const DeviceMeshParameters& m) {
  return "pp" + std::to_string(m.pipeline_parallel) + " dpr" + std::to_string(m.data_parallel_replicate) +
         " dps" + std::to_string(m.data_parallel_shard) + " cpr" +
         std::to_string(m.context_parallel_replicate) + " cps" + std::to_string(m.context_parallel_shard) +
         " tp" + std::to_string(m.tensor_parallel) + " ep" + std::to_string(m.expert_parallel);
}

}  // namespace d9d::test
