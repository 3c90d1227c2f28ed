#include "runtime/job/plan/rank_memory.hpp"

#include <algorithm>
#include <utility>

#include "kernels/cross_entropy/loss_memory.hpp"
#include "runtime/family/family_model.hpp"
#include "runtime/job/plan/flat_gaps.hpp"
#include "runtime/job/rule/optimizer_rules.hpp"
#include "runtime/job/rule/peft_rules.hpp"
#include "runtime/nn/plan/fully_shard.hpp"
#include "runtime/nn/plan/gathered_unit.hpp"
#include "runtime/nn/size/model_costs.hpp"
#include "runtime/nn/size/state_memory.hpp"
#include "runtime/pipeline/lane/overlap.hpp"
#include "runtime/pipeline/program/build_program.hpp"
#include "runtime/pipeline/simulated/simulator.hpp"

namespace d9d {
namespace {

const FamilyProvider* family_of(const JobConfig& job) {
  return std::get_if<FamilyProvider>(&job.model_provider);
}

// A guess for a plugin's model.
Dtype dtype_of_parameters(const JobConfig& job) {
  return family_of(job) != nullptr ? family_of(job)->dtype : Dtype::float32;
}

bool has_second_stream(const JobConfig& job, const ScheduleConfig& schedule) {
  const bool on_cpu = job.node.device == DeviceKind::cpu;
  return !on_cpu && composes_actions(schedule) && overlaps(job.trainer.pipelining.overlap, on_cpu);
}

// Bytes per element, on average over the model. A guess for a plugin's optimizer: two moments.
struct OptimizerBytes {
  double kept = 8, saved = 8;
  double saved_of_kept() const { return kept > 0 ? saved / kept : 1; }
};
OptimizerBytes bytes_of_optimizer(const JobConfig& job, const FamilyModel& model) {
  const auto optimizer = known_optimizer(job.optimizer);
  if (!optimizer) return {};
  const auto saved = static_cast<double>(saved_state_bytes(*optimizer, dtype_of_parameters(job)));
  const auto kept = static_cast<double>(state_bytes(*optimizer, dtype_of_parameters(job)));
  const auto* const packed = std::get_if<AdamW8BitOptions>(&*optimizer);
  if (packed == nullptr) return {kept, saved};
  double all = 0, wide = 0;
  for (const OptimizerGroup& group : optimizer_groups(job, model)) {
    all += static_cast<double>(group.elements);
    if (group.by == "adamw") wide += static_cast<double>(group.elements);
  }
  const double of_scales = 8 / static_cast<double>(packed->block_size);
  return {all > 0 ? (wide * saved + (all - wide) * (kept + of_scales)) / all : kept, saved};
}

StateMemoryOptions state_options(const JobConfig& job, std::int64_t microbatches, double optimizer_bytes) {
  const int shards = job.mesh.data_parallel_shard * job.mesh.context_parallel_shard;
  const bool zero1 = job.parallelism.zero1 && shards == 1;
  const UnitPolicy policy =
      zero1 ? zero1_policy()
            : fully_shard_policy(job.parallelism.fully_shard, job.mesh.pipeline_parallel > 1);
  StateMemoryOptions options;
  options.parameter_bytes = size_of(dtype_of_parameters(job));
  options.gradient_bytes = size_of(dtype_of_gradients(job));
  options.optimizer_bytes = optimizer_bytes;
  options.tensor_ranks = job.mesh.tensor_parallel;
  options.expert_ranks = job.mesh.expert_parallel;
  options.shards = zero1 ? job.mesh.data_parallel_replicate : shards;
  if (options.shards > 1) options.expert_shards = job.mesh.stage_size() / job.mesh.expert_parallel;
  options.keeps_values = policy.keep_gathered;
  options.keeps_gradients = microbatches > 1 && !policy.reduce_each_microbatch;
  options.adds_gradients = microbatches > 1 && !options.keeps_gradients;
  if (job.inference) options.gradient_bytes = 0, options.optimizer_bytes = 0;
  return options;
}

// Gaps are in no checkpoint.
StateMemory gaps_of(const FlatGaps& gaps, const StateMemoryOptions& options) {
  const auto whole = [](const WholeGaps& units, bool all) { return all ? units.of_all : units.of_two; };
  return {
      .parameters = (gaps.trainable + gaps.frozen) * options.parameter_bytes,
      .gathered = whole(gaps.values, options.keeps_values) * options.parameter_bytes,
      .gradients = gaps.trainable * options.gradient_bytes,
      .whole_gradients = whole(gaps.gradients, options.keeps_gradients) * options.gradient_bytes,
      .optimizer = static_cast<std::int64_t>(static_cast<double>(gaps.trainable) * options.optimizer_bytes)};
}

std::int64_t share_of(std::int64_t bytes, double share) {
  return share == 1 ? bytes : static_cast<std::int64_t>(share * static_cast<double>(bytes));
}

// Torch takes 32 MiB for cuBLAS on capability 9.0; the rest is for what is small. Measured: tests/bench/records/gpu.md.
constexpr std::int64_t of_libraries = std::int64_t{40} << 20;

// What the estimates of all ranks have in common.
class Estimate {
 public:
  Estimate(const LoadedJob& loaded, const JobPlan& plan, std::optional<std::int64_t> sequence_length,
           std::vector<WrittenTexts> texts)
      : loaded_(loaded),
        job_(loaded.job),
        model_(*loaded.model),
        plan_(plan),
        optimizer_(bytes_of_optimizer(job_, model_)),
        peft_(peft_shares(job_, model_)),
        texts_(std::move(texts)) {
    if (!sequence_length) return;
    if (const auto of_task = texts_of_task(job_, plan, *sequence_length)) texts_.push_back(*of_task);
    tokens_ = job_.trainer.batching.microbatch_size * *sequence_length / job_.mesh.context_parallel();
  }

