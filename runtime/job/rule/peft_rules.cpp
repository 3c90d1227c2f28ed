#include "runtime/job/rule/peft_rules.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/model_folder/adapter_contents.hpp"
#include "runtime/model_folder/beside_adapters.hpp"
#include "runtime/peft/method.hpp"
#include "runtime/peft/own_adapters.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {
namespace {

using Issues = std::vector<JobIssue>;
constexpr const char* peft_section = "model_provider.peft";

const PeftConfig* peft_of(const JobConfig& job) {
  const auto* provider = std::get_if<FamilyProvider>(&job.model_provider);
  return provider != nullptr && provider->peft ? &*provider->peft : nullptr;
}

// The key that says which modules; a plugin's method has one of its own.
std::string place_of(const std::string& path, const PeftConfig& config) {
  return path + (std::holds_alternative<OwnPeftConfig>(config) ? ".kind" : ".module_name_pattern");
}

// What is wrong with a method is told when it is applied.
bool begins_trainable(const PeftConfig& config) {
  try {
    return make_peft_method(config)->begins_trainable();
  } catch (const Error&) {
    return false;
  }
}

JobIssue nothing_changed(const std::string& path, const PeftConfig& config) {
  if (const auto* const own = std::get_if<OwnPeftConfig>(&config))
    return {place_of(path, config), fmt::format("{} changes no module of the model", own->name),
            "look at its keys: a pattern has to match a module's whole path (begin it with `.*`)"};
  const bool is_lora = std::holds_alternative<LoraConfig>(config);
  return {place_of(path, config),
          is_lora ? "matches no linear layer of the model that has no adapter yet"
                  : "matches no module of the model",
          "the pattern has to match the whole path, for example "
          "model.layers.0.self_attn.q_proj: begin it with `.*`"};
}

void inject_one(const std::string& path, const PeftConfig& config, AdaptedModel& model, Issues& issues) {
  try {
    const auto method = make_peft_method(config);
    if (method->inject(model) == 0) issues.push_back(nothing_changed(path, config));
  } catch (const Error& error) {
    issues.push_back({place_of(path, config), error.what(), ""});
  }
}

std::vector<std::string> beside_adapters(const JobConfig& job, const FamilyModel& model,
                                         const PeftConfig& config) {
  const std::string source = job.trainer.model_stage_factory.source_checkpoint.value_or("");
  return trained_beside_adapters(PosixDisk(), model, config, source);
}

// What the folder cannot hold is known before the first step.
void check_adapter_export(const JobConfig& job, const FamilyModel& model, Issues& issues) {
  try {
    const auto stage = model.build_shapes();
    adapt(job, model, *stage);
    adapter_contents(model, *stage, named_adapters(model, lora_adapters(*stage)), "");
  } catch (const Error& error) {
    issues.push_back({"export_adapter_to", error.what(), ""});
  }
}

const OwnPeftConfig* own_method_of(const PeftConfig* config) {
  if (config == nullptr) return nullptr;
  for (const MethodAt& method : methods_of(*config))
    if (const auto* const own = std::get_if<OwnPeftConfig>(method.config)) return own;
  return nullptr;
}

// Whether what a plugin's method adds can go into the weights of an export.
void check_merged_export(const JobConfig& job, const FamilyModel& model, Issues& issues) {
  try {
    const auto stage = model.build_shapes();
    adapt(job, model, *stage);
    require_merged_form(*stage);
  } catch (const Error& error) {
    issues.push_back({"export_to", error.what(), ""});
  }
}

void check_patterns(const JobConfig& job, const PeftConfig& config, const FamilyModel& model,
                    Issues& issues) {
  const auto stage = model.build_shapes();
  AdaptedModel adapted(*stage);
  const auto methods = methods_of(config);
  if (methods.empty()) {
    issues.push_back({peft_section, "a stack without methods", "give it at least one, or leave `peft` out"});
    return;
  }
  adapted.set_trainable(begins_trainable(*methods.front().config));
  adapted.let_train(beside_adapters(job, model, config));
  for (const auto& [path, method] : methods) inject_one(peft_section + path, *method, adapted, issues);
  const auto& parameters = adapted.parameters();
  const auto trains = [](const StageParameter& parameter) { return parameter.tensor.requires_grad(); };
  if (issues.empty() && std::none_of(parameters.begin(), parameters.end(), trains)) {
    issues.push_back({peft_section, "nothing of the model trains", "add a method that trains something"});
  }
}

template <class Condition>
bool any_lora(const PeftConfig* config, Condition condition) {
  if (config == nullptr) return false;
  const auto all = methods_of(*config);
  return std::any_of(all.begin(), all.end(), [&](const MethodAt& method) {
    const auto* const lora = std::get_if<LoraConfig>(method.config);
    return lora != nullptr && condition(*lora);
  });
}

}  // namespace

