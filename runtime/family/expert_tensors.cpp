#include "runtime/family/expert_tensors.hpp"

#include <array>

#include "runtime/base/error.hpp"
#include "runtime/state/mapper/compose.hpp"
#include "runtime/state/mapper/concatenate.hpp"
#include "runtime/state/mapper/rename.hpp"
#include "runtime/state/mapper/reshape.hpp"
#include "runtime/state/mapper/stack.hpp"

namespace d9d {
namespace {

// Our name of a projection and the stored one.
std::array<std::array<std::string, 2>, 3> projections_of(const ExpertTensors& experts) {
  return {{{"gate_proj", experts.gate}, {"up_proj", experts.up}, {"down_proj", experts.down}}};
}

std::vector<std::string> names_one_by_one(const ExpertTensors& experts, const std::string& projection) {
  std::vector<std::string> names;
  for (std::int64_t e = 0; e < experts.num_experts; ++e) {
    names.push_back(fmt::format("{}{}.{}.weight", experts.stored, e, projection));
  }
  return names;
}

constexpr std::array<const char*, 2> transposed_projections{"gate_up_proj", "down_proj"};

}  // namespace

ExpertStorage expert_storage_of(const Names& names) {
  bool fused = false;
  bool one_by_one = false;
  for (const std::string& name : names) {
    fused = fused || name.ends_with(".experts.gate_up_proj");
    one_by_one = one_by_one || (name.find(".experts.") != std::string::npos && name.ends_with(".weight"));
  }
  D9D_REQUIRE(!fused || !one_by_one,
              "the folder holds experts one by one (mlp.experts.0.gate_proj.weight) and fused "
              "(mlp.experts.gate_up_proj); keep one form");
  return fused ? ExpertStorage::fused : ExpertStorage::one_by_one;
}

void add_experts_from(std::vector<MapperPtr>& mappers, const ExpertTensors& experts, ExpertStorage storage) {
  const auto ours = [&](const std::string& projection) { return experts.ours + projection + ".weight"; };
  if (storage == ExpertStorage::transposed || storage == ExpertStorage::packed) {
    for (const std::string projection : transposed_projections) {
      const std::string weight = experts.stored + projection;
      mappers.push_back(storage == ExpertStorage::packed
                            ? rename(weight + "_blocks", ours(projection))
                            : sequential({transpose(weight, 1, 2), rename(weight, ours(projection))}));
      mappers.push_back(rename(weight + "_bias", experts.ours + projection + ".bias"));
    }
    return;
  }
  if (storage == ExpertStorage::fused) {
    mappers.push_back(chunk(experts.stored + "gate_up_proj", {ours("gate_proj"), ours("up_proj")}, 1));
    mappers.push_back(rename(experts.stored + "down_proj", ours("down_proj")));
    return;
  }
  for (const auto& [projection, stored] : projections_of(experts)) {
    mappers.push_back(stack(names_one_by_one(experts, stored), ours(projection), 0));
  }
}

void add_experts_to(std::vector<MapperPtr>& mappers, const ExpertTensors& experts, ExpertStorage storage) {
  const auto ours = [&](const std::string& projection) { return experts.ours + projection + ".weight"; };
  if (storage == ExpertStorage::transposed) {
    for (const std::string projection : transposed_projections) {
      const std::string weight = experts.stored + projection;
      mappers.push_back(sequential({rename(ours(projection), weight), transpose(weight, 1, 2)}));
      mappers.push_back(rename(experts.ours + projection + ".bias", weight + "_bias"));
    }
    return;
  }
  if (storage == ExpertStorage::fused) {
    mappers.push_back(concatenate({ours("gate_proj"), ours("up_proj")}, experts.stored + "gate_up_proj", 1));
    mappers.push_back(rename(ours("down_proj"), experts.stored + "down_proj"));
    return;
  }
  for (const auto& [projection, stored] : projections_of(experts)) {
    mappers.push_back(unstack(ours(projection), names_one_by_one(experts, stored), 0));
  }
}

}  // namespace d9d
