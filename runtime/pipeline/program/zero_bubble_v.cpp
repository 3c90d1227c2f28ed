#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/pipeline/program/builders.hpp"
#include "runtime/pipeline/program/v_rank_writer.hpp"

namespace d9d {
namespace {

void input_then_weight(VRankWriter& w, VRankWriter::Chunk chunk) {
  w.emit(w.backward_input(chunk));
  w.emit(w.weight(chunk));
}

// The numbered steps of appendix C.4, for `simulated` microbatches.
RankProgram write_zero_bubble(int ranks, int rank, int simulated) {
  constexpr auto down = VRankWriter::down, up = VRankWriter::up;
  VRankWriter w(ranks, rank);
  for (int i = 0; i < 2 * (ranks - rank) - 1; ++i) w.emit(w.forward(down));  // 1
  for (int i = 0; i < rank; ++i) {                                           // 2
    w.emit(w.forward(up));
    w.emit(w.forward(down));
  }
  for (int i = 0; i < ranks - rank; ++i) {  // 3
    w.emit(w.forward(up));
    input_then_weight(w, up);
  }
  while (w.forwards(up) < w.forwards(down) || w.forwards(down) < simulated) {  // 4
    if (w.forwards(down) < simulated) w.emit(w.forward(down));
    input_then_weight(w, down);
    w.emit(w.forward(up));
    input_then_weight(w, up);
  }
  for (int i = 0; i < rank; ++i) {  // 5
    w.emit(w.backward_input(down));
    w.emit(w.backward_input(up));
  }
  for (int i = 0; i < ranks - rank; ++i) {  // 6
    w.emit(w.backward_input(down));
    w.emit(w.weight(down));
  }
  while (w.has_weight(up)) w.emit(w.weight(up));  // 7
  while (w.has_weight(down)) w.emit(w.weight(down));
  return w.take();
}

}  // namespace

Program build_zero_bubble_v(int ranks, int microbatches) {
  D9D_REQUIRE(ranks >= 1 && microbatches >= 1,
              "a pipeline of {} ranks and {} microbatches; each must be at least 1", ranks, microbatches);
  // The pattern needs at least 2 * ranks - 1 microbatches. With fewer, it is written for that many, and
  // actions of surplus microbatches are dropped.
  const int simulated = std::max(2 * ranks - 1, microbatches);
  Program program;
  for (int rank = 0; rank < ranks; ++rank) {
    RankProgram mine = write_zero_bubble(ranks, rank, simulated);
    std::erase_if(mine, [&](const Instruction& i) { return i.parts.front().microbatch >= microbatches; });
    program.push_back(std::move(mine));
  }
  return program;
}

}  // namespace d9d
