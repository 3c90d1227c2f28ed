#include "runtime/task/job_file/other_words.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace d9d {
namespace {

using Keys = std::vector<std::string_view>;

std::vector<OtherWord> make_words() {
  const Keys batch{"trainer.batching.global_batch_size", "trainer.batching.microbatch_size"};
  const Keys microbatch{"trainer.batching.microbatch_size"}, global{"trainer.batching.global_batch_size"};
  const Keys steps{"trainer.schedule.total_steps"}, lr{"optimizer.lr"}, seed{"trainer.determinism.base_seed"};
  const Keys epochs{"data.epochs", "trainer.schedule.total_steps"};
  const Keys dtype{"model_provider.dtype"},
      from{"trainer.model_stage_factory.source_checkpoint", "model_provider.from"};
  const Keys lora{"model_provider.peft.params"}, modules{"model_provider.peft.module_name_pattern"};
  const Keys length{"data.sequence_length"}, files{"data.files"}, held_out{"data.validation", "evaluation"};
  const Keys save{"trainer.checkpointing.period_steps"}, evaluate{"evaluation.period_steps"};
  const Keys log{"trainer.logging.period_steps"}, tracker{"trainer.logging.tracker"};
  const Keys shard{"mesh.data_parallel_shard"}, tensor{"mesh.tensor_parallel"},
      pipeline{"mesh.pipeline_parallel"};
  const Keys context{"mesh.context_parallel_shard"}, expert{"mesh.expert_parallel"};
  const Keys clip{"trainer.gradient_clipping.max_norm"}, betas{"optimizer.betas"};
  const Keys recompute{"model_provider.enable_checkpointing"};
  const Keys warmup{"lr_scheduler.warmup_steps"}, warmup_share{"lr_scheduler.warmup_ratio"};
  const Keys lr_end{"lr_scheduler.min_ratio"}, lr_name{"lr_scheduler.name"};
  const std::string_view accumulation =
      "a step accumulates global_batch_size / (replicas x microbatch_size) microbatches";
  const std::string_view no_quantisation =
      "weights of 4 or 8 bits are not trained here; bfloat16 is (model_provider.dtype)";
  return {
      {"gradient_accumulation_steps", batch, accumulation},
      {"accumulation_steps", batch, accumulation},
      {"grad_accum_steps", batch, accumulation},
      {"per_device_train_batch_size", microbatch},
      {"per_gpu_batch_size", microbatch},
      {"micro_batch_size", microbatch},
      {"train_micro_batch_size_per_gpu", microbatch},
      {"device_batch_size", microbatch},
      {"global_batch_size", global},
      {"train_batch_size", global},
      {"batch_size", batch},
      {"per_device_eval_batch_size", microbatch, "evaluation takes the sizes of training"},
      {"eval_batch_size", microbatch, "evaluation takes the sizes of training"},
      {"auto_find_batch_size", microbatch, "`check` estimates the memory"},
      {"max_steps", steps},
      {"max_iters", steps},
      {"train_iters", steps},
      {"num_train_steps", steps},
      {"total_iters", steps},
      {"num_train_epochs", epochs, "leave total_steps out for as long as the data lasts"},
      {"num_epochs", epochs, "leave total_steps out for as long as the data lasts"},
      {"max_epochs", epochs, "leave total_steps out for as long as the data lasts"},
      {"epochs", epochs, "leave total_steps out for as long as the data lasts"},
      {"learning_rate", lr},
      {"max_lr", lr},
      {"lr", lr},
      {"min_lr", lr_end, "a share of optimizer.lr"},
      {"min_lr_ratio", lr_end},
      {"lr_scheduler_type", lr_name, "constant, linear, cosine, wsd or piecewise"},
      {"lr_decay_style", lr_name, "constant, linear, cosine, wsd or piecewise"},
      {"lr_scheduler_kwargs", {"lr_scheduler"}},
      {"lr_decay_iters", {"lr_scheduler"}, "cosine and linear decay until the end of the job"},
      {"warmup_steps", warmup},
      {"num_warmup_steps", warmup},
      {"lr_warmup_iters", warmup},
      {"warmup_iters", warmup},
      {"warmup_ratio", warmup_share},
      {"lr_warmup_fraction", warmup_share},
      {"weight_decay", {"optimizer.weight_decay", "optimizer.rules"}},
      {"adam_beta1", betas},
      {"adam_beta2", betas},
      {"adam_epsilon", {"optimizer.eps"}},
      {"adam_eps", {"optimizer.eps"}},
      {"optim", {"optimizer.name"}},
      {"optimizer_type", {"optimizer.name"}},
      {"max_grad_norm", clip},
      {"grad_clip", clip},
      {"clip_grad", clip},
      {"gradient_clip_val", clip},
      {"seed", seed, "data.seed is the order of samples"},
      {"data_seed", {"data.seed"}},
      {"full_determinism", {"trainer.determinism.strict"}},
      {"bf16", dtype, "bfloat16"},
      {"fp16", dtype, "bfloat16; float16 is not trained here"},
      {"tf32", dtype, "float32 or bfloat16"},
      {"torch_dtype", dtype},
      {"precision", dtype},
      {"mixed_precision", dtype, "with master weights in float32 (optimizer.master_weights)"},
      {"load_in_4bit", {}, no_quantisation},
      {"load_in_8bit", {}, no_quantisation},
      {"quantization_config", {}, no_quantisation},
      {"gradient_checkpointing", recompute},
      {"activation_checkpointing", recompute},
      {"recompute_granularity", recompute},
      {"adapter", {"model_provider.peft"}, "kind: lora"},
      {"peft_config", {"model_provider.peft"}},
      {"use_peft", {"model_provider.peft"}},
      {"lora_r", lora, "r"},
      {"lora_rank", lora, "r"},
      {"lora_alpha", lora, "alpha"},
      {"lora_dropout", lora, "dropout"},
      {"use_rslora", lora},
      {"use_dora", lora},
      {"target_modules", modules, "a regular expression over whole paths, e.g. '.*(q|v)_proj'"},
      {"lora_target_modules", modules, "a regular expression over whole paths, e.g. '.*(q|v)_proj'"},
      {"lora_target_linear", modules, "e.g. '.*_proj'"},
      {"modules_to_save", {"model_provider.peft.methods"}, "kind: stack of lora and full_tune"},
      {"freeze_layers", {"model_provider.peft"}, "kind: freeze"},
      {"unfrozen_parameters", {"model_provider.peft"}, "kind: full_tune"},
      {"neftune_noise_alpha", {}, "noise on embeddings is not built in; a plugin's task can add it"},
      {"label_smoothing_factor", {}, "a plugin's task has its own loss: examples/own_project, smoothed_lm"},
      {"model_name_or_path", from},
      {"base_model", from},
      {"pretrained_model_name_or_path", from},
      {"init_from", from},
      {"model_type", {"model_provider.name"}},
      {"tokenizer_name", {"data.tokenizer"}},
      {"tokenizer_type", {"data.tokenizer"}},
      {"hub_model_id", {}, "nothing is sent to a hub; upload the folder of export_to"},
      {"push_to_hub", {}, "nothing is sent to a hub; upload the folder of export_to"},
      {"dataset", files, "with data.source: text or chat"},
      {"datasets", {"data.files", "data.parts"}, "several with weights: data.source: mixture"},
      {"dataset_name", files, "a folder or files of this host; nothing is downloaded"},
      {"train_file", files},
      {"data_path", files},
      {"dataset_text_field", {"data.text_field"}},
      {"text_column", {"data.text_field"}},
      {"field_messages", {"data.messages_field"}},
      {"chat_template", {"data.chat_template"}, "of data.source: chat; left out: the tokenizer's own"},
      {"train_on_inputs", {"data.trained_roles"}},
      {"assistant_only_loss", {"data.trained_roles"}, "[assistant] is the default"},
      {"completion_only_loss", {"data.trained_roles"}, "[assistant] is the default"},
      {"packing", {"data.samples"}, "packed"},
      {"sample_packing", {"data.samples"}, "packed"},
      {"pad_to_sequence_len", {"data.samples"}, "document fills up; packed leaves little to fill"},
      {"group_by_length", {"data.order"}, "sorted"},
      {"shuffle_buffer_size", {"data.shuffle"}, "the whole data is shuffled"},
      {"seq_length", length},
      {"seq_len", length},
      {"sequence_len", length},
      {"max_seq_length", length},
      {"max_length", length},
      {"block_size", length},
      {"val_set_size", held_out},
      {"eval_dataset", {"evaluation.data"}},
      {"test_size", held_out},
      {"eval_steps", evaluate},
      {"eval_interval", evaluate},
      {"evaluation_strategy", evaluate},
      {"eval_strategy", evaluate},
      {"eval_iters", {"evaluation.batches"}},
      {"load_best_model_at_end", {"evaluation.keep_best", "export"}, "export: best"},
      {"metric_for_best_model", {"evaluation.keep_best"}, "the lowest loss"},
      {"logging_steps", log},
      {"log_interval", log},
      {"report_to", tracker, "provider: tensorboard, wandb, mlflow, aim or log"},
      {"wandb_project", tracker, "{provider: wandb, project: NAME}"},
      {"use_wandb", tracker, "{provider: wandb, project: NAME}"},
      {"logging_dir", {"output_dir", "trainer.logging.tracker"}},
      {"run_name", {"trainer.run.name"}},
      {"save_steps", save},
      {"save_interval", save},
      {"save_strategy", save},
      {"save_total_limit", {"trainer.checkpointing.num_to_keep"}},
      {"save_safetensors", {"export_to"}, "exports are safetensors"},
      {"output_dir", {"output_dir"}, "at the top level"},
      {"out_dir", {"output_dir"}},
      {"overwrite_output_dir", {}, "`d9d-node JOB.yaml --fresh` moves the old checkpoints aside"},
      {"resume_from_checkpoint", {}, "a job goes on from its last checkpoint by itself; --fresh starts anew"},
      {"auto_resume_from_checkpoints", {}, "a job goes on from its last checkpoint by itself"},
      {"deepspeed", {"mesh", "parallelism.zero1"}, "sharded parameters: mesh.data_parallel_shard"},
      {"zero_stage", {"parallelism.zero1", "mesh.data_parallel_shard"}},
      {"fsdp", shard},
      {"fsdp_config", {"mesh.data_parallel_shard", "parallelism.fully_shard"}},
      {"data_parallel_shard_degree", shard},
      {"data_parallel_replicate_degree", {"mesh.data_parallel_replicate"}},
      {"tensor_model_parallel_size", tensor},
      {"tensor_parallel_degree", tensor},
      {"tp_size", tensor},
      {"pipeline_model_parallel_size", pipeline},
      {"pipeline_parallel_degree", pipeline},
      {"pp_size", pipeline},
      {"context_parallel_size", context},
      {"context_parallel_degree", context},
      {"expert_model_parallel_size", expert},
      {"expert_parallel_degree", expert},
      {"sequence_parallel", tensor, "sequences are always cut along with tensors"},
      {"num_gpus", {"node.ranks", "mesh"}},
      {"ddp_find_unused_parameters", {}, "parameters without a gradient count as zero"},
      {"dataloader_num_workers", {"trainer.data_prefetch.prefetch_factor"}, "a loader is one actor"},
      {"dataloader_pin_memory", {"trainer.data_prefetch.prefetch_factor"}, "a loader is one actor"},
      {"flash_attention", {}, "attention is chosen by the device"},
      {"attn_implementation", {}, "attention is chosen by the device"},
      {"torch_compile", {}, "kernels are compiled ahead; leave it out"},
      {"use_cpu", {"node.device"}, "cpu or cuda"},
      {"no_cuda", {"node.device"}, "cpu or cuda"},
  };
}

}  // namespace

std::span<const OtherWord> other_words() {
  static const std::vector<OtherWord> words = make_words();
  return words;
}

std::string answer_to(std::string_view word) {
  const auto words = other_words();
  const auto found = std::ranges::find(words, word, &OtherWord::word);
  if (found == words.end()) return {};
  if (found->keys.empty()) return std::string(found->note);
  const std::string here = fmt::format("here: {}", fmt::join(found->keys, " and "));
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
