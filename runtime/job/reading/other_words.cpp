#include "runtime/job/reading/other_words.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace d9d {
namespace {

constexpr std::string_view accumulation =
    "a step accumulates global_batch_size / (replicas x microbatch_size) microbatches";
constexpr std::string_view no_quantisation =
    "weights of 4 or 8 bits are not trained here; bfloat16 is (model_provider.dtype)";

constexpr std::array words{
    OtherWord{"gradient_accumulation_steps",
              "trainer.batching.global_batch_size trainer.batching.microbatch_size", accumulation},
    OtherWord{"accumulation_steps", "trainer.batching.global_batch_size trainer.batching.microbatch_size",
              accumulation},
    OtherWord{"grad_accum_steps", "trainer.batching.global_batch_size trainer.batching.microbatch_size",
              accumulation},
    OtherWord{"per_device_train_batch_size", "trainer.batching.microbatch_size"},
    OtherWord{"per_gpu_batch_size", "trainer.batching.microbatch_size"},
    OtherWord{"micro_batch_size", "trainer.batching.microbatch_size"},
    OtherWord{"train_micro_batch_size_per_gpu", "trainer.batching.microbatch_size"},
    OtherWord{"device_batch_size", "trainer.batching.microbatch_size"},
    OtherWord{"global_batch_size", "trainer.batching.global_batch_size"},
    OtherWord{"train_batch_size", "trainer.batching.global_batch_size"},
    OtherWord{"batch_size", "trainer.batching.global_batch_size trainer.batching.microbatch_size"},
    OtherWord{"per_device_eval_batch_size", "trainer.batching.microbatch_size",
              "evaluation takes the sizes of training"},
    OtherWord{"eval_batch_size", "trainer.batching.microbatch_size",
              "evaluation takes the sizes of training"},
    OtherWord{"auto_find_batch_size", "trainer.batching.microbatch_size", "`check` estimates the memory"},
    OtherWord{"max_steps", "trainer.schedule.total_steps"},
    OtherWord{"max_iters", "trainer.schedule.total_steps"},
    OtherWord{"train_iters", "trainer.schedule.total_steps"},
    OtherWord{"num_train_steps", "trainer.schedule.total_steps"},
    OtherWord{"total_iters", "trainer.schedule.total_steps"},
    OtherWord{"num_train_epochs", "data.epochs trainer.schedule.total_steps",
              "leave total_steps out for as long as the data lasts"},
    OtherWord{"num_epochs", "data.epochs trainer.schedule.total_steps",
              "leave total_steps out for as long as the data lasts"},
    OtherWord{"max_epochs", "data.epochs trainer.schedule.total_steps",
              "leave total_steps out for as long as the data lasts"},
    OtherWord{"epochs", "data.epochs trainer.schedule.total_steps",
              "leave total_steps out for as long as the data lasts"},
    OtherWord{"learning_rate", "optimizer.lr"},
    OtherWord{"max_lr", "optimizer.lr"},
    OtherWord{"lr", "optimizer.lr"},
    OtherWord{"min_lr", "lr_scheduler.min_ratio", "a share of optimizer.lr"},
    OtherWord{"min_lr_ratio", "lr_scheduler.min_ratio"},
    OtherWord{"lr_scheduler_type", "lr_scheduler.name", "constant, linear, cosine, wsd or piecewise"},
    OtherWord{"lr_decay_style", "lr_scheduler.name", "constant, linear, cosine, wsd or piecewise"},
    OtherWord{"lr_scheduler_kwargs", "lr_scheduler"},
    OtherWord{"lr_decay_iters", "lr_scheduler", "cosine and linear decay until the end of the job"},
    OtherWord{"warmup_steps", "lr_scheduler.warmup_steps"},
    OtherWord{"num_warmup_steps", "lr_scheduler.warmup_steps"},
    OtherWord{"lr_warmup_iters", "lr_scheduler.warmup_steps"},
    OtherWord{"warmup_iters", "lr_scheduler.warmup_steps"},
    OtherWord{"warmup_ratio", "lr_scheduler.warmup_ratio"},
    OtherWord{"lr_warmup_fraction", "lr_scheduler.warmup_ratio"},
    OtherWord{"weight_decay", "optimizer.weight_decay optimizer.rules"},
    OtherWord{"adam_beta1", "optimizer.betas"},
    OtherWord{"adam_beta2", "optimizer.betas"},
    OtherWord{"adam_epsilon", "optimizer.eps"},
    OtherWord{"adam_eps", "optimizer.eps"},
    OtherWord{"optim", "optimizer.name"},
    OtherWord{"optimizer_type", "optimizer.name"},
    OtherWord{"max_grad_norm", "trainer.gradient_clipping.max_norm"},
    OtherWord{"grad_clip", "trainer.gradient_clipping.max_norm"},
    OtherWord{"clip_grad", "trainer.gradient_clipping.max_norm"},
    OtherWord{"gradient_clip_val", "trainer.gradient_clipping.max_norm"},
    OtherWord{"seed", "trainer.determinism.base_seed", "data.seed is the order of samples"},
    OtherWord{"data_seed", "data.seed"},
    OtherWord{"full_determinism", "trainer.determinism.strict"},
    OtherWord{"bf16", "model_provider.dtype", "bfloat16"},
    OtherWord{"fp16", "model_provider.dtype", "bfloat16; float16 is not trained here"},
    OtherWord{"tf32", "model_provider.dtype", "float32 or bfloat16"},
    OtherWord{"torch_dtype", "model_provider.dtype"},
    OtherWord{"precision", "model_provider.dtype"},
    OtherWord{"mixed_precision", "model_provider.dtype",
              "with master weights in float32 (optimizer.master_weights)"},
    OtherWord{"load_in_4bit", "", no_quantisation},
    OtherWord{"load_in_8bit", "", no_quantisation},
    OtherWord{"quantization_config", "", no_quantisation},
    OtherWord{"gradient_checkpointing", "model_provider.enable_checkpointing"},
    OtherWord{"activation_checkpointing", "model_provider.enable_checkpointing"},
    OtherWord{"recompute_granularity", "model_provider.enable_checkpointing"},
    OtherWord{"adapter", "model_provider.peft", "kind: lora"},
    OtherWord{"peft_config", "model_provider.peft"},
    OtherWord{"use_peft", "model_provider.peft"},
    OtherWord{"lora_r", "model_provider.peft.params", "r"},
    OtherWord{"lora_rank", "model_provider.peft.params", "r"},
    OtherWord{"lora_alpha", "model_provider.peft.params", "alpha"},
    OtherWord{"lora_dropout", "model_provider.peft.params", "dropout"},
    OtherWord{"use_rslora", "model_provider.peft.params"},
    OtherWord{"use_dora", "model_provider.peft.params"},
    OtherWord{"target_modules", "model_provider.peft.module_name_pattern",
              "a regular expression over whole paths, e.g. '.*(q|v)_proj'"},
    OtherWord{"lora_target_modules", "model_provider.peft.module_name_pattern",
              "a regular expression over whole paths, e.g. '.*(q|v)_proj'"},
    OtherWord{"lora_target_linear", "model_provider.peft.module_name_pattern", "e.g. '.*_proj'"},
    OtherWord{"modules_to_save", "model_provider.peft.methods", "kind: stack of lora and full_tune"},
    OtherWord{"freeze_layers", "model_provider.peft", "kind: freeze"},
    OtherWord{"unfrozen_parameters", "model_provider.peft", "kind: full_tune"},
    OtherWord{"neftune_noise_alpha", "", "noise on embeddings is not built in; a plugin's task can add it"},
    OtherWord{"label_smoothing_factor", "",
              "a plugin's task has its own loss: examples/own_project, smoothed_lm"},
    OtherWord{"model_name_or_path", "trainer.model_stage_factory.source_checkpoint model_provider.from"},
    OtherWord{"base_model", "trainer.model_stage_factory.source_checkpoint model_provider.from"},
    OtherWord{"pretrained_model_name_or_path",
              "trainer.model_stage_factory.source_checkpoint model_provider.from"},
    OtherWord{"init_from", "trainer.model_stage_factory.source_checkpoint model_provider.from"},
    OtherWord{"model_type", "model_provider.name"},
    OtherWord{"tokenizer_name", "data.tokenizer"},
    OtherWord{"tokenizer_type", "data.tokenizer"},
    OtherWord{"hub_model_id", "", "nothing is sent to a hub; upload the folder of export_to"},
    OtherWord{"push_to_hub", "", "nothing is sent to a hub; upload the folder of export_to"},
    OtherWord{"dataset", "data.files", "with data.source: text or chat"},
    OtherWord{"datasets", "data.files data.parts", "several with weights: data.source: mixture"},
    OtherWord{"dataset_name", "data.files", "a folder or files of this host; nothing is downloaded"},
    OtherWord{"train_file", "data.files"},
    OtherWord{"data_path", "data.files"},
    OtherWord{"dataset_text_field", "data.text_field"},
    OtherWord{"text_column", "data.text_field"},
    OtherWord{"field_messages", "data.messages_field"},
    OtherWord{"chat_template", "data.chat_template", "of data.source: chat; left out: the tokenizer's own"},
    OtherWord{"train_on_inputs", "data.trained_roles"},
    OtherWord{"assistant_only_loss", "data.trained_roles", "[assistant] is the default"},
    OtherWord{"completion_only_loss", "data.trained_roles", "[assistant] is the default"},
    OtherWord{"packing", "data.samples", "packed"},
    OtherWord{"sample_packing", "data.samples", "packed"},
    OtherWord{"pad_to_sequence_len", "data.samples", "document fills up; packed leaves little to fill"},
    OtherWord{"group_by_length", "data.order", "sorted"},
    OtherWord{"shuffle_buffer_size", "data.shuffle", "the whole data is shuffled"},
    OtherWord{"seq_length", "data.sequence_length"},
    OtherWord{"seq_len", "data.sequence_length"},
    OtherWord{"sequence_len", "data.sequence_length"},
    OtherWord{"max_seq_length", "data.sequence_length"},
    OtherWord{"max_length", "data.sequence_length"},
    OtherWord{"block_size", "data.sequence_length"},
    OtherWord{"val_set_size", "data.validation evaluation"},
    OtherWord{"eval_dataset", "evaluation.data"},
    OtherWord{"test_size", "data.validation evaluation"},
    OtherWord{"eval_steps", "evaluation.period_steps"},
    OtherWord{"eval_interval", "evaluation.period_steps"},
    OtherWord{"evaluation_strategy", "evaluation.period_steps"},
    OtherWord{"eval_strategy", "evaluation.period_steps"},
    OtherWord{"eval_iters", "evaluation.batches"},
    OtherWord{"load_best_model_at_end", "evaluation.keep_best export", "export: best"},
    OtherWord{"metric_for_best_model", "evaluation.keep_best", "the lowest loss"},
    OtherWord{"logging_steps", "trainer.logging.period_steps"},
    OtherWord{"log_interval", "trainer.logging.period_steps"},
    OtherWord{"report_to", "trainer.logging.tracker", "provider: tensorboard, wandb, mlflow, aim or log"},
    OtherWord{"wandb_project", "trainer.logging.tracker", "{provider: wandb, project: NAME}"},
    OtherWord{"use_wandb", "trainer.logging.tracker", "{provider: wandb, project: NAME}"},
    OtherWord{"logging_dir", "output_dir trainer.logging.tracker"},
    OtherWord{"run_name", "trainer.run.name"},
    OtherWord{"save_steps", "trainer.checkpointing.period_steps"},
    OtherWord{"save_interval", "trainer.checkpointing.period_steps"},
    OtherWord{"save_strategy", "trainer.checkpointing.period_steps"},
    OtherWord{"save_total_limit", "trainer.checkpointing.num_to_keep"},
    OtherWord{"save_safetensors", "export_to", "exports are safetensors"},
    OtherWord{"output_dir", "output_dir", "at the top level"},
    OtherWord{"out_dir", "output_dir"},
    OtherWord{"overwrite_output_dir", "", "`d9d-node JOB.yaml --fresh` moves the old checkpoints aside"},
    OtherWord{"resume_from_checkpoint", "",
              "a job goes on from its last checkpoint by itself; --fresh starts anew"},
    OtherWord{"auto_resume_from_checkpoints", "", "a job goes on from its last checkpoint by itself"},
    OtherWord{"deepspeed", "mesh parallelism.zero1", "sharded parameters: mesh.data_parallel_shard"},
    OtherWord{"zero_stage", "parallelism.zero1 mesh.data_parallel_shard"},
    OtherWord{"fsdp", "mesh.data_parallel_shard"},
    OtherWord{"fsdp_config", "mesh.data_parallel_shard parallelism.fully_shard"},
    OtherWord{"data_parallel_shard_degree", "mesh.data_parallel_shard"},
    OtherWord{"data_parallel_replicate_degree", "mesh.data_parallel_replicate"},
    OtherWord{"tensor_model_parallel_size", "mesh.tensor_parallel"},
    OtherWord{"tensor_parallel_degree", "mesh.tensor_parallel"},
    OtherWord{"tp_size", "mesh.tensor_parallel"},
    OtherWord{"pipeline_model_parallel_size", "mesh.pipeline_parallel"},
    OtherWord{"pipeline_parallel_degree", "mesh.pipeline_parallel"},
    OtherWord{"pp_size", "mesh.pipeline_parallel"},
    OtherWord{"context_parallel_size", "mesh.context_parallel_shard"},
    OtherWord{"context_parallel_degree", "mesh.context_parallel_shard"},
    OtherWord{"expert_model_parallel_size", "mesh.expert_parallel"},
    OtherWord{"expert_parallel_degree", "mesh.expert_parallel"},
    OtherWord{"sequence_parallel", "mesh.tensor_parallel", "sequences are always cut along with tensors"},
    OtherWord{"num_gpus", "node.ranks mesh"},
    OtherWord{"ddp_find_unused_parameters", "", "parameters without a gradient count as zero"},
    OtherWord{"dataloader_num_workers", "trainer.data_prefetch.prefetch_factor", "a loader is one actor"},
    OtherWord{"dataloader_pin_memory", "trainer.data_prefetch.prefetch_factor", "a loader is one actor"},
    OtherWord{"flash_attention", "", "attention is chosen by the device"},
    OtherWord{"attn_implementation", "", "attention is chosen by the device"},
    OtherWord{"torch_compile", "", "kernels are compiled ahead; leave it out"},
    OtherWord{"use_cpu", "node.device", "cpu or cuda"},
    OtherWord{"no_cuda", "node.device", "cpu or cuda"},
};

}  // namespace