void adapt(const JobConfig& job, const FamilyModel& model, StageModule& stage) {
  if (const PeftConfig* const config = peft_of(job))
    inject_peft_and_freeze(stage, *make_peft_method(*config), beside_adapters(job, model, *config));
}

std::vector<StageParameter> adapted_parameters(const JobConfig& job, const FamilyModel& model) {
  const auto stage = model.build_shapes();
  adapt(job, model, *stage);
  return stage->parameters();
}

PeftShares peft_shares(const JobConfig& job, const FamilyModel& model) {
  PeftShares shares;
  const bool has_head = model.has_language_model_head();
  if (peft_of(job) == nullptr) {
    if (has_head) shares.trained_of_head = model.vocab_size * model.hidden_size;
    return shares;
  }
  const char* const head = model.tie_word_embeddings ? "model.embed_tokens." : "lm_head.";
  double weights = 0, trainable = 0, added = 0;
  for (const StageParameter& parameter : adapted_parameters(job, model)) {
    const std::int64_t elements = parameter.tensor.numel();
    const bool trains = parameter.tensor.requires_grad();
    (parameter.of_adapter ? added : weights) += static_cast<double>(elements);
    if (trains) trainable += static_cast<double>(elements);
    if (!has_head || !parameter.name.starts_with(head)) continue;
    shares.head_adapted |= parameter.of_adapter;
    if (trains && !parameter.of_adapter) shares.trained_of_head += elements;
  }
  shares.trainable = trainable / weights;
  shares.added = added / weights;
  return shares;
}

std::vector<JobIssue> peft_issues(const JobConfig& job, const FamilyModel& model) {
  Issues issues;
  const PeftConfig* const config = peft_of(job);
  if (config != nullptr) check_patterns(job, *config, model, issues);
  const ModelStageFactoryConfig& weights = job.trainer.model_stage_factory;
  if (weights.checkpoint_only_trainable_parameters && config != nullptr && !weights.source_checkpoint) {
    issues.push_back({"trainer.model_stage_factory.checkpoint_only_trainable_parameters",
                      "true, but there is no folder to take the frozen weights from afterwards",
                      "give trainer.model_stage_factory.source_checkpoint, or set it to false"});
  }
  if (!weights.source_checkpoint &&
      any_lora(config, [](const LoraConfig& lora) { return lora.from.has_value(); })) {
    issues.push_back(
        {std::string(peft_section) + ".from",
         "an adapter to start from, but the weights are drawn from the seed",
         "give trainer.model_stage_factory.source_checkpoint, the folder that it was trained on"});
  }
  const OwnPeftConfig* const own = own_method_of(config);
  if (own != nullptr && job.export_to && issues.empty()) check_merged_export(job, model, issues);
  if (own != nullptr && job.export_adapter_to) {
    issues.push_back(
        {"export_adapter_to",
         fmt::format("folders in PEFT's format cannot hold the adapter method \"{}\" of a plugin", own->name),
         "leave it out; `export_to` writes the model with the adapters added to its weights"});
  } else if (job.export_adapter_to && !any_lora(config, [](const LoraConfig&) { return true; })) {
    issues.push_back({"export_adapter_to", "the model has no adapter", "give model_provider.peft a `lora`"});
  } else if (job.export_adapter_to && issues.empty()) {
    check_adapter_export(job, model, issues);
  }
  if (job.export_adapter_to && job.export_adapter_to == job.export_to) {
    issues.push_back({"export_adapter_to", "the same folder as export_to", "choose another one"});
  }
  return issues;
}

}  // namespace d9d
