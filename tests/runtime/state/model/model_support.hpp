#pragma once
// A small model folder and the mapper of a model that stores it differently.

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include "runtime/state/mapper/adapters.hpp"
#include "runtime/state/mapper/compose.hpp"
#include "runtime/state/mapper/concatenate.hpp"
#include "runtime/state/mapper/rename.hpp"
#include "runtime/state/mapper/reshape.hpp"
#include "runtime/state/mapper/restrict.hpp"
#include "runtime/state/mapper/stack.hpp"
#include "runtime/state/model/model_reader.hpp"
#include "runtime/state/model/model_writer.hpp"
#include "tests/runtime/state/expect.hpp"
#include "tests/runtime/state/scratch.hpp"
#include "tests/runtime/state/test_disks.hpp"

namespace d9d::test {

// As a folder has them: two layers of two experts, gate and up in one tensor.
inline TensorMap folder_state() {
  TensorMap state{{"embed.weight", counting({10, 4})}, {"norm.weight", counting({4}, at::kBFloat16)}};
  for (int layer = 0; layer < 2; ++layer)
    for (int expert = 0; expert < 2; ++expert) {
      const auto name = fmt::format("layers.{}.experts.{}.", layer, expert);
      state[name + "gate_up"] = counting({12, 4}) + 1000 * layer + 100 * expert;
      state[name + "down"] = counting({4, 6}) - 1000 * layer - 100 * expert;
    }
  return state;
}

// To stacked experts with separate gate and up, [expert, in, out].
inline MapperPtr to_model() {
  std::vector<MapperPtr> parts{identity("embed.weight"), identity("norm.weight")};
  for (int layer = 0; layer < 2; ++layer) {
    const auto name = fmt::format("layers.{}.", layer);
    const auto of = [&](const char* what) {
      return std::vector<std::string>{name + "experts.0." + what, name + "experts.1." + what};
    };
    parts.push_back(sequential({d9d::stack(of("gate_up"), name + "gate_up", 0),
                                chunk(name + "gate_up", {name + "gate", name + "up"}, 1),
                                parallel({transpose(name + "gate", 1, 2), transpose(name + "up", 1, 2)})}));
    parts.push_back(sequential({d9d::stack(of("down"), name + "down", 0), transpose(name + "down", 1, 2)}));
  }
  return parallel(std::move(parts));
}

inline MapperPtr to_folder() {
  std::vector<MapperPtr> parts{identity("embed.weight"), identity("norm.weight")};
  for (int layer = 0; layer < 2; ++layer) {
    const auto name = fmt::format("layers.{}.", layer);
    const auto of = [&](const char* what) {
      return std::vector<std::string>{name + "experts.0." + what, name + "experts.1." + what};
    };
    parts.push_back(sequential({parallel({transpose(name + "gate", 1, 2), transpose(name + "up", 1, 2)}),
                                concatenate({name + "gate", name + "up"}, name + "gate_up", 1),
                                unstack(name + "gate_up", of("gate_up"), 0)}));
    parts.push_back(sequential({transpose(name + "down", 1, 2), unstack(name + "down", of("down"), 0)}));
  }
  return parallel(std::move(parts));
}

inline TensorMap applied(const StateMapper& mapper, const TensorMap& state) {
  TensorMap outputs;
  for (const auto& group : mapper.groups()) {
    TensorMap inputs;
    for (const auto& name : group.inputs) inputs[name] = state.at(name);
    outputs.merge(mapper.apply(inputs));
  }
  return outputs;
}

inline std::vector<TensorSpec> specs_of(const TensorMap& state) {
  std::vector<TensorSpec> specs;
  for (const auto& [name, tensor] : state) specs.push_back(spec_of(name, tensor));
  return specs;
}

inline std::vector<WrittenShard> write_share(Disk& disk, const std::string& folder, const MapperPtr& mapper,
                                             const TensorMap& state, ExportOptions options = {}) {
  ModelWriter writer(disk, folder, mapper, specs_of(state), std::move(options));
  for (const auto& [name, tensor] : state) writer.put(name, tensor);
  return writer.finish();
}

// The folder as another program would have left it.
inline void write_folder(Disk& disk, const std::string& folder, const TensorMap& state,
                         std::uint64_t shard_bytes_max = 300) {
  publish_model_state(
      disk, folder,
      write_share(disk, folder, identities_of(state), state, {.shard_bytes_max = shard_bytes_max}));
}

// Tensors of the same shapes, all -1.
inline TensorMap blank_like(const TensorMap& state) {
  TensorMap blank;
  for (const auto& [name, tensor] : state) blank[name] = at::full(tensor.sizes(), -1, tensor.options());
  return blank;
}

inline void expect_same(const TensorMap& a, const TensorMap& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) {
    ASSERT_TRUE(b.contains(name)) << name;
    EXPECT_TRUE(same(tensor, b.at(name))) << name;
  }
}

}  // namespace d9d::test
