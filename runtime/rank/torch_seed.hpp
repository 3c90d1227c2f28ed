#pragma once
// Torch's default generator. d9d never draws from it: its numbers come from
// RandomStream. A task or a model of a plugin may (at::rand, dropout).

#include <cstdint>

namespace d9d {

// Seeds the generator of this process. It is one for all ranks of the process, which are threads, so what a rank draws
// depends on the others' draws; with one rank in the process, and draws on one of its threads only, a run repeats. Other
// `first_rank` (the lowest of the process) or `step` (the last one done, of the checkpoint): other numbers.
void seed_torch(std::uint64_t base_seed, int first_rank, std::uint64_t step);

}  // namespace d9d
