#pragma once
// What a job computes about its pipeline before anything runs, at the size of a large job.

#include <nlohmann/json.hpp>

namespace d9d {

// CPU seconds, medians of `repeats`: a program of 64 ranks and 512 microbatches is built and proved, simulated, and a
// schedule for 8 ranks and 32 microbatches is searched; a mesh of 4,096 ranks is placed and each rank's groups found.
nlohmann::json measure_planning(int repeats);

}  // namespace d9d