  RankMemory of(int pipeline_rank, const StepForecast& forecast) const {
    std::vector<StagePosition> stages;
    for (const int stage : plan_.topology.stages_of(pipeline_rank))
      stages.push_back({stage, plan_.topology.num_stages()});
    const auto at = static_cast<std::size_t>(pipeline_rank);
    const Live live{forecast.live_microbatches[at], forecast.live_last};
    const StateMemoryOptions options = state_options(job_, plan_.microbatches, optimizer_.kept);
    const StateMemory state = state_memory(model_, stages, options, loaded_.split);
    const StateMemory gaps = gaps_of(flat_gaps(loaded_, stages), options);
    const std::int64_t parameters = share_of(state.parameters, 1 + peft_.added);
    const std::int64_t optimizer = share_of(state.optimizer, peft_.trainable);
    const bool all = !job_.trainer.model_stage_factory.checkpoint_only_trainable_parameters;
    const std::int64_t stored = all ? parameters : share_of(state.parameters, peft_.trainable);
    const bool saves = job_.trainer.checkpointing.period_steps.kind != config::Period::Kind::disable;
    return {.pipeline_rank = pipeline_rank,
            .parameters =
                parameters + share_of(state.gathered, 1 + peft_.added) + gaps.parameters + gaps.gathered,
            .gradients = share_of(state.gradients + state.whole_gradients, peft_.trainable) + gaps.gradients +
                         gaps.whole_gradients,
            .optimizer = optimizer + gaps.optimizer,
            .checkpoint = saves ? stored + share_of(optimizer, optimizer_.saved_of_kept()) : 0,
            .activations = activations(stages, live) + passing_by(stages),
            .live_microbatches = live.all,
            .loss = loss(stages),
            .texts = texts(stages),
            .second_stream = forecast.live_by_stream.empty()
                                 ? 0
                                 : second_stream(stages, live, forecast.live_by_stream[at]),
            .libraries = job_.node.device == DeviceKind::cuda ? of_libraries : 0};
  }

 private:
  // Of the pairs (stage, microbatch) that a rank keeps at its peak; of them at most of the last stage.
  struct Live {
    int all = 0, last = 0;
  };

  std::int64_t bytes_of_number() const {
    return static_cast<std::int64_t>(size_of(dtype_of_parameters(job_)));
  }

