#pragma once
// Copies the parameters, optimizer state and buffers of a rank to a snapshot, and loads
// them from a checkpoint of any mesh.

#include <string>
#include <vector>

#include "runtime/rank/state/snapshot_copies.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/tensor/stage_module.hpp"
#include "runtime/tensor/tensor_table.hpp"
#include "runtime/train/optimizer/optimizer.hpp"

namespace d9d {

// `buffers`: RankBuffers::all().

// Begins to copy the state that this rank has to write to the host, as a ShardParcel. One rank writes a
// replicated parameter or buffer. Returns no ticket when other ranks write everything. Before the state is
// changed again, call before_buffers_change() or before_state_changes() of `copies`. With `only_trainable`
// frozen parameters are left out.
Ticket snapshot_training_state(const Optimizer& optimizer, const std::vector<StageBuffer>& buffers,
                               SnapshotCopies& copies, TensorTable& table, bool only_trainable = false);

// Fills every parameter, state tensor and buffer from a committed checkpoint. `skipped`: how often each
// update of its steps was not made. Master weights that the checkpoint lacks are
// filled from its parameters; fp32 parameters without master weights are filled from the checkpoint's master
// weights if it has them. Input error when another tensor is missing or has another shape, or when a buffer
// has another dtype. With `only_trainable` frozen parameters that are missing keep their values. Returns how
// many of the checkpoint's tensors this rank answers for. Exactly one rank answers for each tensor, so the
// sum over all ranks must be the number of tensors.
std::uint64_t load_training_state(const Disk& disk, const std::string& checkpoint, Optimizer& optimizer,
                                  const std::vector<StageBuffer>& buffers,
                                  const std::vector<std::uint64_t>& skipped = {0},
                                  bool only_trainable = false);

}  // namespace d9d
