#include "runtime/provider/family_adapter.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/family/folder/folder_names.hpp"
#include "runtime/model_folder/adapter_contents.hpp"
#include "runtime/provider/merged_weights.hpp"
#include "runtime/state/checkpoint/checkpoint_reader.hpp"

namespace d9d {
FamilyAdapter::FamilyAdapter(std::shared_ptr<const FamilyModel> model, const PeftConfig& config,
                             std::string source, const Disk& disk, const NewRows& rows)
    : model_(std::move(model)),
      method_(make_peft_method(config)),
      source_(std::move(source)),
      disk_(disk),
      rows_(rows),
      beside_(trained_beside_adapters(disk, *model_, config, source_)),
      not_had_(modules_not_had(*model_, config)) {}

const FamilyAdapter::Whole& FamilyAdapter::whole_model() const {
  std::call_once(once_, [&] {
    const auto dtype = dtype_named(model_->dtype);
    D9D_CHECK(dtype, "no element type is called {}", model_->dtype);
    whole_ = {};
    whole_.stage = model_->build_shapes(*dtype);
    adapt(*whole_.stage);
    whole_.lora = lora_adapters(*whole_.stage);
    std::vector<LoraAdapter> begun;
    std::ranges::copy_if(whole_.lora, std::back_inserter(begun),
                         [](const LoraAdapter& adapter) { return adapter.config.from.has_value(); });
    whole_.begun = named_adapters(*model_, begun);
    whole_.beside = tensors_named(*model_, whole_.stage->parameters(), beside_);
  });
  return whole_;
}

void FamilyAdapter::load(const std::vector<StageParameter>& parameters) const {
  begin_magnitudes(whole_model().lora, parameters);
  load_adapters(disk_, whole_model().begun, parameters, whole_model().beside);
}

std::string FamilyAdapter::new_rows_that_stay() const {
  if (source_.empty() || new_rows(*model_, ModelFiles(disk_, source_)) == 0) return "";
  std::vector<std::string> frozen;
  for (const StageParameter& parameter : whole_model().stage->parameters()) {
    const bool is_table = parameter.name == embedding_table || parameter.name == head_table;
    const bool is_adapted = std::ranges::any_of(whole_model().lora, [&](const LoraAdapter& adapter) {
      return adapter.weight.name == parameter.name;
    });
    if (is_table && !is_adapted && !parameter.tensor.requires_grad()) frozen.push_back(parameter.name);
  }
  if (frozen.empty()) return "";
  return fmt::format(
      "the new rows of {} stay as they begin, because adapters alone train, so the model cannot tell new "
      "tokens "
      "apart; let the modules train whole (model_provider.peft: a stack with full_tune)",
      fmt::join(frozen, " and "));
}

std::vector<std::string> FamilyAdapter::check() const {
  check_adapters(disk_, whole_model().begun, whole_model().beside);
  std::vector<std::string> news = not_had_;
  if (const std::string still = new_rows_that_stay(); !still.empty()) news.push_back(still);
  const std::vector<std::string> drawn = drawn_parameters(disk_, *model_, source_);
  if (source_.empty() || drawn.empty()) return news;
  news.push_back(fmt::format(
      "{} has no {}: from the seed or an adapter's folder, it trains beside the adapters and goes with "
      "them in an export",
      source_, fmt::join(drawn, ", ")));
  return news;
}

std::unique_ptr<TensorSource> FamilyAdapter::merged(const CheckpointReader& checkpoint) const {
  return std::make_unique<MergedWeights>(*model_, *whole_model().stage, disk_, source_, checkpoint, rows_);
}

void FamilyAdapter::export_adapter(Disk& disk, const CheckpointReader& checkpoint,
                                   const std::string& target) const {
  const std::vector<NamedAdapter> all = named_adapters(*model_, whole_model().lora);
  const AdapterContents contents = adapter_contents(*model_, *whole_model().stage, all, source_);
  write_adapters(disk, target, all, contents.saved, contents.config_json,
                 [&](const std::string& name) { return checkpoint.read(parameter_kind, name); });
}

}  // namespace d9d
