#include "runtime/plugin/plugin_model.hpp"

#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/task/user_call.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {
namespace {

// What `call` returns, the function of the model of this name.
template <class Call>
auto named(const char* function, const std::string& name, Call&& call) {
  return call_user(fmt::format("{} of the model \"{}\"", function, name), ErrorInside::bug_is_named,
                   std::forward<Call>(call));
}

}  // namespace

PluginModel::PluginModel(std::string name, std::shared_ptr<const ModelProvider> inner)
    : name_(std::move(name)), inner_(std::move(inner)) {
  D9D_REQUIRE(inner_ != nullptr, "the factory of the model \"{}\" made none", name_);
}

std::unique_ptr<StageModule> PluginModel::build_stage(StagePosition position) const {
  auto stage = named("build_stage", name_, [&] { return inner_->build_stage(position); });
  D9D_REQUIRE(stage != nullptr, "build_stage of the model \"{}\" made no stage", name_);
  return stage;
}

std::vector<StageParameter> PluginModel::parallelize(StageModule& module, StageGroups& groups,
                                                     const ParallelOptions& options) const {
  return named("parallelize", name_, [&] { return inner_->parallelize(module, groups, options); });
}

bool PluginModel::starts_anew(const std::string& directory, const std::string& parameter) const {
  return named("starts_anew", name_, [&] { return inner_->starts_anew(directory, parameter); });
}

void PluginModel::load_weights(const std::string& directory, StagePosition position,
                               const std::vector<StageParameter>& parameters) const {
  named("load_weights", name_, [&] { inner_->load_weights(directory, position, parameters); });
}

void PluginModel::load_buffers(const std::string& directory, StagePosition position,
                               const std::vector<StageBuffer>& buffers) const {
  named("load_buffers", name_, [&] { inner_->load_buffers(directory, position, buffers); });
}

void PluginModel::load_adapter(const std::vector<StageParameter>& parameters) const {
  named("load_adapter", name_, [&] { inner_->load_adapter(parameters); });
}

std::vector<std::string> PluginModel::check_source(const std::string& directory) const {
  return named("check_source", name_, [&] { return inner_->check_source(directory); });
}

void PluginModel::export_model(const std::string& checkpoint, const std::string& target) const {
  named("export_model", name_, [&] { inner_->export_model(checkpoint, target); });
}

void PluginModel::export_share(const std::string& checkpoint, const std::string& target,
                               const ExportWork& work) const {
  named("export_share", name_, [&] { inner_->export_share(checkpoint, target, work); });
}

std::optional<std::int64_t> PluginModel::vocab_size() const {
  return named("vocab_size", name_, [&] { return inner_->vocab_size(); });
}

void PluginModel::check_export(const ExportWork& work) const {
  named("check_export", name_, [&] { inner_->check_export(work); });
}

void PluginModel::export_adapter(const std::string& checkpoint, const std::string& target) const {
  named("export_adapter", name_, [&] { inner_->export_adapter(checkpoint, target); });
}

void PluginModel::register_events(RankEvents& events) const {
  named("register_events", name_, [&] { inner_->register_events(events); });
}

nlohmann::json PluginModel::hparams() const {
  return named("hparams", name_, [&] { return inner_->hparams(); });
}

}  // namespace d9d
