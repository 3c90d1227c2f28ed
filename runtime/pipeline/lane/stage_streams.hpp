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
// Two threads give the work of the parts if a module exchanges with other ranks (compute_lanes.hpp), in turns that
// change where a stage needs a result: so the first collective of one part does not come behind all of the other's.
// Without communicators one thread gives the parts one after the other; no order between streams comes of that.
//
// Why nothing waits for ever: the turns depend on the program alone, so all ranks of a group give their collectives in
// one order, over all groups, whatever streams they come from, and never two at once. A wait between streams is for
// work that was given before it. So of all that was given and is not done, the first piece (in that order) waits for
// nothing but other ranks' pieces of the same collective, and those come as far in the same way.

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
