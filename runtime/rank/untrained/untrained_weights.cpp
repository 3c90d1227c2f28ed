#include "runtime/rank/untrained/untrained_weights.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/count.hpp"

namespace d9d {
namespace {

constexpr std::size_t named_max = 8;

std::string listed(std::vector<std::string> names) {
  const std::size_t all = names.size();
  names.resize(std::min(all, named_max));
  return fmt::format("{}{}", fmt::join(names, ", "),
                     all > named_max ? fmt::format(" and {} more", all - named_max) : "");
}

}  // namespace

std::string unreached_text(int stage, const std::vector<StageParameter>& parameters,
                           const std::vector<std::size_t>& unreached) {
  if (unreached.empty()) return {};
  std::vector<std::string> names;
  for (const std::size_t index : unreached) names.push_back(parameters.at(index).name);
  const auto trainable = static_cast<std::uint64_t>(std::count_if(
      parameters.begin(), parameters.end(), [](const auto& each) { return each.tensor.requires_grad(); }));
  return fmt::format(
      "stage {}: {} of {} got no gradient in the first step and cannot train: {}. Is the loss computed "
      "without them, or under detach() or NoGradGuard? If they are not meant to train, freeze them "
      "(requires_grad_(false))",
      stage, names.size(), counted(trainable, "trainable parameter"), listed(names));
}

std::string unregistered_text(int stage, const std::vector<at::Tensor>& tensors) {
  std::vector<std::string> shapes;
  for (const at::Tensor& tensor : tensors)
    shapes.push_back(fmt::format("[{}]", fmt::join(tensor.sizes(), ", ")));
  return fmt::format(
      "stage {}: the loss depends on {} that {} no parameter of the model, so no optimizer changes and no "
      "checkpoint has {}: of the shape {}. Register the layers that hold them (register_module, "
      "register_parameter), or detach them if they are constants",
      stage, counted(tensors.size(), "tensor"), tensors.size() == 1 ? "is" : "are",
      tensors.size() == 1 ? "it" : "them", listed(shapes));
}

}  // namespace d9d
