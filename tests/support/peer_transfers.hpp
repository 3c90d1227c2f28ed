#pragma once
// What a pipeline program makes one rank exchange with each other rank.

#include <map>
#include <vector>

#include "runtime/pipeline/program/build_program.hpp"

namespace d9d::test {

// With one peer in a step, in the order in which both of them do it. The actions are of this rank's side.
struct PeerTransfers {
  std::vector<Action> sends;
  std::vector<Action> receives;
};

// By peer rank on the pp axis.
inline std::map<int, PeerTransfers> transfers_of(const PipelineProgram& program, int rank) {
  std::map<int, PeerTransfers> peers;
  for (const Instruction& instruction : program.full[static_cast<std::size_t>(rank)]) {
    for (const Action& action : instruction.parts) {
      const bool up = action.kind == ActionKind::send_forward || action.kind == ActionKind::receive_backward;
      const bool down =
          action.kind == ActionKind::receive_forward || action.kind == ActionKind::send_backward;
      if (!up && !down) continue;
      PeerTransfers& peer = peers[program.topology.rank_of(action.stage + (up ? 1 : -1))];
      const bool send = action.kind == ActionKind::send_forward || action.kind == ActionKind::send_backward;
      (send ? peer.sends : peer.receives).push_back(action);
    }
  }
  return peers;
}

}  // namespace d9d::test
