#pragma once
// Writes the program of one rank for the builders of the V topology. Counts microbatches per stage and
// direction, and keeps a queue of deferred weight work. Internal to program/.

#include <array>
#include <deque>

#include "runtime/pipeline/action.hpp"

namespace d9d {

class VRankWriter {
 public:
  enum Chunk { down = 0, up = 1 };  // the rank's stage on the way down, and the one on the way back up

  VRankWriter(int ranks, int rank) : stages_{rank, 2 * ranks - 1 - rank} {}

  Action forward(Chunk chunk) { return {ActionKind::forward, stages_[chunk], forwards_[chunk]++}; }
  Action backward(Chunk chunk) { return {ActionKind::backward, stages_[chunk], backwards_[chunk]++}; }
  // Puts its W into the queue.
  Action backward_input(Chunk chunk) {
    const int microbatch = backwards_[chunk]++;
    deferred_.push_back({ActionKind::backward_weight, stages_[chunk], microbatch});
    return {ActionKind::backward_input, stages_[chunk], microbatch};
  }
  // Take the oldest W of a chunk, or of both, from the queue, which must have one.
  Action weight(Chunk chunk);
  Action weight();
  bool has_weight(Chunk chunk) const;

  int forwards(Chunk chunk) const { return forwards_[chunk]; }
  void emit(Action action) { program_.push_back({{action}}); }
  void emit_composed(Action first, Action second) { program_.push_back({{first, second}}); }
  RankProgram take() { return std::move(program_); }

 private:
  std::array<int, 2> stages_;
  std::array<int, 2> forwards_{};
  std::array<int, 2> backwards_{};
  std::deque<Action> deferred_;
  RankProgram program_;
};

}  // namespace d9d
