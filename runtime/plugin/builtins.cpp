#include "runtime/plugin/builtins.hpp"

#include <cmath>
#include <type_traits>

#include "runtime/base/error.hpp"
#include "runtime/data/source/masked_source.hpp"
#include "runtime/family/families.hpp"
#include "runtime/family/family_model.hpp"
#include "runtime/family/own/whole_family.hpp"
#include "runtime/job/job_paths.hpp"
#include "runtime/job/model_tokenizer.hpp"
#include "runtime/job/rule/head_rules.hpp"
#include "runtime/model_folder/carried_keys.hpp"
#include "runtime/model_folder/new_rows.hpp"
#include "runtime/plugin/plugin_model.hpp"
#include "runtime/plugin/plugin_source.hpp"
#include "runtime/provider/family_provider.hpp"
#include "runtime/provider/model_provider.hpp"
#include "runtime/provider/tokenizer_files.hpp"
#include "runtime/task/causal_lm_task.hpp"
#include "runtime/task/classification_task.hpp"
#include "runtime/task/clip_value_hook.hpp"
#include "runtime/task/inference_tasks.hpp"
#include "runtime/task/regression_task.hpp"
#include "runtime/task/user_call.hpp"
#include "runtime/text/generation_task.hpp"
#include "runtime/text/stop_texts.hpp"
#include "runtime/tokenizer/text_ends.hpp"
#include "runtime/train/gradient/gradient_hook.hpp"
#include "runtime/train/optimizer/optimizer_provider.hpp"

namespace d9d {
namespace {

struct NameOf {
  std::string operator()(const FamilyProvider& provider) const {
    return std::string(provider.model.family->name());
  }
  std::string operator()(const CausalLmConfig&) const { return "causal_lm"; }
  std::string operator()(const ClassificationConfig&) const { return "classification"; }
  std::string operator()(const EmbeddingConfig&) const { return "embedding"; }
  std::string operator()(const GenerationConfig&) const { return "generation"; }
  std::string operator()(const MaskedLmConfig&) const { return "masked_lm"; }
  std::string operator()(const config::Named& named) const { return named.name; }
};

struct OptionsOf {
  config::Section operator()(const config::Named& named) const { return named.options; }
  template <class BuiltIn>
  config::Section operator()(const BuiltIn&) const {
    return {};
  }
};

class PiecewiseSchedule final : public LrSchedule {
 public:
  explicit PiecewiseSchedule(LrSchedulerConfig config) : config_(std::move(config)) {}
  std::function<double(std::int64_t)> over(std::int64_t total_steps) const override {
    return [lr = build_lr(as_phases(config_, total_steps), total_steps)](std::int64_t step) {
      return lr.multiplier(step);
    };
  }

