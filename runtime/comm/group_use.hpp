#pragma once
// What a group is for. The use is part of a group's name, and tells which groups may share a communicator of devices.

#include <string_view>

namespace d9d {

// Values of sharded units are gathered, gradients reduce-scattered and summed.
inline constexpr const char* gather_use = "gather";
inline constexpr const char* gradients_use = "gradients";

// Whether a rank launches the calls of such a group from one thread, in the order of its program, and all behind
// its stream `communicate` (nn/plan/gathered_unit, rank/group/group_worker). Groups of this kind with the same
// ranks may share one NCCL communicator and its stream:
// - The order of their launches is the same on all ranks, or they would deadlock with communicators of their own.
// - They do not lose overlap: a launch on `communicate` comes behind the launches before it anyway.
// - No launch waits for a later one: what it comes behind was queued before it, and so were the launches that
//   this comes behind.
// Groups of layers (tensor parallel, context, experts) launch behind the stream `compute`, which waits for them at
// once. Behind a gather for the next layer in one stream they would wait for it. So they share nothing.
inline bool is_launched_beside_compute(std::string_view use) {
  return use.substr(0, use.find(' ')) == gather_use || use.substr(0, use.find(' ')) == gradients_use;
}

}  // namespace d9d
