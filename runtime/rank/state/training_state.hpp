#pragma once
// Copies the parameters, optimizer state and buffers of a rank to a
// snapshot, and loads them from a checkpoint of any mesh.

#include <string>
#include <vector>

#include "runtime/rank/state/snapshot_copies.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/tensor/stage_module.hpp"
#include "runtime/tensor/tensor_table.hpp"
#include "runtime/train/optimizer/optimizer.hpp"

namespace d9d {

// `buffers`: RankBuffers::all().

// Begins to copy what this rank has to write to the host, as a ShardParcel; a replicated parameter or buffer is
// written by one rank. No ticket when other ranks write all of it. Who writes the state asks `copies` first.
// With `only_trainable` frozen parameters are left out.
Ticket snapshot_training_state(const Optimizer& optimizer, const std::vector<StageBuffer>& buffers,
                               SnapshotCopies& copies, TensorTable& table, bool only_trainable = false);

// Fills every parameter, state tensor and buffer from a committed checkpoint and sets the step count: that
// of the checkpoint less `skipped_steps`, which made no update. Master
// weights that it lacks begin as its parameters are stored, and fp32 parameters without master weights as those that it
// has. Input error: it lacks another tensor, has it in another
// shape, or has a buffer of another type. Returns how many of its tensors this rank answers for (each one
// exactly one rank does), so that the sum over all ranks can be held against the whole. With `only_trainable`
// frozen parameters that it lacks keep their values.
std::uint64_t load_training_state(const Disk& disk, const std::string& checkpoint, Optimizer& optimizer,
                                  const std::vector<StageBuffer>& buffers, std::uint64_t skipped_steps = 0,
                                  bool only_trainable = false);

}  // namespace d9d
