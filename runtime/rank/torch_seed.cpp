#include "runtime/rank/torch_seed.hpp"

#include <ATen/CPUGeneratorImpl.h>

#include "runtime/base/rng.hpp"

namespace d9d {

void seed_torch(std::uint64_t base_seed, int first_rank, std::uint64_t step) {
  const RandomStream stream(base_seed, "torch's default generator", step);
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(generator.mutex());
  generator.unsafeGetGeneratorImpl()->set_current_seed(stream.bits64(static_cast<std::uint64_t>(first_rank)));
}

}  // namespace d9d