 private:
  const LrSchedulerConfig config_;
};

class ConstantSchedule final : public LrSchedule {
 public:
  std::function<double(std::int64_t)> over(std::int64_t /*total_steps*/) const override {
    return [](std::int64_t) { return 1.0; };
  }
};

// Takes the names of the alternatives of a section. `make` finds in the job which one it is.
template <class Alternatives, class Make>
void add_alternatives(Registry& registry, void (Registry::*add)(const std::string&, Make),
                      const std::type_identity_t<Make>& make) {
  for (const config::Choice& choice : choices_of(config::Tag<Alternatives>{}).all)
    (registry.*add)(std::string(choice.name), make);
}

void add_optimizers(const JobConfig& job, Registry& registry) {
  add_alternatives<OptimizerConfig>(registry, &Registry::add_optimizer, [&job](const config::Section&) {
    return provider_of(known_optimizer(job.optimizer).value());
  });
  add_alternatives<LrSchedulerConfig>(registry, &Registry::add_lr_schedule, [&job](const config::Section&) {
    return std::make_shared<PiecewiseSchedule>(job.lr_scheduler.value());
  });
}

void add_sources(const LoadedJob& loaded, Registry& registry) {
  add_alternatives<DataConfig>(
      registry, &Registry::add_source, [&loaded](const config::Section&, const SourceContext& context) {
        return build_source(loaded.job.data, {.base_seed = context.seed, .ids_below = context.ids_below});
      });
}

// The folder that checkpoints take the frozen weights from.
std::string frozen_weights(const JobConfig& job) {
  return job.trainer.model_stage_factory.source_checkpoint.value_or("");
}

NewRows new_rows_of(const JobConfig& job) {
  return {job.trainer.model_stage_factory.new_rows,
          static_cast<std::uint64_t>(job.trainer.determinism.base_seed)};
}

// The folder whose config.json an export goes on with.
std::string described_by(const JobConfig& job, const FamilyProvider& provider) {
  return provider.from.value_or(frozen_weights(job));
}

void add_stops(const std::vector<std::string>& texts, GenerationTaskOptions& options) {
  D9D_CHECK(options.tokenizer, "texts that end one, and no tokenizer");
  const auto stops = std::make_shared<const StopTexts>(*options.tokenizer, texts, "task.stop_texts");
  options.stops = stops;
  auto& ends = options.generate.ends;
  ends.insert(ends.end(), stops->tokens().begin(), stops->tokens().end());
  if (!stops->has_texts()) return;
  options.generate.ends_here = [stops](std::span<const std::int64_t> text) { return stops->end(text); };
}

// A text ends after what the model's config or the folder of its weights names, too.
GenerationTaskOptions generation_options(const LoadedJob& loaded, const Disk& disk,
                                         const InferencePlace& place) {
  const auto& config = std::get<GenerationConfig>(loaded.job.task);
  GenerationTaskOptions options;
  options.padding_id = config.padding_id;
  options.generate.temperature = config.temperature;
  options.generate.top_k = config.top_k;
  options.generate.top_p = config.top_p;
  options.generate.repetition_penalty = config.repetition_penalty;
  options.generate.seed = static_cast<std::uint64_t>(loaded.job.trainer.determinism.base_seed);
  options.generate.max_new_tokens = config.max_new_tokens;
  options.generate.in_step = place.in_step;
  auto& ends = options.generate.ends = config.stop_tokens;
  if (loaded.model) {
    const auto& of_model = loaded.model->eos_token_ids;
    ends.insert(ends.end(), of_model.begin(), of_model.end());
  }
  const std::string folder = frozen_weights(loaded.job);
  if (!folder.empty()) {
    const std::vector<std::int64_t> of_folder = special_tokens_in(disk, folder).eos;
    ends.insert(ends.end(), of_folder.begin(), of_folder.end());
  }
  if (const auto file = tokenizer_of_model(loaded.job)) {
    options.tokenizer = Tokenizer::from_file(*file);
    if (const auto end = eos_id_of(*options.tokenizer, *file)) ends.push_back(*end);
  }
  if (!config.stop_texts.empty()) add_stops(config.stop_texts, options);
  return options;
}

template <class Task>
std::shared_ptr<ResultSink> results_of(const LoadedJob& loaded, const InferencePlace& place) {
  return make_results(place, std::get<Task>(loaded.job.task).results);
}

PieceContext piece_context(const JobConfig& job) {
  return {.mesh = job.mesh,
          .run = job.trainer.run.name,
          .seed = static_cast<std::uint64_t>(job.trainer.determinism.base_seed),
          .device = config::encode(job.node.device).get<std::string>(),
          .output_dir = output_dir(job).string()};
}

// Their names are taken; build_program() knows them.
void add_schedules(Registry& registry) {
  for (const std::string_view name : schedule_names())
    registry.add_schedule(std::string(name), [](const config::Section&) { return nullptr; });
}

// tracker_runs.hpp opens them.
void add_trackers(Registry& registry) {
  add_alternatives<TrackerConfig>(registry, &Registry::add_tracker,
                                  [](const config::Section&) -> OpenTracker { return nullptr; });
}

void add_models(const LoadedJob& loaded, Disk& disk, Registry& registry) {
  for (const Family* family : families()) {
    registry.add_model(std::string(family->name()), [&loaded, &disk, family](const config::Section&) {
      if (is_own(*family)) require_whole_family(*loaded.model, family->name());
      const auto& provider = std::get<FamilyProvider>(loaded.job.model_provider);
      return make_family_provider(
          loaded.model, provider.dtype,
          {provider.enable_checkpointing, provider.offload_layers, provider.checkpoint_keeps}, loaded.split,
          disk, {provider.peft, frozen_weights(loaded.job)},
          carried_keys(disk, provider, described_by(loaded.job, provider)), new_rows_of(loaded.job));
    });
  }
}

void add_tasks(const LoadedJob& loaded, Registry& registry) {
  registry.add_task("causal_lm", [&loaded](const config::Section&) {
    return std::make_shared<CausalLmTask>(loaded.model ? loaded.model->prediction_depths : 0);
  });
  registry.add_task("classification", [&loaded](const config::Section&) -> std::shared_ptr<TrainTask> {
    if (loaded.model && is_regression(*loaded.model)) return std::make_shared<RegressionTask>();
    return std::make_shared<ClassificationTask>();
  });
  // Its words are left out where samples are made (make_source()); labels are in their places.
  registry.add_task("masked_lm", [](const config::Section&) { return std::make_shared<CausalLmTask>(); });
}

template <class Task, class Config>
auto writes_results(const LoadedJob& loaded) {
  return [&loaded](const config::Section&, const InferencePlace& place) {
    return std::make_shared<Task>(results_of<Config>(loaded, place));
  };
}

void add_inference_tasks(const LoadedJob& loaded, Disk& disk, Registry& registry) {
  registry.add_inference_task("masked_lm", writes_results<CausalLmInference, MaskedLmConfig>(loaded));
  registry.add_inference_task("causal_lm", writes_results<CausalLmInference, CausalLmConfig>(loaded));
  registry.add_inference_task("classification",
                              writes_results<ClassificationInference, ClassificationConfig>(loaded));
  registry.add_inference_task("embedding", [&loaded](const config::Section&, const InferencePlace& place) {
    const bool first = std::get<EmbeddingConfig>(loaded.job.task).token == TextToken::first;
    return std::make_shared<EmbeddingInference>(results_of<EmbeddingConfig>(loaded, place), first);
  });
  registry.add_inference_task(
      "generation", [&loaded, &disk](const config::Section&, const InferencePlace& place) {
        return std::make_shared<GenerationTask>(results_of<GenerationConfig>(loaded, place), place.stages,
                                                generation_options(loaded, disk, place));
      });
}

}  // namespace

Registry builtin_registry(const LoadedJob& loaded, Disk& disk) {
  Registry registry;
  registry.set_context(piece_context(loaded.job));
  add_models(loaded, disk, registry);
  add_tasks(loaded, registry);
  add_inference_tasks(loaded, disk, registry);
  registry.add_gradient_hook("clip_value", make_clip_value_hook);
  add_optimizers(loaded.job, registry);
  add_sources(loaded, registry);
  add_schedules(registry);
  add_trackers(registry);
  return registry;
}

std::shared_ptr<const ModelProvider> make_model(const Registry& registry, const JobConfig& job) {
  auto model = registry.make_model(std::visit(NameOf{}, job.model_provider),
                                   std::visit(OptionsOf{}, job.model_provider));
  const auto* const named = std::get_if<config::Named>(&job.model_provider);
  return named == nullptr ? model : std::make_shared<PluginModel>(named->name, std::move(model));
}

std::shared_ptr<TrainTask> make_task(const Registry& registry, const JobConfig& job) {
  return registry.make_task(std::visit(NameOf{}, job.task), std::visit(OptionsOf{}, job.task));
}

std::shared_ptr<InferenceTask> make_inference_task(const Registry& registry, const JobConfig& job, int rank,
                                                   std::shared_ptr<const SampleSource> source) {
  // Weights are gathered, or tokens sent to experts, across ranks of other samples.
  const bool in_step = job.mesh.data_parallel_shard > 1 || job.mesh.expert_parallel > 1;
  const int stages = stages_per_rank(job.trainer.pipelining.schedule) * job.mesh.pipeline_parallel;
  return registry.make_inference_task(std::visit(NameOf{}, job.task), std::visit(OptionsOf{}, job.task),
                                      {results_dir(job), rank, in_step, stages, std::move(source)});
}

std::shared_ptr<const OptimizerProvider> make_optimizer(const Registry& registry, const JobConfig& job) {
  if (const auto built_in = known_optimizer(job.optimizer)) return provider_of(*built_in);
  const auto& named = std::get<config::Named>(job.optimizer);
  return registry.make_optimizer(named.name, named.options);
}

namespace {

// Says whose hook it is that throws.
class NamedHook final : public GradientHook {
 public:
  NamedHook(std::string name, std::shared_ptr<GradientHook> hook)
      : name_(std::move(name)), hook_(std::move(hook)) {}
  void create_metrics(Compose& metrics) const override {
    call_user(fmt::format("create_metrics of the gradient hook \"{}\"", name_), ErrorInside::bug_is_named,
              [&] { hook_->create_metrics(metrics); });
  }
  HookVerdict gradients_reduced(const GradientContext& context) override {
    return call_user(fmt::format("the gradient hook \"{}\"", name_), ErrorInside::is_named,
                     [&] { return hook_->gradients_reduced(context); });
  }