std::vector<std::string_view> keys_of(const OtherWord& word) {
  std::vector<std::string_view> keys;
  for (std::size_t begin = 0; begin < word.keys.size();) {
    const std::size_t end = std::min(word.keys.find(' ', begin), word.keys.size());
    keys.push_back(word.keys.substr(begin, end - begin));
    begin = end + 1;
  }
  return keys;
}

std::span<const OtherWord> other_words() {
  return words;
}

std::string answer_to(std::string_view word) {
  const auto all = other_words();
  const auto found = std::ranges::find(all, word, &OtherWord::word);
  if (found == all.end()) return {};
  if (found->keys.empty()) return std::string(found->note);
  const std::string here = fmt::format("here: {}", fmt::join(keys_of(*found), " and "));
  return found->note.empty() ? here : fmt::format("{} ({})", here, found->note);
}

config::Problems with_answers(const config::Problems& problems) {
  config::Problems told;
  for (const config::Problem& problem : problems.errors()) {
    const std::string word = problem.path.substr(problem.path.rfind('.') + 1);
    std::string answer = problem.what == "unknown key" ? answer_to(word) : std::string();
    told.error(problem.mark, problem.path, problem.what, answer.empty() ? problem.remedy : std::move(answer));
  }
  for (const config::Problem& problem : problems.warnings())
    told.warn(problem.mark, problem.path, problem.what, problem.remedy);
  return told;
}

}  // namespace d9d