  // Of a microbatch. The ranks of tensor parallelism share the vocabulary, and each sees the hidden states of all.
  kernels::LossBytes loss_bytes() const {
    if (!model_.has_language_model_head()) return {};
    const int ranks = job_.mesh.tensor_parallel;
    const DeviceKind device = job_.node.device;
    const auto place = device == DeviceKind::cpu    ? kernels::Place::cpu
                       : device == DeviceKind::cuda ? kernels::Place::gpu
                                                    : kernels::Place::other;
    return kernels::loss_bytes(place,
                               {.tokens = *tokens_,
                                .hidden_size = model_.hidden_size,
                                .vocabulary = model_.vocab_size,
                                .rows = std::max<std::int64_t>(1, (model_.vocab_size + ranks - 1) / ranks),
                                .bytes = bytes_of_number(),
                                .of_part = ranks > 1,
                                .bias = model_.logit_bias,
                                .gradient = !job_.inference},
                               ranks);
  }

  // Logits that are capped, or have an adapter, exist for all tokens (nn/block/head): until backward the logarithms of
  // probabilities in float32, and of capped ones x their tanh(x / c).
  std::int64_t kept_logits() const {
    const bool capped = model_.logit_softcap > 0 && model_.has_language_model_head();
    if (!capped && !peft_.head_adapted) return 0;
    return *tokens_ * model_.vocab_size * ((capped ? bytes_of_number() : 0) + 4);
  }

  // Of a microbatch, beside the hidden states, or their copy, and their gradient, which activation_bytes() counts.
  std::int64_t kept_by_loss() const {
    if (job_.inference || !model_.has_language_model_head()) return 0;
    if (kept_logits() > 0) return kept_logits();
    return loss_bytes().kept - 4 * *tokens_ * model_.hidden_size;
  }

  // In float32, from the loss of the microbatch that has borrowed the stage's slot for it until its backward.
  std::int64_t gradient_of_head() const {
    if (job_.inference || kept_logits() > 0) return 0;
    return 4 * peft_.trained_of_head / job_.mesh.tensor_parallel;
  }

  // What each stream's stages have at their own peak, beside what all have at the common one: for blocks that a stream
  // has freed serve that stream alone (stage_streams.hpp).
  std::int64_t second_stream(const std::vector<StagePosition>& stages, const Live& live,
                             const std::array<int, 2>& by_stream) const {
    std::array<std::vector<StagePosition>, 2> on;
    for (std::size_t n = 0; n < stages.size(); ++n)
      on.at(static_cast<std::size_t>(stream_of_stage(static_cast<int>(n)))).push_back(stages[n]);
    std::int64_t apart = 0;
    for (std::size_t stream = 0; stream < on.size(); ++stream)
      apart += whole_units(on.at(stream)) + std::max(working(on.at(stream)), loss(on.at(stream))) +
               std::max(activations(on.at(stream), {by_stream.at(stream), live.last}), texts(on.at(stream)));
    const std::int64_t counted = has_loss(stages) ? loss(stages) : working(stages);  // see passing_by()
    return std::max<std::int64_t>(
        0, apart - whole_units(stages) - counted - std::max(activations(stages, live), texts(stages)));
  }

  // Beside activations: ids, labels and places of the tokens of a step; cosines and sines of positions; between stages
  // the hidden states and gradients that come and go; what ranks of tensor parallelism gather and sum, on a stream of its
  // own, which keeps what it frees. A layer's work where the last stage, whose loss may need more, is another rank's.
  std::int64_t passing_by(const std::vector<StagePosition>& stages) const {
    if (!tokens_) return 0;
    const std::int64_t inputs = plan_.microbatches * *tokens_ * 3 * 8;
    const std::int64_t tables = *tokens_ * (model_.window_rope ? 4 : 2) * model_.head_widths().keys * 4;
    const std::int64_t state = *tokens_ * model_.hidden_size * bytes_of_number();
    const int ranks = job_.mesh.tensor_parallel;
    return inputs + tables + (plan_.topology.num_stages() > 1 ? 2 * state / ranks : 0) +
           (ranks > 1 ? 2 * *tokens_ * model_.hidden_size * std::max<std::int64_t>(4, bytes_of_number())
                      : 0) +
           (has_loss(stages) ? 0 : working(stages));
  }

  static bool has_loss(const std::vector<StagePosition>& stages) {
    return std::any_of(stages.begin(), stages.end(),
                       [](const StagePosition& stage) { return stage.is_last(); });
  }

