#include "runtime/pipeline/program/communication.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/pipeline/program/stage_grid.hpp"

namespace d9d {
namespace {

class Inserter {
 public:
  Inserter(const Program& compute, const Topology& topology, int microbatches)
      : compute_(compute),
        topology_(topology),
        output_(compute.size()),
        next_(compute.size()),
        forward_done_(topology.num_stages(), microbatches),
        backward_done_(topology.num_stages(), microbatches) {}

  Program run() {
    for (;;) {
      bool progress = false;
      bool finished = true;
      for (std::size_t rank = 0; rank < compute_.size(); ++rank) {
        progress = visit(rank) || progress;
        finished = finished && next_[rank] == compute_[rank].size();
      }
      if (finished) return std::move(output_);
      if (!progress) deadlock();
    }
  }

 private:
  bool visit(std::size_t rank) {
    if (next_[rank] == compute_[rank].size()) return false;
    const Instruction& head = compute_[rank][next_[rank]];
    if (!std::all_of(head.parts.begin(), head.parts.end(), [&](const Action& a) { return ready(a); }))
      return false;
    output_[rank].push_back(head);
    for (const Action& part : head.parts) finish(part);
    ++next_[rank];
    return true;
  }

  bool ready(const Action& action) const {
    switch (action.kind) {
      case ActionKind::forward:
        return topology_.is_first(action.stage) || forward_done_.at(action.stage - 1, action.microbatch);
      case ActionKind::backward:
      case ActionKind::backward_input:
        return topology_.is_last(action.stage) || backward_done_.at(action.stage + 1, action.microbatch);
      default:
        return true;
    }
  }

  void finish(const Action& action) {
    const int stage = action.stage;
    if (action.kind == ActionKind::forward) {
      forward_done_.at(stage, action.microbatch) = true;
      if (!topology_.is_last(stage)) {
        transfer(stage, stage + 1, action.microbatch, ActionKind::send_forward, ActionKind::receive_forward);
      }
    } else if (action.kind == ActionKind::backward || action.kind == ActionKind::backward_input) {
      backward_done_.at(stage, action.microbatch) = true;
      if (!topology_.is_first(stage)) {
        transfer(stage, stage - 1, action.microbatch, ActionKind::send_backward,
                 ActionKind::receive_backward);
      }
    }
  }

  void transfer(int from, int to, int microbatch, ActionKind send, ActionKind receive) {
    if (topology_.same_rank(from, to)) return;
    output_[static_cast<std::size_t>(topology_.rank_of(from))].push_back({{{send, from, microbatch}}});
    output_[static_cast<std::size_t>(topology_.rank_of(to))].push_back({{{receive, to, microbatch}}});
  }

  [[noreturn]] void deadlock() const {
    std::string heads;
    for (std::size_t rank = 0; rank < compute_.size(); ++rank) {
      if (next_[rank] == compute_[rank].size()) continue;
      heads += fmt::format("; rank {} waits at {}", rank, to_string(compute_[rank][next_[rank]]));
    }
    throw Error(ErrorKind::bug, "the pipeline program deadlocks" + heads);
  }

  const Program& compute_;
  const Topology& topology_;
  Program output_;
  std::vector<std::size_t> next_;
  StageGrid<char> forward_done_, backward_done_;
};

}  // namespace

Program insert_communication(const Program& compute, const Topology& topology, int microbatches) {
  D9D_CHECK(static_cast<int>(compute.size()) == topology.num_ranks(), "a program of {} ranks for {} ranks",
            compute.size(), topology.num_ranks());
  return Inserter(compute, topology, microbatches).run();
}

}  // namespace d9d