 private:
  const std::string name_;
  const std::shared_ptr<GradientHook> hook_;
};

}  // namespace

std::vector<std::shared_ptr<GradientHook>> make_gradient_hooks(const Registry& registry,
                                                               const JobConfig& job) {
  std::vector<std::shared_ptr<GradientHook>> hooks;
  for (const config::Named& named : job.gradient_hooks)
    hooks.push_back(
        std::make_shared<NamedHook>(named.name, registry.make_gradient_hook(named.name, named.options)));
  return hooks;
}

namespace {

std::optional<std::int64_t> vocab_size_of(const Registry& registry, const LoadedJob& loaded) {
  if (loaded.model) return loaded.model->vocab_size;
  return make_model(registry, loaded.job)->vocab_size();
}

// With the words left out that masked_lm learns; `source` itself for other tasks.
std::shared_ptr<const SampleSource> masked_for(const TaskConfig& task, const LoadedJob& loaded,
                                               const SourceContext& context,
                                               std::shared_ptr<const SampleSource> source) {
  const auto* const masked = std::get_if<MaskedLmConfig>(&task);
  if (masked == nullptr) return source;
  D9D_REQUIRE(context.ids_below, "task: masked_lm needs a model that says the size of its vocabulary");
  MaskingOptions options{.seed = context.seed,
                         .mask_token_id = masked->mask_token_id,
                         .vocab_size = *context.ids_below,
                         .mlm_probability = masked->mlm_probability,
                         .mask_replace_prob = masked->mask_replace_prob,
                         .random_replace_prob = masked->random_replace_prob};
  if (masked->unmasked_ids) {
    options.unmasked_ids.insert(masked->unmasked_ids->begin(), masked->unmasked_ids->end());
  } else if (loaded.model) {
    const FamilyModel& model = *loaded.model;
    options.unmasked_ids.insert(model.eos_token_ids.begin(), model.eos_token_ids.end());
    for (const auto& id : {model.pad_token_id, model.bos_token_id})
      if (id) options.unmasked_ids.insert(*id);
  }
  return std::make_shared<MaskedSource>(std::move(source), std::move(options));
}

// Tasks that read what the model makes of each token and learn no next one see all tokens of a text.
template <class Task>
TokenLabels labels_of(const TaskConfig& config, const Task& task) {
  if (std::holds_alternative<config::Named>(config))
    return call_user("the task's labels", ErrorInside::passes, [&] { return task.labels(); });
  if (std::holds_alternative<MaskedLmConfig>(config)) return TokenLabels::own;
  const bool reads_each = std::holds_alternative<ClassificationConfig>(config) ||
                          std::holds_alternative<EmbeddingConfig>(config) ||
                          std::holds_alternative<GenerationConfig>(config);
  return std::is_same_v<Task, InferenceTask> && reads_each ? TokenLabels::own : TokenLabels::next;
}

}  // namespace

TokenLabels labels_for(const JobConfig& job, const TrainTask& task) {
  return labels_of(job.task, task);
}

TokenLabels labels_for(const JobConfig& job, const InferenceTask& task) {
  return labels_of(job.task, task);
}

std::shared_ptr<const SampleSource> make_source(const Registry& registry, const DataConfig& data,
                                                const LoadedJob& loaded, TokenLabels labels, SourceUse use,
                                                const std::shared_ptr<SharedCorpora>& share) {
  const JobConfig& job = loaded.job;
  const bool all = use == SourceUse::evaluation || job.inference;
  const SourceContext context{registry.context(), vocab_size_of(registry, loaded), tokenizer_of_model(job)};
  const auto make_own = [&](const OwnDataConfig& own) {
    return std::make_shared<PluginSource>(own.name, registry.make_source(own.name, own.options, context),
                                          context.ids_below, job.collation.has_value());
  };
  return masked_for(
      job.task, loaded, context,
      build_source(data, {.base_seed = context.seed,
                          .ids_below = context.ids_below,
                          .classes_below = loaded.model ? num_classes(job, *loaded.model) : std::nullopt,
                          .rest = all ? RestOfRows::filled_up : RestOfRows::left_out,
                          .labels = labels,
                          .wishes = {.with_places = job.inference.has_value(), .share = share},
                          .make_own = make_own}));
}

std::shared_ptr<const Collation> make_collation(const Registry& registry, const JobConfig& job) {
  if (!job.collation) return nullptr;
  return registry.make_collation(job.collation->name, job.collation->options);
}

ScheduleConfig make_schedule(const Registry& registry, const JobConfig& job) {
  ScheduleConfig schedule = job.trainer.pipelining.schedule;
  if (auto* own = std::get_if<OwnSchedule>(&schedule))
    own->made = registry.make_schedule(own->name, own->options);
  return schedule;
}

std::shared_ptr<const LrSchedule> make_lr_schedule(const Registry& registry, const JobConfig& job) {
  if (!job.lr_scheduler) return std::make_shared<ConstantSchedule>();
  const auto* named = std::get_if<config::Named>(&*job.lr_scheduler);
  // Those of the job's own section are all made in one way.
  return registry.make_lr_schedule(named ? named->name : "piecewise",
                                   named ? named->options : config::Section());
}

double base_learning_rate(const OptimizerProvider& optimizer) {
  return optimizer.learning_rate();
}

std::function<double(std::uint64_t)> step_multiplier(const LrSchedule& schedule, std::uint64_t total_steps) {
  static constexpr const char* whose = "lr_scheduler: the schedule";
  auto multiplier = call_user(whose, ErrorInside::passes,
                              [&] { return schedule.over(static_cast<std::int64_t>(total_steps)); });
  return [multiplier = std::move(multiplier)](std::uint64_t step) {
    const double value = call_user(fmt::format("{} of step {}", whose, step), ErrorInside::is_named,
                                   [&] { return multiplier(static_cast<std::int64_t>(step) - 1); });
    if (std::isfinite(value) && value >= 0) return value;
    throw Error(
        ErrorKind::environment,
        fmt::format("lr_scheduler: the multiplier of step {} is {}: a schedule has to say a number of at "
                    "least 0",
                    step, value));
  };
}

}  // namespace d9d
