#pragma once
// Steps of two ranks whose end depends on rank 1.

#include "tests/runtime/trace/story.hpp"

namespace d9d::trace {

// One step from `begin` on, in microseconds: both trainers begin, both ranks compute (rank 0 for 100, rank 1 for
// `slow`), reduce their gradients together (20 after the last one came), and rank 0's trainer ends the step.
inline Story& add_step(Story& story, int step, int begin, int slow) {
  const auto flow = [step](int n) { return static_cast<std::uint64_t>(100 * step + n); };
  const int late = begin + 10 + slow;  // rank 1 enters the reduction
  const int done = late + 2 + 20;
  for (const int rank : {0, 1}) {
    const int computes = rank == 0 ? 100 : slow;
    const int enters = begin + 10 + computes + 2;
    const std::string id = "/" + std::to_string(rank);
    story.on("trainer" + id, rank).message("go", begin, begin, begin + 5).sends(flow(rank));
    story.on("executor" + id, rank).message("begin_step", begin + 4, begin + 8, enters - 2, flow(rank));
    story.on("compute stage 0", rank)
        .span(Category::compute, "0F0", begin + 10, enters - 2, step)
        .sends(flow(10 + rank));
    story.on("collective" + id, rank).message("reduce", enters - 3, enters - 1, done + 1, flow(10 + rank));
    story.on("gradients", rank)
        .span(Category::collective, "all_reduce", enters, done, step)
        .of_bytes(64)
        .sends(flow(20 + rank));
    story.on("trainer" + id, rank).message("reduced", done, done + 3, done + 8, flow(20 + rank));
    story.on("steps", rank).span(Category::step, "step", begin, done + 7 - rank, step);
  }
  return story;
}

}  // namespace d9d::trace
