#include "runtime/rank/training_state.hpp"

#include <c10/core/GradMode.h>

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/rank/shard_parcel.hpp"
#include "runtime/state/checkpoint_reader.hpp"

namespace d9d {

namespace {

// Of all ranks that hold a part of a tensor, the one with coordinate 0 on every axis.
bool answers_for(const Layout& layout) {
  return std::all_of(layout.axes().begin(), layout.axes().end(),
                     [](const LayoutAxis& axis) { return axis.index == 0; });
}

}  // namespace

Ticket snapshot_training_state(const Optimizer& optimizer, TensorTable& table) {
  std::vector<NamedSlice> slices;
  for (const StateEntry& entry : optimizer.state_entries()) {
    if (!entry.layout->is_writer() || entry.tensor.numel() == 0) continue;
    slices.push_back({entry.kind, entry.name, entry.layout->global_shape(), entry.layout->local_slice(),
                      entry.tensor.detach().clone()});
  }
  if (slices.empty()) return {};
  return table.put(std::make_unique<ShardParcel>(std::move(slices)));
}

std::uint64_t load_training_state(const Disk& disk, const std::string& checkpoint, Optimizer& optimizer) {
  const c10::NoGradGuard no_grad;
  const auto reader = CheckpointReader::open(disk, checkpoint);
  std::uint64_t entries = 0;
  at::Tensor parameter;  // whose state the entries are
  for (const StateEntry& entry : optimizer.state_entries()) {
    if (entry.kind == "param") parameter = entry.tensor;
    if (entry.kind == kMasterWeight && !reader->has(entry.kind, entry.name)) {
      entry.tensor.copy_(parameter);
      continue;
    }
    D9D_REQUIRE(reader->has(entry.kind, entry.name),
                "{} has no {} of {}: it was written by a job with another model or optimizer. Choose another "
                "run name, or remove the checkpoint to start afresh",
                checkpoint, entry.kind, entry.name);
    D9D_REQUIRE(reader->shape_of(entry.kind, entry.name) == entry.layout->global_shape(),
                "{} holds {} of {} in the shape {}, the model has {}", checkpoint, entry.kind, entry.name,
                to_text(reader->shape_of(entry.kind, entry.name)), to_text(entry.layout->global_shape()));
    if (entry.tensor.numel() > 0) {
      entry.tensor.copy_(reader->read(entry.kind, entry.name, entry.layout->local_slice()));
    }
    if (answers_for(*entry.layout)) ++entries;
  }
  optimizer.set_step_count(static_cast<std::int64_t>(reader->manifest().step));
  return entries;
}

}  // namespace d9d
