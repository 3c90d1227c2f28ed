#include "runtime/launch/run_options.hpp"

namespace d9d {

// 0: as many as the others leave.
std::uint32_t ranks_offered(const JobConfig& job, const RunOptions& options) {
  if (options.ranks) return static_cast<std::uint32_t>(*options.ranks);
  return static_cast<std::uint32_t>(job.node.ranks.value_or(0));
}

int ranks_of_process(const JobConfig& job, const RunOptions& options) {
  const int offered = static_cast<int>(ranks_offered(job, options));
  return offered > 0 ? offered : job.mesh.world_size();
}

}  // namespace d9d
