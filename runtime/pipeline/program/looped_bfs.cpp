#include "runtime/base/error.hpp"
#include "runtime/pipeline/program/builders.hpp"

namespace d9d {

Program build_looped_bfs(int ranks, int stages_per_rank, int microbatches) {
  D9D_REQUIRE(ranks >= 1 && stages_per_rank >= 1 && microbatches >= 1,
              "a pipeline of {} ranks, {} stages per rank and {} microbatches; each must be at least 1",
              ranks, stages_per_rank, microbatches);
  Program program(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    RankProgram& mine = program[static_cast<std::size_t>(rank)];
    for (int local = 0; local < stages_per_rank; ++local) {
      const int stage = rank + local * ranks;
      for (int mb = 0; mb < microbatches; ++mb) mine.push_back({{{ActionKind::forward, stage, mb}}});
    }
    for (int local = stages_per_rank - 1; local >= 0; --local) {
      const int stage = rank + local * ranks;
      for (int mb = microbatches - 1; mb >= 0; --mb) mine.push_back({{{ActionKind::backward, stage, mb}}});
    }
  }
  return program;
}

}  // namespace d9d
