#pragma once
// Seeds torch's default generator. d9d never draws from it (its numbers come from RandomStream), but a
// plugin's task or model may: at::rand, dropout.

#include <cstdint>

namespace d9d {

// Seeds the generator of this process. All ranks of the process are threads and share it, so the
// numbers of a rank depend on the others' draws. A run repeats only with one rank in the process that
// draws on one thread. The seed depends on `first_rank` (the lowest of the process) and `step` (the
// last step of the checkpoint), too.
void seed_torch(std::uint64_t base_seed, int first_rank, std::uint64_t step);

}  // namespace d9d
