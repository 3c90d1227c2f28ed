#include "runtime/rank/rank_model.hpp"

#include <filesystem>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/nn/model/initial_weights.hpp"
#include "runtime/pipeline/lane/compute_lanes.hpp"
#include "runtime/pipeline/program/build_program.hpp"
#include "runtime/provider/model_provider.hpp"
#include "runtime/rank/plugin_parameters.hpp"
#include "runtime/rank/state/training_state.hpp"
#include "runtime/task/user_call.hpp"
#include "runtime/tensor/tied.hpp"
#include "runtime/tensor/torch_dtype.hpp"
#include "runtime/train/frozen_parameters.hpp"

namespace d9d {
namespace {

FlatOptions flat_options(const GradientManagerConfig& config) {
  FlatOptions options{.bucket_bytes = config.bucket_size_mb << 20, .wanted_buckets = 8};
  // Tensor parallelism comes with sequence parallelism: even with parameters that all its ranks hold, each
  // rank sees other tokens or heads, so gradients have to be summed over tp.
  options.summed_axes.emplace_back("tp");
  if (config.grad_dtype) options.grad_dtype = scalar_type_of(*config.grad_dtype);
  return options;
}

// Checks a plugin's module, which may have ignored the device that it was given.
void require_place(StageModule& module, at::Device place) {
  const auto require = [&](const std::string& name, const at::Tensor& tensor) {
    D9D_REQUIRE(tensor.device() == place,
                "{} of the model is on {} and the rank computes on {}; build_stage() has to make it on "
                "position.device, or the job needs another node.device",
                name, tensor.device().str(), place.str());
  };
  for (const StageParameter& parameter : module.parameters()) require(parameter.name, parameter.tensor);
  for (const StageBuffer& buffer : module.buffers()) require(buffer.name, buffer.tensor);
}

}  // namespace

RankModel::RankModel(const PipelineWorkerOptions& options, const Topology& topology,
                     const CommTracing& tracing, const Lanes& lanes)
    : options_(options), topology_(topology) {
  const PoolScope pool(MemoryPool::state);
  options_.events->tell(events::ConfigurationStart{options_.plan});
  const OpenGroup open = with_tracing(options_.open_group, tracing, lanes.made);
  groups_ = std::make_unique<StageGroups>(
      options_.plan->domains(), options_.rank,
      composes_actions(options_.schedule) && options_.device->is_cpu()  // lanes overlap on the CPU only
          ? with_lane_communicators(open, lanes.make)
          : open);
  groups_->communication_thread()->set_around(tracing.background, tracing.stalls);
  buffers_ = std::make_unique<RankBuffers>(options_.plan->domains(), options_.rank, open);
  experts_ = std::make_unique<RankExperts>(options_.plan->domains(), options_.rank, open);
  const std::vector<StageParameter> parameters = build_stages();
  FlatOptions flat = flat_options(options_.gradients);
  flat.keep_values = options_.model_is_of_plugin;  // built-in families leave parameters uninitialised
  join_frozen(parameters, flat.keep_values);
  flat_ = std::make_shared<FlatParameters>(parameters, flat);
  tied_ = std::make_unique<TiedGradients>(*flat_, [&] { return open_tied(tracing, lanes); });
  if (options_.model_is_of_plugin || options_.optimizer->built_in() == nullptr) check_parameters(open);
  const bool resumes = !options_.resume_from.empty() && !options_.inference;
  if (!resumes || options_.checkpoint_only_trainable) fill_parameters();
  make_optimizer(open);
  if (resumes) resume();
  buffers_->make_equal();
  options_.events->tell(events::ConfigurationModelStages{flat_.get()});
  sync_ = std::make_unique<GradientSync>(*flat_);
  for (auto& [stage, built] : stages_) {
    built.units = StageUnits(built.module->parameters(), parameters_of(built));
    built.units.after_update();
  }
  options_.events->tell(events::ConfigurationOptimizer{optimizer_.get()});
  options_.events->tell(events::ConfigurationLrScheduler{options_.lr_schedule.get()});
  options_.awake->add();
}

RankModel::~RankModel() {
  options_.awake->remove();
}

std::vector<StageParameter> RankModel::parameters_of(const Stage& built) const {
  const auto begin = flat_->parameters().begin();
  return {begin + static_cast<std::ptrdiff_t>(built.first_parameter),
          begin + static_cast<std::ptrdiff_t>(built.end_parameter)};
}

// Returns the parameters of all stages.
std::vector<StageParameter> RankModel::build_stages() {
  std::vector<StageParameter> parameters;
  for (const int stage : topology_.stages_of(options_.plan->placement(options_.rank).pipeline)) {
    Stage& built = stages_[stage];
    built.module = options_.model->build_stage(position(stage));
    require_place(*built.module, options_.device->place());
    if (options_.inference) {
      for (const StageParameter& parameter : built.module->parameters())
        parameter.tensor.requires_grad_(false);
    }
    built.first_parameter = parameters.size();
    const std::vector<StageParameter> own =
        options_.model->parallelize(*built.module, *groups_, options_.parallel);
    parameters.insert(parameters.end(), own.begin(), own.end());
    built.end_parameter = parameters.size();
    buffers_->add(built.module);
    experts_->add(*built.module);
  }
  return parameters;
}

// Opens the group of this rank and the rank with the same place in the stage that holds
// the other copy: first and last.
std::shared_ptr<Communicator> RankModel::open_tied(const CommTracing& tracing, const Lanes& lanes) const {
  const std::vector<int> ranks = options_.plan->group(options_.rank, regular_domain, {"pp"}).ranks;
  const auto rank_of = [&](int stage) {
    return ranks.at(static_cast<std::size_t>(topology_.rank_of(stage)));
  };
  const OpenGroup open = [&](const auto&, const auto&, const std::string& use) {
    return options_.open_pair(rank_of(0), rank_of(topology_.num_stages() - 1), use);
  };
  return with_tracing(open, tracing, lanes.made)("", {}, "tied gradients");
}

void RankModel::check_parameters(const OpenGroup& open) const {
  const std::vector<std::string> warnings = check_plugin_parameters(
      flat_->parameters(), *options_.optimizer, options_.patterns, options_.plan->domains(), open);
  if (options_.rank != 0) return;
  for (const std::string& warning : warnings) log::warn("{}", warning);
}

// Takes weights from a folder or draws them from the seed; adapters from the
// seed or from folders of their own.
void RankModel::fill_parameters() {
  const std::string& folder = options_.source_checkpoint;
  for (const auto& [stage, built] : stages_) {
    std::vector<StageParameter> drawn, loaded;
    for (const StageParameter& parameter : parameters_of(built)) {
      const bool is_drawn =
          folder.empty() || parameter.of_adapter || options_.model->starts_anew(folder, parameter.name);
      (is_drawn ? drawn : loaded).push_back(parameter);
    }
    draw_initial_weights(drawn, options_.seed);
    if (!folder.empty()) {
      options_.model->load_weights(folder, position(stage), loaded);
      options_.model->load_buffers(folder, position(stage), buffers_->of(*built.module));
    }
    options_.model->load_adapter(parameters_of(built));
  }
}

void RankModel::make_optimizer(const OpenGroup& open) {
  const OptimizerContext context{.seed = options_.seed, .open = [&open](std::vector<std::string> axes) {
                                   std::erase(axes, tied_axis);  // this axis leads to another stage
                                   return open(axes.empty() ? dense_domain : domain_of_axes(axes), axes,
                                               "optimizer");
                                 }};
  const auto make = [&] { return options_.optimizer->make(*flat_, context); };
  optimizer_ = options_.optimizer->built_in() != nullptr
                   ? make()
                   : call_user(fmt::format("the optimizer \"{}\"", options_.of_plugin.optimizer),
                               ErrorInside::passes, make);
}

// Collects the memory that sleeps. Gradients are zero between two steps, so the file need not hold them.
void RankModel::find_memory() {
  memory_.emplace(*options_.disk);
  for (const FlatFamily& family : flat_->families()) memory_->add(family.grad, /*zero=*/true);
  for (const StateEntry& entry : optimizer_->state_entries()) {
    if (!entry.packed) memory_->add(entry.tensor);
    if (!entry.packed) continue;
    for (const at::Tensor& tensor : entry.packed->memory()) memory_->add(tensor);
  }
  if (options_.device->is_cpu()) return;  // on the host buffers are small, and may be in memory of any kind
  for (const StageBuffer& buffer : buffers_->all()) memory_->add(buffer.tensor);
}

// Frees gathered weights, too: end_step() of the units drops them.
std::uint64_t RankModel::sleep(const std::string& file) {
  find_memory();  // anew: a module may have made a new tensor for a buffer
  for (const auto& [stage, built] : stages_) built.units.end_step();
  options_.disk->make_directories(std::filesystem::path(file).parent_path().string());
  const std::uint64_t bytes = memory_->sleep(file);
  options_.awake->fall_asleep(memory_->devices());
  trim_allocator();
  return bytes;
}

void RankModel::wake() {
  options_.awake->wake();
  memory_->wake();
  for (const auto& [stage, built] : stages_) built.units.after_update();
}

// First ends gathers that are under way: they read the values which the checkpoint replaces.
void RankModel::restore(const std::string& checkpoint, std::uint64_t skipped_steps) {
  for (const auto& [stage, built] : stages_) built.units.end_step();
  load_training_state(*options_.disk, checkpoint, *optimizer_, buffers_->all(), skipped_steps,
                      options_.checkpoint_only_trainable);
  buffers_->make_equal();
  for (const auto& [stage, built] : stages_) built.units.after_update();
}

void RankModel::resume() {
  entries_loaded_ = load_training_state(*options_.disk, options_.resume_from, *optimizer_, buffers_->all(),
                                        options_.skipped_steps, options_.checkpoint_only_trainable);
}

}  // namespace d9d
