#include "runtime/rank/state/training_state.hpp"

#include <c10/core/GradMode.h>

#include <algorithm>
#include <set>

#include "runtime/base/error.hpp"
#include "runtime/rank/state/shard_parcel.hpp"
#include "runtime/resume/other_start.hpp"
#include "runtime/state/checkpoint/checkpoint_reader.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {

namespace {

// Of all ranks that hold a part of a tensor, the one with coordinate 0 on every axis answers for it.
bool answers_for(const Layout& layout) {
  return std::all_of(layout.axes().begin(), layout.axes().end(),
                     [](const LayoutAxis& axis) { return axis.index == 0; });
}

// The entries refer to the optimizer and to `buffers`, which must outlive them.
std::vector<StateEntry> entries_of(const Optimizer& optimizer, const std::vector<StageBuffer>& buffers) {
  std::vector<StateEntry> entries = optimizer.state_entries();
  for (const StageBuffer& buffer : buffers) {
    entries.push_back({buffer_kind, buffer.name, &buffer.layout.value(), buffer.tensor.detach()});
  }
  return entries;
}

// Parameters may have another dtype in the checkpoint and are converted. Buffers may
// not: their module chose the dtype.
void require_stored(const CheckpointReader& reader, const std::string& checkpoint, const StateEntry& entry) {
  const bool is_buffer = entry.kind == buffer_kind;
  const std::string what = entry.kind + (is_buffer ? " " : " of ") + entry.name;
  D9D_REQUIRE(reader.has(entry.kind, entry.name),
              "{} has no {}: it was written by a job with another model or optimizer. {}", checkpoint, what,
              ways_to_begin_anew(checkpoint));
  const Shape& stored = reader.shape_of(entry.kind, entry.name);
  D9D_REQUIRE(stored == entry.layout->global_shape(), "{} holds {} in the shape {}, the model has {}. {}",
              checkpoint, what, to_text(stored), to_text(entry.layout->global_shape()),
              ways_to_begin_anew(checkpoint));
  const Dtype dtype = reader.stored_dtype(entry.kind, entry.name);
  const Dtype wanted = dtype_of(entry.tensor.scalar_type());
  D9D_REQUIRE(!is_buffer || dtype == wanted, "{} holds {} as {}, the model has it as {}. {}", checkpoint,
              what, name_of(dtype), name_of(wanted), ways_to_begin_anew(checkpoint));
}

}  // namespace

Ticket snapshot_training_state(const Optimizer& optimizer, const std::vector<StageBuffer>& buffers,
                               SnapshotCopies& copies, TensorTable& table, bool only_trainable) {
  std::vector<StateEntry> entries = entries_of(optimizer, buffers);
  std::erase_if(entries, [&](const StateEntry& entry) {
    return !entry.layout->is_writer() || entry.tensor.numel() == 0 || (only_trainable && entry.frozen);
  });
  if (entries.empty()) return {};
  SnapshotCopies::Copied copied = copies.copy(entries);
  std::vector<NamedSlice> slices;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Layout& layout = *entries[i].layout;
    slices.push_back({entries[i].kind, entries[i].name, layout.global_shape(), layout.local_slice(),
                      std::move(copied.tensors[i])});
  }
  return table.put(std::make_unique<ShardParcel>(std::move(slices), std::move(copied.when)));
}

std::uint64_t load_training_state(const Disk& disk, const std::string& checkpoint, Optimizer& optimizer,
                                  const std::vector<StageBuffer>& buffers,
                                  const std::vector<std::uint64_t>& skipped, bool only_trainable) {
  const c10::NoGradGuard no_grad;
  const auto reader = CheckpointReader::open(disk, checkpoint);
  const std::vector<StateEntry> entries = entries_of(optimizer, buffers);
  const std::string master_kind(master_weight_kind);
  std::set<std::string> with_masters;
  for (const StateEntry& entry : entries)
    if (entry.kind == master_weight_kind) with_masters.insert(entry.name);
  std::uint64_t count = 0;
  for (const StateEntry& entry : entries) {
    const Slice mine = entry.layout->local_slice();
    if (only_trainable && entry.frozen && !reader->has(entry.kind, entry.name)) continue;
    if (entry.kind == master_weight_kind && !reader->has(entry.kind, entry.name)) {
      // The checkpoint has fp32 parameters and no master weights, so its parameters are the master weights.
      if (entry.tensor.numel() > 0) load_values(entry, reader->read(parameter_kind, entry.name, mine));
      continue;
    }
    require_stored(*reader, checkpoint, entry);
    // An fp32 parameter needs no master weight here, but the checkpoint has the more exact value in one.
    const bool from_master = entry.kind == parameter_kind && entry.tensor.scalar_type() == at::kFloat &&
                             !with_masters.contains(entry.name) && reader->has(master_kind, entry.name);
    if (entry.tensor.numel() > 0)
      load_values(entry, reader->read(from_master ? master_kind : entry.kind, entry.name, mine));
    if (answers_for(*entry.layout)) count += from_master ? 2 : 1;
  }
  optimizer.resume(static_cast<std::int64_t>(reader->manifest().step), skipped);
  return count;
}

}  // namespace d9d
