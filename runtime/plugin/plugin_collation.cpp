#include "runtime/plugin/plugin_collation.hpp"

#include "runtime/base/error.hpp"
#include "runtime/task/user_call.hpp"

namespace d9d {

PluginCollation::PluginCollation(std::string name, std::shared_ptr<const Collation> inner)
    : name_(std::move(name)), inner_(std::move(inner)) {
  D9D_REQUIRE(inner_ != nullptr, "the factory of the collation \"{}\" made none", name_);
}

TensorMap PluginCollation::collate(std::span<const Sample> samples) const {
  TensorMap batch = call_user(fmt::format("the collation \"{}\"", name_), ErrorInside::is_named,
                              [&] { return inner_->collate(samples); });
  D9D_REQUIRE(!batch.empty(), "the collation \"{}\" makes batches without tensors", name_);
  for (const auto& [name, tensor] : batch) {
    D9D_REQUIRE(tensor.defined() && tensor.is_cpu(),
                "the collation \"{}\" makes {}, which {}; a batch consists of tensors on the CPU", name_,
                name, tensor.defined() ? "is not on the CPU" : "has no values");
  }
  return batch;
}

}  // namespace d9d
