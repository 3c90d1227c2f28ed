#include "runtime/job/reading/other_words.hpp"

#include <fmt/ranges.h>

namespace d9d {
namespace {

using config::OtherWords;

constexpr std::string_view accumulation =
    "a step accumulates global_batch_size / (replicas x microbatch_size) microbatches";
constexpr std::string_view no_quantisation =
    "weights of 4 or 8 bits are not trained here; bfloat16 is (model_provider.dtype)";

constexpr OtherWords words[]{
    {"gradient_accumulation_steps accumulation_steps grad_accum_steps",
     "trainer.batching.global_batch_size trainer.batching.microbatch_size", accumulation},
    {"per_device_train_batch_size per_gpu_batch_size micro_batch_size train_micro_batch_size_per_gpu "
     "device_batch_size",
     "trainer.batching.microbatch_size"},
    {"global_batch_size train_batch_size", "trainer.batching.global_batch_size"},
    {"batch_size", "trainer.batching.global_batch_size trainer.batching.microbatch_size"},
    {"per_device_eval_batch_size eval_batch_size", "trainer.batching.microbatch_size",
     "evaluation takes the sizes of training"},
    {"auto_find_batch_size", "trainer.batching.microbatch_size", "`check` estimates the memory"},
    {"max_steps max_iters train_iters num_train_steps total_iters", "trainer.schedule.total_steps"},
    {"num_train_epochs num_epochs max_epochs epochs", "data.epochs trainer.schedule.total_steps",
     "leave total_steps out for as long as the data lasts"},
    {"learning_rate max_lr lr", "optimizer.lr"},
    {"min_lr", "lr_scheduler.min_ratio", "a share of optimizer.lr"},
    {"min_lr_ratio", "lr_scheduler.min_ratio"},
    {"lr_scheduler_type lr_decay_style", "lr_scheduler.name", "constant, linear, cosine, wsd or piecewise"},
    {"lr_scheduler_kwargs", "lr_scheduler"},
    {"lr_decay_iters", "lr_scheduler", "cosine and linear decay until the end of the job"},
    {"warmup_steps num_warmup_steps lr_warmup_iters warmup_iters", "lr_scheduler.warmup_steps"},
    {"warmup_ratio lr_warmup_fraction", "lr_scheduler.warmup_ratio"},
    {"weight_decay", "optimizer.weight_decay optimizer.rules"},
    {"adam_beta1 adam_beta2", "optimizer.betas"},
    {"adam_epsilon adam_eps", "optimizer.eps"},
    {"optim optimizer_type", "optimizer.name"},
    {"max_grad_norm grad_clip clip_grad gradient_clip_val", "trainer.gradient_clipping.max_norm"},
    {"seed", "trainer.determinism.base_seed", "data.seed is the order of samples"},
    {"data_seed", "data.seed"},
    {"full_determinism", "trainer.determinism.strict"},
    {"bf16", "model_provider.dtype", "bfloat16"},
    {"fp16", "model_provider.dtype", "bfloat16; float16 is not trained here"},
    {"tf32", "model_provider.dtype", "float32 or bfloat16"},
    {"torch_dtype precision", "model_provider.dtype"},
    {"mixed_precision", "model_provider.dtype", "with master weights in float32 (optimizer.master_weights)"},
    {"load_in_4bit load_in_8bit quantization_config", "", no_quantisation},
    {"gradient_checkpointing activation_checkpointing", "model_provider.enable_checkpointing"},
    {"recompute_granularity recompute_modules selective_ac_option activation_checkpoint",
     "model_provider.enable_checkpointing model_provider.checkpoint_keeps"},
    {"adapter", "model_provider.peft", "kind: lora"},
    {"peft_config use_peft", "model_provider.peft"},
    {"lora_r lora_rank", "model_provider.peft.params", "r"},
    {"lora_alpha", "model_provider.peft.params", "alpha"},
    {"lora_dropout", "model_provider.peft.params", "dropout"},
    {"use_rslora use_dora", "model_provider.peft.params"},
    {"target_modules lora_target_modules", "model_provider.peft.module_name_pattern",
     "a regular expression over whole paths, e.g. '.*(q|v)_proj'"},
    {"lora_target_linear", "model_provider.peft.module_name_pattern", "e.g. '.*_proj'"},
    {"modules_to_save", "model_provider.peft.methods", "kind: stack of lora and full_tune"},
    {"freeze_layers", "model_provider.peft", "kind: freeze"},
    {"unfrozen_parameters", "model_provider.peft", "kind: full_tune"},
    {"neftune_noise_alpha", "", "noise on embeddings is not built in; a plugin's task can add it"},
    {"label_smoothing_factor", "", "a plugin's task has its own loss: examples/own_project, smoothed_lm"},
    {"model_name_or_path base_model pretrained_model_name_or_path init_from",
     "trainer.model_stage_factory.source_checkpoint model_provider.from"},
    {"model_type", "model_provider.name"},
    {"tokenizer_name tokenizer_type", "data.tokenizer"},
    {"hub_model_id push_to_hub", "", "nothing is sent to a hub; upload the folder of export_to"},
    {"dataset", "data.files", "with data.source: text or chat"},
    {"datasets", "data.files data.parts", "several with weights: data.source: mixture"},
    {"dataset_name", "data.files", "a folder or files of this host; nothing is downloaded"},
    {"train_file data_path", "data.files"},
    {"dataset_text_field text_column", "data.text_field"},
    {"field_messages", "data.messages_field"},
    {"chat_template", "data.chat_template", "of data.source: chat; left out: the tokenizer's own"},
    {"train_on_inputs", "data.trained_roles"},
    {"assistant_only_loss completion_only_loss", "data.trained_roles", "[assistant] is the default"},
    {"packing sample_packing", "data.samples", "packed"},
    {"pad_to_sequence_len", "data.samples", "document fills up; packed leaves little to fill"},
    {"group_by_length", "data.order", "sorted"},
    {"shuffle_buffer_size", "data.shuffle", "the whole data is shuffled"},
    {"seq_length seq_len sequence_len max_seq_length max_length block_size", "data.sequence_length"},
    {"val_set_size test_size", "data.validation evaluation"},
    {"eval_dataset", "evaluation.data"},
    {"eval_steps eval_interval evaluation_strategy eval_strategy", "evaluation.period_steps"},
    {"eval_iters", "evaluation.batches"},
    {"load_best_model_at_end", "evaluation.keep_best export", "export: best"},
    {"metric_for_best_model", "evaluation.keep_best", "the lowest loss"},
    {"logging_steps log_interval", "trainer.logging.period_steps"},
    {"report_to", "trainer.logging.tracker", "provider: tensorboard, wandb, mlflow, aim or log"},
    {"wandb_project use_wandb", "trainer.logging.tracker", "{provider: wandb, project: NAME}"},
    {"logging_dir", "output_dir trainer.logging.tracker"},
    {"run_name", "trainer.run.name"},
    {"save_steps save_interval save_strategy", "trainer.checkpointing.period_steps"},
    {"save_total_limit", "trainer.checkpointing.num_to_keep"},
    {"save_safetensors", "export_to", "exports are safetensors"},
    {"output_dir", "output_dir", "at the top level"},
    {"out_dir", "output_dir"},
    {"overwrite_output_dir", "", "`d9d-node JOB.yaml --fresh` moves the old checkpoints aside"},
    {"resume_from_checkpoint", "", "a job goes on from its last checkpoint by itself; --fresh starts anew"},
    {"auto_resume_from_checkpoints", "", "a job goes on from its last checkpoint by itself"},
    {"deepspeed", "mesh parallelism.zero1", "sharded parameters: mesh.data_parallel_shard"},
    {"zero_stage", "parallelism.zero1 mesh.data_parallel_shard"},
    {"fsdp data_parallel_shard_degree", "mesh.data_parallel_shard"},
    {"fsdp_config", "mesh.data_parallel_shard parallelism.fully_shard"},
    {"data_parallel_replicate_degree", "mesh.data_parallel_replicate"},
    {"tensor_model_parallel_size tensor_parallel_degree tp_size", "mesh.tensor_parallel"},
    {"pipeline_model_parallel_size pipeline_parallel_degree pp_size", "mesh.pipeline_parallel"},
    {"context_parallel_size context_parallel_degree", "mesh.context_parallel_shard"},
    {"expert_model_parallel_size expert_parallel_degree", "mesh.expert_parallel"},
    {"sequence_parallel", "mesh.tensor_parallel", "sequences are always cut along with tensors"},
    {"num_gpus", "node.ranks mesh"},
    {"ddp_find_unused_parameters", "", "parameters without a gradient count as zero"},
    {"dataloader_num_workers num_workers", "trainer.data_loading.num_workers"},
    {"dataloader_prefetch_factor", "trainer.data_prefetch.prefetch_factor"},
    {"dataloader_pin_memory", "", "where a device copies from, memory is pinned"},
    {"flash_attention attn_implementation", "", "attention is chosen by the device"},
    {"torch_compile", "", "kernels are compiled ahead; leave it out"},
    {"use_cpu no_cuda", "node.device", "cpu or cuda"},
};

}  // namespace

std::span<const OtherWords> other_words() {
  return words;
}

std::string answer_to(std::string_view word) {
  const OtherWords* const found = config::find_other(words, word);
  if (found == nullptr) return {};
  if (found->ours.empty()) return std::string(found->note);
  const std::string here = fmt::format("here: {}", fmt::join(config::parted(found->ours), " and "));
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
