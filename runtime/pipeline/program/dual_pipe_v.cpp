#include "runtime/base/error.hpp"
#include "runtime/pipeline/program/builders.hpp"
#include "runtime/pipeline/program/v_rank_writer.hpp"

namespace d9d {
namespace {

constexpr auto down = VRankWriter::down;
constexpr auto up = VRankWriter::up;

// Step 6: the second half of the backwards leaves its weight work for steps 7 and 8. Whether the switch is
// between or inside a pair alternates from rank to rank.
void draining_backwards(VRankWriter& w, int rank) {
  bool split = false;
  const auto backward = [&](VRankWriter::Chunk chunk) {
    w.emit(split ? w.backward_input(chunk) : w.backward(chunk));
  };
  for (int i = 0; i < rank + 1; ++i) {
    const bool middle = i == (rank + 1) / 2;
    split = split || (middle && rank % 2 == 1);
    backward(up);
    split = split || (middle && rank % 2 == 0);
    backward(down);
  }
}

// Step 4: the steady state, a forward of one chunk composed with a backward of the other.
void composed_pairs(VRankWriter& w, int count, bool first_apart) {
  for (int i = 0; i < count; ++i) {
    const Action forward = w.forward(down);
    const Action backward = w.backward(up);
    if (i == 0 && first_apart) {
      w.emit(forward);
      w.emit(backward);
    } else {
      w.emit_composed(forward, backward);
    }
    const Action other = w.forward(up);
    w.emit_composed(other, w.backward(down));
  }
}

// The numbered steps of appendix C.5.
RankProgram write_rank(int ranks, int rank, int microbatches) {
  VRankWriter w(ranks, rank);
  const int below = ranks - rank - 1;
  for (int i = 0; i < 2 * below; ++i) w.emit(w.forward(down));  // 1
  for (int i = 0; i < rank + 1; ++i) {                          // 2
    w.emit(w.forward(down));
    w.emit(w.forward(up));
  }
  for (int i = 0; i < below; ++i) {  // 3
    w.emit(w.backward_input(up));
    w.emit(w.weight());
    w.emit(w.forward(up));
  }
  composed_pairs(w, microbatches - 2 * ranks + rank + 1, rank == ranks - 1);  // 4
  for (int i = 0; i < below; ++i) {                                           // 5
    w.emit(w.backward(up));
    const Action forward = w.forward(up);
    w.emit_composed(forward, w.backward(down));
  }
  draining_backwards(w, rank);       // 6
  for (int i = 0; i < below; ++i) {  // 7
    w.emit(w.weight());
    w.emit(w.backward_input(down));
  }
  for (int i = 0; i < rank + 1; ++i) w.emit(w.weight());  // 8
  return w.take();
}

}  // namespace

Program build_dual_pipe_v(int ranks, int microbatches) {
  D9D_REQUIRE(ranks >= 1, "a pipeline of {} ranks; expected at least 1", ranks);
  D9D_REQUIRE(microbatches >= 2 * ranks,
              "schedule dual_pipe_v needs at least 2 microbatches per pipeline rank: given {} for {} ranks; "
              "use {} or more, or schedule zero_bubble_v",
              microbatches, ranks, 2 * ranks);
  Program program;
  for (int rank = 0; rank < ranks; ++rank) program.push_back(write_rank(ranks, rank, microbatches));
  return program;
}

}  // namespace d9d
