#include "runtime/pipeline/program/check_program.hpp"

#include <array>
#include <optional>

#include "runtime/base/error.hpp"
#include "runtime/pipeline/program/stage_grid.hpp"

namespace d9d {
namespace {

constexpr int absent = -1;
constexpr std::size_t num_kinds = 8;

// The position of each action in its rank's program.
class Positions {
 public:
  Positions(const Program& program, const Topology& topology, int microbatches) {
    for (auto& grid : grids_) grid.emplace(topology.num_stages(), microbatches, absent);
    for (std::size_t rank = 0; rank < program.size(); ++rank) {
      int position = 0;
      for (const Instruction& instruction : program[rank]) {
        for (const Action& action : instruction.parts) {
          D9D_CHECK(topology.rank_of(action.stage) == static_cast<int>(rank),
                    "{} runs on rank {}, its stage is on {}", to_string(action), rank,
                    topology.rank_of(action.stage));
          int& place = grid(action.kind).at(action.stage, action.microbatch);
          D9D_CHECK(place == absent, "{} appears twice", to_string(action));
          place = position++;
        }
      }
    }
  }

  int of(ActionKind kind, int stage, int microbatch) const {
    return grids_[static_cast<std::size_t>(kind)]->at(stage, microbatch);
  }
  bool has(ActionKind kind, int stage, int microbatch) const { return of(kind, stage, microbatch) != absent; }
  int of_input_gradient(int stage, int microbatch) const {
    return std::max(of(ActionKind::backward, stage, microbatch),
                    of(ActionKind::backward_input, stage, microbatch));
  }

 private:
  StageGrid<int>& grid(ActionKind kind) { return *grids_[static_cast<std::size_t>(kind)]; }
  std::array<std::optional<StageGrid<int>>, num_kinds> grids_;
};

bool has_backward(const Program& program) {
  for (const RankProgram& rank : program) {
    for (const Instruction& instruction : rank) {
      for (const Action& action : instruction.parts) {
        if (action.kind == ActionKind::backward || action.kind == ActionKind::backward_input) return true;
      }
    }
  }
  return false;
}

void check_cell(const Positions& at, int stage, int mb, bool backward) {
  const int forward = at.of(ActionKind::forward, stage, mb);
  D9D_CHECK(forward != absent, "{} is missing", to_string(Action{ActionKind::forward, stage, mb}));
  const bool full = at.has(ActionKind::backward, stage, mb);
  const bool input = at.has(ActionKind::backward_input, stage, mb);
  const bool weight = at.has(ActionKind::backward_weight, stage, mb);
  D9D_CHECK(static_cast<int>(full) + static_cast<int>(input) == static_cast<int>(backward),
            "stage {} microbatch {} has {} B and {} I; expected {} of both together", stage, mb, full ? 1 : 0,
            input ? 1 : 0, backward ? 1 : 0);
  D9D_CHECK(input == weight, "stage {} microbatch {} has {} I and {} W", stage, mb, input ? 1 : 0,
            weight ? 1 : 0);
  D9D_CHECK(!backward || forward < at.of_input_gradient(stage, mb),
            "stage {} microbatch {} runs backward before F", stage, mb);
  D9D_CHECK(
      !weight || at.of(ActionKind::backward_input, stage, mb) < at.of(ActionKind::backward_weight, stage, mb),
      "{} comes before its I", to_string(Action{ActionKind::backward_weight, stage, mb}));
}

// Checks one transfer: `send` after position `produced`, `receive` before position `consumed`.
void check_transfer(const Positions& at, const Topology& topology, Action send, Action receive, int produced,
                    int consumed) {
  const int sent = at.of(send.kind, send.stage, send.microbatch);
  const int received = at.of(receive.kind, receive.stage, receive.microbatch);
  if (topology.same_rank(send.stage, receive.stage)) {
    D9D_CHECK(sent == absent && received == absent, "{} is a transfer within a rank", to_string(send));
    return;
  }
  D9D_CHECK(sent > produced, "{} is missing or before its producer", to_string(send));
  D9D_CHECK(received != absent && received < consumed, "{} is missing or comes after its consumer",
            to_string(receive));
}

// The other side of a transfer.
Action counterpart(const Action& action) {
  switch (action.kind) {
    case ActionKind::send_forward:
      return {ActionKind::receive_forward, action.stage + 1, action.microbatch};
    case ActionKind::receive_forward:
      return {ActionKind::send_forward, action.stage - 1, action.microbatch};
    case ActionKind::send_backward:
      return {ActionKind::receive_backward, action.stage - 1, action.microbatch};
    default:
      return {ActionKind::send_backward, action.stage + 1, action.microbatch};
  }
}

// Runs the program with blocking transfers. Returns whether every rank reaches its end.
bool ends_with_rendezvous(const Program& program, const Topology& topology) {
  std::vector<std::size_t> next(program.size());
  std::vector<std::size_t> awake;
  for (std::size_t rank = 0; rank < program.size(); ++rank) awake.push_back(rank);
  while (!awake.empty()) {
    const std::size_t rank = awake.back();
    awake.pop_back();
    while (next[rank] < program[rank].size()) {
      const Instruction& head = program[rank][next[rank]];
      if (!is_compute(head.parts.front().kind)) {
        const Instruction other{{counterpart(head.parts.front())}};
        const auto peer = static_cast<std::size_t>(topology.rank_of(other.parts.front().stage));
        if (next[peer] == program[peer].size() || !(program[peer][next[peer]] == other)) break;
        ++next[peer];
        awake.push_back(peer);
      }
      ++next[rank];
    }
  }
  for (std::size_t rank = 0; rank < program.size(); ++rank) {
    if (next[rank] != program[rank].size()) return false;
  }
  return true;
}

}  // namespace

void check_compute(const Program& program, const Topology& topology, int microbatches, int forwards) {
  const Positions at(program, topology, microbatches);
  const bool backward = has_backward(program);
  for (int stage = 0; stage < topology.num_stages(); ++stage) {
    for (int mb = 0; mb < microbatches; ++mb) check_cell(at, stage, mb, backward && mb >= forwards);
  }
}

void check_communication(const Program& program, const Topology& topology, int microbatches, int forwards) {
  const Positions at(program, topology, microbatches);
  const bool backward = has_backward(program);
  for (int stage = 0; stage + 1 < topology.num_stages(); ++stage) {
    for (int mb = 0; mb < microbatches; ++mb) {
      check_transfer(at, topology, {ActionKind::send_forward, stage, mb},
                     {ActionKind::receive_forward, stage + 1, mb}, at.of(ActionKind::forward, stage, mb),
                     at.of(ActionKind::forward, stage + 1, mb));
      if (!backward || mb < forwards) continue;
      check_transfer(at, topology, {ActionKind::send_backward, stage + 1, mb},
                     {ActionKind::receive_backward, stage, mb}, at.of_input_gradient(stage + 1, mb),
                     at.of_input_gradient(stage, mb));
    }
  }
  D9D_CHECK(ends_with_rendezvous(program, topology), "the program deadlocks when transfers block");
}

}  // namespace d9d
