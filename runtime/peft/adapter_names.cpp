#include "runtime/peft/adapter_names.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>

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

// The weight without storage, and what the mapper makes of it.
struct Stored {
  TensorMap inputs, tensors;
};
Stored stored(const StateMapper& mapper, const StageParameter& weight) {
  Stored result{{{weight.name, at::empty(weight.layout.global_shape(), at::kMeta)}}, {}};
  result.tensors = mapper.apply(result.inputs);
  return result;
}

bool is_of_module(const std::pair<const std::string, at::Tensor>& tensor) {
  return tensor.second.dim() == 2 && tensor.first.ends_with(weight_ending);
}

}  // namespace

bool has_modules(const StateMapper& to_hugging_face, const StageParameter& weight) {
  return std::ranges::all_of(stored(to_hugging_face, weight).tensors, is_of_module);
}

std::vector<AdaptedModule> modules_of(const StateMapper& to_hugging_face, const StageParameter& weight) {
  require_alone(to_hugging_face, weight.name);
  const auto [inputs, tensors] = stored(to_hugging_face, weight);
  std::vector<AdaptedModule> modules;
  for (const auto& tensor : tensors) {
    const auto& [name, matrix] = tensor;
    D9D_REQUIRE(
        is_of_module(tensor),
        "{} is no matrix of a module in a Hugging Face folder, so PEFT's format has no place for an adapter "
        "of {}; merge it (export_to), or write a pattern that does not match it",
        name, weight.name);
    AdaptedModule module{name.substr(0, name.size() - weight_ending.size()), {}};
    if (inputs.begin()->second.dim() == 3) module.expert = expert_of(to_hugging_face, name, matrix, inputs);
    modules.push_back(std::move(module));
  }
  return modules;
}

FactorNames factor_names(const AdaptedModule& module) {
  const std::string path = "base_model.model." + module.path;
  return {path + ".lora_A.weight", path + ".lora_B.weight", path + ".lora_magnitude_vector"};
}

}  // namespace d9d
