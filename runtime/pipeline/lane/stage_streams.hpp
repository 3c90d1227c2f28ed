#pragma once
// The streams on which a rank's stages compute, so that the parts of a composed action overlap on a device. Every
// second stage of the rank computes on `compute_beside`, the others on `compute`: the two stages of a V (dual_pipe_v)
// have one each. No torch in this header.
//
// A stream belongs to a stage, not to a part of an action, because
// - autograd runs the backward of an op on the stream of its forward (torch/csrc/autograd/node.h, Node::stream): a
//   backward that was given to the other stream would run beside nothing;
// - memory goes back to the stream that made it, in that stream's order. What a stage makes in one action and frees
//   in another (activations, what is computed again, gathered weights) never leaves its stream. Only what it is
//   handed does: the tensors of a neighbouring stage and of the microbatch (stage/handed_tensors.hpp, use_here).
//
// Why nothing waits for ever: one thread gives all work, the parts of an action one after the other. So collectives
// are given in the order of the program, the same on all ranks of a group, as on one stream. A wait between streams is
// for work that was given before it, and came before it on the one stream, too: the waits are a part of the old ones,
// so they close no circle that the old ones do not.
//
// The price of the one thread: a part that exchanges with other ranks inside comes to its first collective behind all
// collectives of the part before it, and a host that waits inside of a part gives the other one late (experts over
// ranks). Such a part overlaps up to there.

#include <memory>
#include <vector>

#include "runtime/device/device.hpp"
#include "runtime/pipeline/action.hpp"

namespace d9d {

class StageStreams {
 public:
  // `stages`: of the rank, ascending.
  StageStreams(std::shared_ptr<Device> device, const std::vector<int>& stages);

  // A stage that is not the rank's is a bug.
  StreamRole stream_of(int stage) const;
  // Makes the thread compute on the stage's stream until the scope ends.
  StreamScope on_stream_of(int stage) const { return {*device_, stream_of(stage)}; }

  // While the parts of an instruction are given. Work on `compute_beside` comes behind what `compute` was given before;
  // what `compute` is given after comes behind the parts. The host waits for nothing.
  class Fork {
   public:
    Fork(const StageStreams& streams, const Instruction& instruction);
    ~Fork();
    Fork(const Fork&) = delete;
    Fork& operator=(const Fork&) = delete;

   private:
    Device* const device_;  // null: no part is on `compute_beside`
  };

 private:
  const std::shared_ptr<Device> device_;
  const std::vector<int> stages_;
};

}  // namespace d9d
