#include "runtime/mesh/mesh_parameters.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using NamedDegree = std::pair<const char*, int>;

std::array<NamedDegree, 6> rank_degrees(const DeviceMeshParameters& p) {
  return {NamedDegree{"pipeline_parallel", p.pipeline_parallel},
          NamedDegree{"data_parallel_replicate", p.data_parallel_replicate},
          NamedDegree{"data_parallel_shard", p.data_parallel_shard},
          NamedDegree{"context_parallel_shard", p.context_parallel_shard},
          NamedDegree{"context_parallel_replicate", p.context_parallel_replicate},
          NamedDegree{"tensor_parallel", p.tensor_parallel}};
}

std::string product_text(const DeviceMeshParameters& p) {
  std::string text;
  for (const auto& [name, degree] : rank_degrees(p)) {
    if (degree > 1) text += fmt::format("{}{} ({})", text.empty() ? "" : " x ", name, degree);
  }
  return text.empty() ? "1" : text;
}

std::string divisors_text(int number) {
  std::string text;
  for (int divisor = 1; divisor <= number; ++divisor) {
    if (number % divisor == 0) text += fmt::format("{}{}", text.empty() ? "" : ", ", divisor);
  }
  return text;
}

// Says how many ranks to start, and which data-parallel degree would fit the ranks that there are.
std::string remedy(const DeviceMeshParameters& p, int num_ranks) {
  const int others = p.world_size() / p.data_parallel_replicate;
  std::string text = "start " + counted(p.world_size(), "rank");
  if (num_ranks % others == 0) {
    text += fmt::format(", or set mesh.data_parallel_replicate = {}", num_ranks / others);
  }
  return text;
}

}  // namespace

bool DeviceMeshParameters::is_distributed() const {
  return world_size() > 1 || has_expert_parallel();
}

int DeviceMeshParameters::world_size() const {
  return pipeline_parallel * data_parallel_replicate * data_parallel_shard * context_parallel_shard *
         context_parallel_replicate * tensor_parallel;
}

void DeviceMeshParameters::validate() const {
  std::int64_t product = 1;
  for (const auto& [name, degree] : rank_degrees(*this)) {
    D9D_REQUIRE(degree >= 1, "mesh.{} = {}: a degree is at least 1; 1 means not used", name, degree);
    product *= degree;
    D9D_REQUIRE(product <= std::numeric_limits<int>::max(), "mesh: {} is more ranks than can be counted",
                product_text(*this));
  }
  D9D_REQUIRE(expert_parallel >= 1, "mesh.expert_parallel = {}: a degree is at least 1; 1 means not used",
              expert_parallel);
  D9D_REQUIRE(stage_size() % expert_parallel == 0,
              "mesh.expert_parallel = {} does not divide the {} of a pipeline stage; choose one of {}",
              expert_parallel, counted(stage_size(), "rank"), divisors_text(stage_size()));
}

void DeviceMeshParameters::validate(int num_ranks) const {
  validate();
  D9D_REQUIRE(world_size() == num_ranks, "mesh: {} = {}, but the nodes have {}; {}", product_text(*this),
              counted(world_size(), "rank"), num_ranks, remedy(*this, num_ranks));
}

}  // namespace d9d