  // Of one microbatch in the largest layer, forward or backward.
  std::int64_t working(const std::vector<StagePosition>& stages) const {
    std::int64_t largest = 0;
    if (!tokens_) return largest;
    for (const StagePosition& stage : stages)
      largest = std::max(largest, working_bytes(model_, stage, *tokens_, static_cast<int>(bytes_of_number()),
                                                job_.mesh.tensor_parallel, loaded_.split));
    return largest;
  }

  // Of units that are whole only while they compute.
  std::int64_t whole_units(const std::vector<StagePosition>& stages) const {
    const StateMemory state =
        state_memory(model_, stages, state_options(job_, plan_.microbatches, optimizer_.kept), loaded_.split);
    return share_of(state.gathered, 1 + peft_.added) + share_of(state.whole_gradients, peft_.trainable);
  }

  std::int64_t texts(const std::vector<StagePosition>& stages) const {
    std::int64_t largest = 0;
    for (const WrittenTexts& written : texts_) largest = std::max(largest, texts(stages, written));
    return largest;
  }

  // Of all stages the caches, and the most that one of them works with; between stages hidden states wait.
  std::int64_t texts(const std::vector<StagePosition>& stages, const WrittenTexts& written) const {
    const int bytes = static_cast<int>(bytes_of_number()), ranks = job_.mesh.tensor_parallel;
    const CacheSize size{written.texts, written.prompt_tokens + written.new_tokens};
    std::int64_t caches = 0, working = 0;
    for (const StagePosition& stage : stages) {
      caches += cache_bytes(model_, stage, size, bytes, ranks, loaded_.split);
      working = std::max(working, generating_bytes(model_, stage, written.in_a_pass * written.prompt_tokens,
                                                   written.in_a_pass, bytes, ranks, loaded_.split));
    }
    const std::int64_t waiting = plan_.topology.num_stages() == 1 ? 0
                                                                  : written.texts * written.prompt_tokens *
                                                                        model_.hidden_size * bytes / ranks;
    return caches + working + waiting;
  }

  // The stages of a rank share its peak; the largest of them bounds it, beside what only the last one's head keeps.
  std::int64_t activations(const std::vector<StagePosition>& stages, const Live& live) const {
    if (!tokens_) return 0;
    const FamilyProvider* const family = family_of(job_);
    const bool recomputes = family != nullptr && family->enable_checkpointing;
    const std::int64_t offloads = family != nullptr ? family->offload_layers : 0;
    const auto keeps = family != nullptr ? family->checkpoint_keeps : std::vector<kernels::KeptKind>();
    const int bytes = static_cast<int>(bytes_of_number());
    const std::int64_t of_head = head_activation_bytes(model_, *tokens_, bytes, job_.mesh.tensor_parallel);
    std::int64_t largest = 0, passing = 0;
    for (const StagePosition& stage : stages) {
      const std::int64_t kept = activation_bytes(model_, stage, *tokens_, bytes, recomputes,
                                                 job_.mesh.tensor_parallel, loaded_.split, keeps);
      const OffloadedBytes offloaded = offloaded_bytes(model_, stage, *tokens_, bytes, offloads, recomputes,
                                                       job_.mesh.tensor_parallel, loaded_.split, keeps);
      largest = std::max(largest, kept - offloaded.moved - (stage.is_last() ? of_head : 0));
      passing = std::max(passing, offloaded.passing);
    }
    const std::int64_t last =
        has_loss(stages) ? std::min(live.all, live.last) * (of_head + kept_by_loss()) + gradient_of_head()
                         : 0;
    return largest * live.all + last + passing;
  }

  // Beside activations, of one microbatch: in the forward or the backward of the loss, or in that of a layer.
  std::int64_t loss(const std::vector<StagePosition>& stages) const {
    if (!tokens_ || !has_loss(stages)) return 0;
    if (kept_logits() > 0) {  // logits and wide ones; float32 gradients of the probabilities and of these
      const std::int64_t logits = *tokens_ * model_.vocab_size;
      return std::max(working(stages), logits * std::max<std::int64_t>(bytes_of_number() + 4, 8));
    }
    const kernels::LossBytes of_loss = loss_bytes();
    return std::max({working(stages), of_loss.copy + of_loss.forward, of_loss.backward});
  }

