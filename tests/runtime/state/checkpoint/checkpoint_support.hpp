#pragma once
// A small training state on a mesh, as the ranks of a job would write it.

#include <fstream>

#include "runtime/state/checkpoint/checkpoint_commit.hpp"
#include "runtime/state/checkpoint/checkpoint_reader.hpp"
#include "runtime/state/checkpoint/checkpoint_writer_core.hpp"
#include "tests/runtime/state/expect.hpp"
#include "tests/runtime/state/scratch.hpp"
#include "tests/runtime/state/test_disks.hpp"

namespace d9d::test {

struct State {
  std::string kind, name;
  at::Tensor tensor;
};

// Uneven sizes on purpose; `step` changes every value.
inline std::vector<State> state_at(std::uint64_t step) {
  const auto shift = static_cast<double>(step) * 1000;
  std::vector<State> states;
  for (const char* kind : {"param", "exp_avg", "exp_avg_sq"}) {
    states.push_back({kind, "model.embed.weight", counting({7, 5}) + shift});
    states.push_back({kind, "model.norm.weight", counting({5}, at::kBFloat16)});
    states.push_back({kind, "model.scale", counting({}) + shift});
  }
  return states;
}

// Dim 0 over `rows` ranks, dim 1 over `columns`; what has fewer dims is written by the first of the replicas.
inline std::vector<NamedSlice> part_of_rank(const std::vector<State>& states, int rows, int columns,
                                            int rank) {
  std::vector<NamedSlice> slices;
  for (const auto& [kind, name, tensor] : states) {
    const auto dims = tensor.dim();
    const auto place = [&](int dim) { return dims > dim ? Placement::shard(dim) : Placement::replicate(); };
    const Layout layout(tensor.sizes().vec(), {{"rows", rows, rank / columns, place(0)},
                                               {"columns", columns, rank % columns, place(1)}});
    if (!layout.is_writer()) continue;
    const auto slice = layout.local_slice();
    slices.push_back({kind, name, tensor.sizes().vec(), slice, slice_view(tensor, slice).clone()});
  }
  return slices;
}

// What a job of rows x columns ranks does to save.
inline void save(Disk& disk, const std::string& folder, std::uint64_t step, int rows = 2, int columns = 1) {
  const auto temporary = join_path(folder, temporary_name(step, "abc"));
  Manifest manifest;
  manifest.step = step;
  manifest.data_cursor = step * 32;
  manifest.job_hash = "job";
  manifest.extra = R"({"lr":{"step":3},"metrics":[1.5]})";
  std::vector<ShardReport> reports;
  for (int rank = 0; rank < rows * columns; ++rank)
    reports.push_back(ShardWriter(disk).write(temporary, "rank-" + std::to_string(rank),
                                              part_of_rank(state_at(step), rows, columns, rank)));
  commit_checkpoint(disk, temporary, join_path(folder, checkpoint_name(step)),
                    with_reports(manifest, reports));
}

inline void flip_bit(const std::string& path, std::int64_t offset_from_end) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(-offset_from_end, std::ios::end);
  const char byte = static_cast<char>(file.get() ^ 4);
  file.seekp(-offset_from_end, std::ios::end);
  file.put(byte);
}

inline std::vector<std::uint64_t> steps_in(const Disk& disk, const std::string& folder) {
  std::vector<std::uint64_t> steps;
  for (const auto& found : find_checkpoints(disk, folder)) steps.push_back(found.step);
  return steps;
}

}  // namespace d9d::test
