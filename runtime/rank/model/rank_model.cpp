#include "runtime/rank/model/rank_model.hpp"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/job/plan/flat_options.hpp"
#include "runtime/job/plan/gradient_groups.hpp"
#include "runtime/nn/model/initial_weights.hpp"
#include "runtime/pipeline/lane/compute_lanes.hpp"
#include "runtime/pipeline/program/build_program.hpp"
#include "runtime/provider/model_provider.hpp"
#include "runtime/rank/group/module_communicators.hpp"
#include "runtime/rank/group/rank_gradients.hpp"
#include "runtime/rank/model/plugin_parameters.hpp"
#include "runtime/rank/state/training_state.hpp"
#include "runtime/task/user_call.hpp"
#include "runtime/tensor/tied.hpp"
#include "runtime/train/frozen_parameters.hpp"
#include "runtime/train/gradient/norm_parts.hpp"
#include "runtime/train/optimizer/parted_optimizer.hpp"

namespace d9d {
namespace {

auto moved_in(const ModelOptions& model) {
  return [&model](const std::string& name) { return updates_that_move(name, model.updates); };
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

RankModel::RankModel(const RankServices& services, const ModelOptions& options, const StateOptions& state,
                     const ScheduleConfig& schedule, Overlap overlap, CommTracing tracing)
    : services_(services),
      options_(options),
      state_(state),
      topology_(topology_of(schedule, services.plan->parameters().pipeline_parallel)),
      tracing_(std::move(tracing)) {
  const PoolScope pool(MemoryPool::state);
  options_.events->tell(events::ConfigurationStart{services_.plan});
  const MeshDomains& domains = services_.plan->domains();
  const OpenGroup open = measured(services_.open_group);
  const bool on_cpu = services_.device->is_cpu(),
             parts_overlap = composes_actions(schedule) && overlaps(overlap, on_cpu);
  open_groups(parts_overlap, open);
  if (parts_overlap && !on_cpu)
    streams_ =
        std::make_unique<StageStreams>(services_.device, topology_.stages_of(services_.place().pipeline));
  buffers_ = std::make_unique<RankBuffers>(domains, services_.rank, open);
  experts_ = std::make_unique<RankExperts>(domains, services_.rank, open);
  flatten(build_stages());
  if (is_of_plugin() || options_.optimizer->built_in() == nullptr ||
      options_.updates != std::vector<StepUpdate>(1))
    check_parameters(open);
  fill_state(open);
  tell_of_stages();
  sync_ = std::make_unique<GradientSync>(*flat_);
  for (auto& [stage, built] : stages_) {
    built.units = StageUnits(built.module->parameters(), parameters_of(built));
    built.units.after_update();
  }
  options_.events->tell(events::ConfigurationOptimizer{optimizer_.get()});
  options_.events->tell(events::ConfigurationLrScheduler{options_.lr_schedule.get()});
  share_gradients();
}

RankModel::~RankModel() = default;

void RankModel::tell_of_stages() const {
  events::ConfigurationModelStages event{.parameters = flat_.get(), .plan = services_.plan};
  for (const auto& [stage, built] : stages_) event.stages.push_back({stage, built.module});
  options_.events->tell(event);
}

// Makes the lanes when the first module asks for a communicator.
void RankModel::open_groups(bool overlaps, const OpenGroup& open) {
  const bool on_cpu = services_.device->is_cpu();
  const auto lanes = [this]() -> ComputeLanes& {
    if (!lanes_)
      lanes_ =
          std::make_unique<ComputeLanes>([threads = services_.threads] { at::set_num_threads(threads); });
    return *lanes_;
  };
  groups_ = std::make_unique<StageGroups>(
      services_.plan->domains(), services_.rank,
      overlaps ? with_lane_communicators(open, lanes, on_cpu ? nullptr : services_.device.get()) : open);
  groups_->set_moved_in(moved_in(options_));
  groups_->communication_thread()->set_around(tracing_.background, tracing_.stalls);
}

OpenGroup RankModel::measured(OpenGroup open) const {
  return with_tracing(std::move(open), tracing_, [this] { return lanes_.get(); });
}

// With the CollectiveWorkers of the rank, which reduce them.
void RankModel::share_gradients() {
  services_.gradients->parameters = flat_;
  services_.gradients->norm_parts = std::make_shared<NormParts>();
  const std::vector<GradientGroup> groups = gradient_groups(services_.plan->domains(), options_.parallel);
  for (const GradientBucket& bucket : flat_->buckets()) {
    bucket_groups_.push_back(bucket.needs_reduction()
                                 ? gradient_group_index(groups, bucket.scatter_axes(), bucket.reduce_axes)
                                 : -1);
  }
}

void RankModel::wait_for_reductions() const {
  if (services_.device->is_cpu()) return;
  for (const Event& reduced : services_.gradients->reductions.take_events()) services_.device->wait(reduced);
}

std::vector<StageParameter> RankModel::parameters_of(const Stage& built) const {
  const auto begin = flat_->parameters().begin();
  return {begin + static_cast<std::ptrdiff_t>(built.first_parameter),
          begin + static_cast<std::ptrdiff_t>(built.end_parameter)};
}

void RankModel::flatten(const std::vector<StageParameter>& parameters) {
  FlatOptions flat = flat_options(options_.gradients);
  flat.moved_in = moved_in(options_);
  flat.keep_values = is_of_plugin();  // built-in families leave parameters uninitialised
  join_frozen(parameters, flat.keep_values);
  flat_ = std::make_shared<FlatParameters>(parameters, flat);
  tied_ = std::make_unique<TiedGradients>(*flat_, [&] { return open_tied(); });
}

// Weights, the optimizer over them, and where the run goes on what its checkpoint has of both.
void RankModel::fill_state(const OpenGroup& open) {
  const bool resumes = !state_.resume_from.empty() && options_.trains;
  if (!resumes || state_.only_trainable) fill_parameters();
  make_optimizer(open);
  if (resumes) {
    entries_loaded_ = load_training_state(*state_.disk, state_.resume_from, *optimizer_, buffers_->all(),
                                          state_.skipped, state_.only_trainable);
  }
  buffers_->make_equal();
}

// Returns the parameters of all stages.
std::vector<StageParameter> RankModel::build_stages() {
  std::vector<StageParameter> parameters;
  for (const int stage : topology_.stages_of(services_.place().pipeline)) {
    Stage& built = stages_[stage];
    built.module = options_.provider->build_stage(position(stage));
    require_place(*built.module, services_.device->place());
    if (!options_.trains) {
      for (const StageParameter& parameter : built.module->parameters())
        parameter.tensor.requires_grad_(false);
    }
    built.first_parameter = parameters.size();
    const std::vector<StageParameter> own =
        options_.provider->parallelize(*built.module, *groups_, options_.parallel);
    parameters.insert(parameters.end(), own.begin(), own.end());
    built.end_parameter = parameters.size();
    buffers_->add(built.module);
    experts_->add(*built.module);
  }
  return parameters;
}

// Opens the group of this rank and the rank with the same place in the stage that holds
// the other copy: first and last.
std::shared_ptr<Communicator> RankModel::open_tied() const {
  const std::vector<int> ranks = services_.plan->group(services_.rank, regular_domain, {"pp"}).ranks;
  const auto rank_of = [&](int stage) {
    return ranks.at(static_cast<std::size_t>(topology_.rank_of(stage)));
  };
  const OpenGroup open = [&](const auto&, const auto&, const std::string& use) {
    return services_.open_pair(rank_of(0), rank_of(topology_.num_stages() - 1), use);
  };
  std::shared_ptr<Communicator> pair = measured(open)("", {}, "tied gradients");
  pair->connect();
  return pair;
}

void RankModel::check_parameters(const OpenGroup& open) const {
  const std::vector<std::string> warnings =
      check_plugin_parameters(flat_->parameters(), *options_.optimizer, options_.patterns, options_.updates,
                              services_.plan->domains(), open);
  if (services_.rank != 0) return;
  for (const std::string& warning : warnings) log::warn("{}", warning);
}

// Takes weights from a folder or draws them from the seed; adapters from the
// seed or from folders of their own.
void RankModel::fill_parameters() {
  const std::string& folder = state_.source_checkpoint;
  for (const auto& [stage, built] : stages_) {
    std::vector<StageParameter> drawn, loaded;
    for (const StageParameter& parameter : parameters_of(built)) {
      const bool is_drawn =
          folder.empty() || parameter.of_adapter || options_.provider->starts_anew(folder, parameter.name);
      (is_drawn ? drawn : loaded).push_back(parameter);
    }
    draw_initial_weights(drawn, options_.seed);
    if (!folder.empty()) {
      options_.provider->load_weights(folder, position(stage), loaded);
      options_.provider->load_buffers(folder, position(stage), buffers_->of(*built.module));
    }
    options_.provider->load_adapter(parameters_of(built));
  }
}

// Each part of the parameters has groups of its own.
void RankModel::make_optimizer(const OpenGroup& open) {
  int parts = 0;
  const auto make_part = [&](const FlatParameters& part) {
    const std::string use = parts++ == 0 ? "optimizer" : fmt::format("optimizer {}", parts);
    const OptimizerContext context{.seed = options_.seed, .open = [&](std::vector<std::string> axes) {
                                     std::erase(axes, tied_axis);  // this axis leads to another stage
                                     return open(axes.empty() ? dense_domain : domain_of_axes(axes), axes,
                                                 use);
                                   }};
    return options_.optimizer->make(part, context);
  };
  const auto make = [&] { return make_parted_optimizer(*flat_, options_.updates.size(), make_part); };
  optimizer_ = options_.optimizer->built_in() != nullptr
                   ? make()
                   : call_user(fmt::format("the optimizer \"{}\"", options_.optimizer_plugin_name),
                               ErrorInside::passes, make);
}

}  // namespace d9d