  const LoadedJob& loaded_;
  const JobConfig& job_;
  const FamilyModel& model_;
  const JobPlan& plan_;
  const OptimizerBytes optimizer_;
  const PeftShares peft_;
  std::vector<WrittenTexts> texts_;
  std::optional<std::int64_t> tokens_;  // of a microbatch on one rank
};

// The most pairs that the stages of each stream keep, as Simulation counts those of all; `extra`: more of them, if there
// are any.
std::array<int, 2> peaks_by_stream(const std::vector<SimulatedAction>& actions,
                                   const std::vector<int>& stages, int extra) {
  std::array<int, 2> all{}, live{}, peaks{};
  for (const SimulatedAction& each : actions) {
    const auto place = std::find(stages.begin(), stages.end(), each.action.stage) - stages.begin();
    const auto stream = static_cast<std::size_t>(stream_of_stage(static_cast<int>(place)));
    if (each.action.kind == ActionKind::forward) {
      ++all.at(stream);
      peaks.at(stream) = std::max(peaks.at(stream), ++live.at(stream));
    }
    if (each.action.kind == ActionKind::backward || each.action.kind == ActionKind::backward_input)
      --live.at(stream);
  }
  for (std::size_t stream = 0; stream < peaks.size(); ++stream)
    peaks.at(stream) = std::min(all.at(stream), peaks.at(stream) + extra);
  return peaks;
}

// The most microbatches that a stage keeps, as Simulation counts those of all. Where a backward is split, the head's
// hidden states wait for the gradient of its weight.
int peak_of_stage(const std::vector<SimulatedAction>& actions, int stage, int extra) {
  int all = 0, live = 0, peak = 0;
  for (const SimulatedAction& each : actions) {
    if (each.action.stage != stage) continue;
    if (each.action.kind == ActionKind::forward) {
      ++all;
      peak = std::max(peak, ++live);
    }
    if (each.action.kind == ActionKind::backward || each.action.kind == ActionKind::backward_weight) --live;
  }
  return std::min(all, peak + extra);
}

}  // namespace

StepForecast forecast_step(const JobConfig& job, const ScheduleConfig& schedule, const JobPlan& plan) {
  const auto microbatches = static_cast<int>(plan.microbatches);
  const PipelineProgram program = build_program(schedule, job.mesh.pipeline_parallel, microbatches);
  const Simulation simulation = simulate(program.compute, program.topology, unit_costs(program.topology));
  StepForecast forecast{.bubble = simulation.bubble};
  for (int pp = 0; pp < job.mesh.pipeline_parallel; ++pp) {
    const int all = static_cast<int>(plan.topology.stages_of(pp).size()) * microbatches;
    const int peak = simulation.peak_activations[static_cast<std::size_t>(pp)];
    forecast.live_microbatches.push_back(std::min(all, peak + job.trainer.pipelining.extra_activations));
    const int last = plan.topology.num_stages() - 1;
    if (plan.topology.rank_of(last) == pp)
      forecast.live_last = peak_of_stage(simulation.ranks[static_cast<std::size_t>(pp)], last,
                                         job.trainer.pipelining.extra_activations);
    if (!has_second_stream(job, schedule)) continue;
    forecast.live_by_stream.push_back(peaks_by_stream(simulation.ranks[static_cast<std::size_t>(pp)],
                                                      plan.topology.stages_of(pp),
                                                      job.trainer.pipelining.extra_activations));
  }
  return forecast;
}

// Computed as train/flat_parameters does.
Dtype dtype_of_gradients(const JobConfig& job) {
  const Dtype parameters = dtype_of_parameters(job);
  return job.trainer.gradient_manager.grad_dtype.value_or(size_of(parameters) < 4 ? Dtype::float32
                                                                                  : parameters);
}

std::vector<RankMemory> estimate_memory(const LoadedJob& loaded, const JobPlan& plan,
                                        const StepForecast& forecast,
                                        std::optional<std::int64_t> sequence_length,
                                        const std::vector<WrittenTexts>& texts) {
  std::vector<RankMemory> ranks;
  if (!loaded.model) return ranks;
  const Estimate estimate(loaded, plan, sequence_length, texts);
  for (int pp = 0; pp < static_cast<int>(forecast.live_microbatches.size()); ++pp)
    ranks.push_back(estimate.of(pp, forecast));
  return ranks;
}

}  // namespace d9d
