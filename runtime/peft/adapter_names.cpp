#include "runtime/peft/adapter_names.hpp"

#include <ATen/ops/empty.h>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr std::string_view weight_ending = ".weight";

void require_alone(const StateMapper& mapper, const std::string& name) {
  for (const StateGroup& group : mapper.groups()) {
    if (!group.inputs.contains(name)) continue;
    D9D_REQUIRE(group.inputs.size() == 1,
                "the adapter of {} has no module in a Hugging Face folder: there it is one matrix with {}",
                name, to_text(group.inputs));
    return;
  }
  throw Error(ErrorKind::input,
              fmt::format("the adapter of {} has no module in a Hugging Face folder", name));
}

// Returns the number of the expert in the stacked weight to which the matrix belongs.
std::int64_t expert_of(const StateMapper& mapper, const std::string& output, const at::Tensor& matrix,
                       const TensorMap& inputs) {
  const auto pieces = mapper.trace(output, whole(matrix.sizes().vec()), inputs);
  D9D_REQUIRE(pieces && pieces->size() == 1, "{} is computed from the experts, so it can have no adapter",
              output);
  return pieces->front().from.begin.front();
}

}  // namespace

std::vector<AdaptedModule> modules_of(const StateMapper& to_hugging_face, const StageParameter& weight) {
  require_alone(to_hugging_face, weight.name);
  const std::vector<std::int64_t>& shape = weight.layout.global_shape();
  const TensorMap inputs{{weight.name, at::empty(shape, at::kMeta)}};
  std::vector<AdaptedModule> modules;
  for (const auto& [name, matrix] : to_hugging_face.apply(inputs)) {
    D9D_REQUIRE(matrix.dim() == 2 && name.ends_with(weight_ending),
                "{} is no matrix of a module, so it can have no adapter", name);
    AdaptedModule module{name.substr(0, name.size() - weight_ending.size()), {}};
    if (shape.size() == 3) module.expert = expert_of(to_hugging_face, name, matrix, inputs);
    modules.push_back(std::move(module));
  }
  return modules;
}

FactorNames factor_names(const AdaptedModule& module) {
  const std::string path = "base_model.model." + module.path;
  return {path + ".lora_A.weight", path + ".lora_B.weight", path + ".lora_magnitude_vector"};
}

}  // namespace d9d
