#include "runtime/plugin/plugin_collation.hpp"

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
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
  warn_of_lost_rows(batch, samples.size());
  return batch;
}

// Not an error: a collation may put several samples into a row, with tensors of its own that part them.
void PluginCollation::warn_of_lost_rows(const TensorMap& batch, std::size_t samples) const {
  const auto ids = batch.find("input_ids");
  if (ids == batch.end() || ids->second.dim() == 0 || batch.contains("document_starts")) return;
  const auto rows = static_cast<std::size_t>(ids->second.size(0));
  if (rows >= samples || warned_.exchange(true)) return;
  log::warn(
      "the collation \"{}\" makes {} of input_ids of {}: does it lose samples? If it puts several into a "
      "row, let it add document_starts",
      name_, counted(rows, "row"), counted(samples, "sample"));
}

}  // namespace d9d
