#include "actors/cli/view/memory.hpp"

#include <algorithm>

#include "runtime/family/family_model.hpp"
#include "runtime/job/rule/optimizer_rules.hpp"
#include "runtime/job/rule/peft_rules.hpp"
#include "runtime/nn/size/model_costs.hpp"
#include "runtime/nn/size/state_memory.hpp"

namespace d9d {
namespace {

// A guess for a plugin's model.
Dtype dtype_of_parameters(const JobConfig& job) {
  const auto* family = std::get_if<FamilyProvider>(&job.model_provider);
  return family ? family->dtype : Dtype::float32;
}

std::int64_t bytes_of_parameter(const JobConfig& job) {
  return size_of(dtype_of_parameters(job));
}

const FamilyProvider* family_of(const JobConfig& job) {
  return std::get_if<FamilyProvider>(&job.model_provider);
}
bool checkpoints_activations(const JobConfig& job) {
  return family_of(job) != nullptr && family_of(job)->enable_checkpointing;
}
std::int64_t offloaded_layers(const JobConfig& job) {
  return family_of(job) != nullptr ? family_of(job)->offload_layers : 0;
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
  const FullyShardOptions& fully_shard = job.parallelism.fully_shard;
  const bool pipeline = job.mesh.pipeline_parallel > 1;
  const int shards = job.mesh.data_parallel_shard * job.mesh.context_parallel_shard;
  const bool zero1 = job.parallelism.zero1 && shards == 1;
  StateMemoryOptions options;
  options.parameter_bytes = bytes_of_parameter(job);
  options.gradient_bytes = size_of(dtype_of_gradients(job));
  options.optimizer_bytes = optimizer_bytes;
  options.tensor_ranks = job.mesh.tensor_parallel;
  options.expert_ranks = job.mesh.expert_parallel;
  options.shards = zero1 ? job.mesh.data_parallel_replicate : shards;
  if (options.shards > 1) {
    const int ranks_of_stage = job.mesh.world_size() / job.mesh.pipeline_parallel;
    options.expert_shards = ranks_of_stage / job.mesh.expert_parallel;
  }
  options.keeps_values = zero1 || fully_shard.reshard_after_forward == ReshardAfterForward::never ||
                         (fully_shard.reshard_after_forward == ReshardAfterForward::default_ && pipeline);
  options.keeps_gradients = microbatches > 1 && (zero1 || fully_shard.reduce == ReducePeriod::step);
  options.adds_gradients = microbatches > 1 && !options.keeps_gradients;
  if (job.inference) options.gradient_bytes = 0, options.optimizer_bytes = 0;
  return options;
}

std::int64_t share_of(std::int64_t bytes, double share) {
  return share == 1 ? bytes : static_cast<std::int64_t>(share * static_cast<double>(bytes));
}

// If the head's weight trains, the loss keeps its gradient in float32 until the backward adds it.
std::int64_t kept_by_loss(const LoadedJob& loaded) {
  if (loaded.job.inference) return 0;
  return 4 * trained_head_elements(loaded.job, *loaded.model) / loaded.job.mesh.tensor_parallel;
}

// The stages of a rank share its peak; the largest of them bounds it.
std::int64_t activations_of(const LoadedJob& loaded, const std::vector<StagePosition>& stages,
                            const RankWork& work) {
  if (!work.sequence_length) return 0;
  const JobConfig& job = loaded.job;
  const int tensor_parallel = job.mesh.tensor_parallel;
  const std::int64_t tokens =
      job.trainer.batching.microbatch_size * *work.sequence_length / job.mesh.context_parallel();
  const std::int64_t of_loss = kept_by_loss(loaded);
  std::int64_t largest = 0, passing = 0;
  for (const StagePosition& stage : stages) {
    const std::int64_t kept =
        activation_bytes(*loaded.model, stage, tokens, static_cast<int>(bytes_of_parameter(job)),
                         checkpoints_activations(job), tensor_parallel, loaded.split);
    const OffloadedBytes offloaded =
        offloaded_bytes(*loaded.model, stage, tokens, static_cast<int>(bytes_of_parameter(job)),
                        offloaded_layers(job), checkpoints_activations(job), tensor_parallel, loaded.split);
    largest = std::max(largest, kept - offloaded.moved + (stage.is_last() ? of_loss : 0));
    passing = std::max(passing, offloaded.passing);
  }
  return largest * work.live_microbatches + passing;
}

// Computed as kernels/cross_entropy/blocks.cpp does.
std::int64_t logits_of(const LoadedJob& loaded, const std::vector<StagePosition>& stages,
                       const RankWork& work) {
  const JobConfig& job = loaded.job;
  const bool has_loss =
      std::any_of(stages.begin(), stages.end(), [](const StagePosition& stage) { return stage.is_last(); });
  if (job.node.device != DeviceKind::cuda || !has_loss || !work.sequence_length) return 0;
  const std::int64_t columns = std::max<std::int64_t>(1, loaded.model->vocab_size / job.mesh.tensor_parallel);
  const std::int64_t tokens =
      job.trainer.batching.microbatch_size * *work.sequence_length / job.mesh.context_parallel();
  const std::int64_t rows =
      std::clamp<std::int64_t>((std::int64_t{1} << 28) / columns / 128 * 128, 128, 8192);
  return 4 * std::min(tokens, rows) * columns;
}

}  // namespace

// Computed as train/flat_parameters does.
Dtype dtype_of_gradients(const JobConfig& job) {
  const Dtype parameters = dtype_of_parameters(job);
  return job.trainer.gradient_manager.grad_dtype.value_or(size_of(parameters) < 4 ? Dtype::float32
                                                                                  : parameters);
}

RankMemory estimate_memory(const LoadedJob& loaded, const std::vector<StagePosition>& stages,
                           const RankWork& work) {
  const OptimizerBytes of_optimizer = bytes_of_optimizer(loaded.job, *loaded.model);
  const StateMemory state = state_memory(
      *loaded.model, stages, state_options(loaded.job, work.microbatches, of_optimizer.kept), loaded.split);
  const PeftShares shares = peft_shares(loaded.job, *loaded.model);
  const std::int64_t parameters = share_of(state.parameters, 1 + shares.added);
  const std::int64_t optimizer = share_of(state.optimizer, shares.trainable);
  const bool all = !loaded.job.trainer.model_stage_factory.checkpoint_only_trainable_parameters;
  const std::int64_t stored = all ? parameters : share_of(state.parameters, shares.trainable);
  const bool saves = loaded.job.trainer.checkpointing.period_steps.kind != config::Period::Kind::disable;
  return {.pipeline_rank = work.pipeline_rank,
          .parameters = parameters + share_of(state.gathered, 1 + shares.added),
          .gradients = share_of(state.gradients + state.whole_gradients, shares.trainable),
          .optimizer = optimizer,
          .checkpoint = saves ? stored + share_of(optimizer, of_optimizer.saved_of_kept()) : 0,
          .activations = activations_of(loaded, stages, work),
          .live_microbatches = work.live_microbatches,
          .logits = logits_of(loaded, stages, work)};
}

}  // namespace d9d
