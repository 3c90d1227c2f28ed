#include "actors/cli/start/starter_job.hpp"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "runtime/base/config/decode.hpp"
#include "runtime/base/json_text.hpp"

namespace d9d {
namespace {

constexpr double whole_learning_rate = 2e-5;  // of all weights of a model that has learnt already

// Quotes any text for YAML as JSON, because JSON is YAML.
std::string quoted(const std::string& text) {
  return json_text(nlohmann::json(text));
}

std::string quoted(const std::vector<std::string>& texts) {
  std::vector<std::string> all;
  for (const std::string& text : texts) all.push_back(quoted(text));
  return fmt::format("[{}]", fmt::join(all, ", "));
}

std::string millions(std::int64_t number) {
  return fmt::format("{:.3g} M", static_cast<double>(number) / 1e6);
}

std::string head(const StarterJob& job) {
  const std::string what =
      job.model
          ? fmt::format("Fine-tunes {} ({} parameters)", job.model->folder, millions(job.model->parameters))
          : fmt::format("A model of {} parameters from scratch", millions(job.plan.model.parameters()));
  return fmt::format(
      "# {}. Written by: {}\n# All keys: d9d-node check --reference SECTION. What it will do: d9d-node check "
      "THIS_FILE\n",
      what, job.command);
}

bool trains_all(const StarterJob& job) {
  return job.model && job.model->trains == StarterModel::Trains::all;
}

std::string trainer(const StarterJob& job) {
  const StartPlan& plan = job.plan;
  std::string text = fmt::format("trainer:\n  run: {{name: {}}}\n", quoted(job.name));
  if (job.model) {
    text += fmt::format("  model_stage_factory: {{source_checkpoint: {}{}}}\n", quoted(job.model->folder),
                        trains_all(job) ? "" : ", checkpoint_only_trainable_parameters: true");
  }
  return text +
         fmt::format(
             "  batching: {{global_batch_size: {}, microbatch_size: {}}}  # {} tokens a step; a smaller "
             "microbatch takes less memory\n",
             plan.global_batch_size, plan.microbatch_size, plan.step_tokens()) +
         fmt::format("  schedule: {{total_steps: {}}}  # about {:.2g} min on this host\n", plan.steps,
                     std::max(job.minutes, 0.1)) +
         fmt::format(
             "  gradient_clipping: {{max_norm: 1.0}}\n"
             "  checkpointing: {{period_steps: {}, num_to_keep: 2}}  # started again, the job goes on from "
             "the last one\n",
             plan.period);
}

std::string model(const StarterJob& job) {
  if (trains_all(job))
    return fmt::format("model_provider: {{name: {}, from: {}}}  # all weights train\n", job.family,
                       quoted(job.model->folder));
  if (job.model) {
    return fmt::format(
        "model_provider:\n  name: {}\n  from: {}\n"
        "  peft: {{kind: lora, module_name_pattern: '.*_proj', params: {{r: 16, alpha: 32}}}}  # small "
        "matrices beside "
        "the linears train; for all weights leave peft and export_adapter_to out, and take lr: 2e-5\n",
        job.family, quoted(job.model->folder));
  }
  const ModelSize& size = job.plan.model;
  return fmt::format(
      "model_provider:\n  name: {}\n"
      "  model: {{vocab_size: {}, hidden_size: {}, num_hidden_layers: {}, num_attention_heads: {}, "
      "num_key_value_heads: {},\n"
      "          head_dim: {}, intermediate_size: {}, max_position_embeddings: {}, tie_word_embeddings: "
      "true}}\n",
      job.family, size.vocab_size, size.width, size.layers, size.heads, size.heads, size.width / size.heads,
      size.feed_forward, job.plan.sequence_length);
}

std::string data(const StarterJob& job) {
  std::string text;
  if (job.is_chat && !job.has_template)
    text += "# The tokenizer has no chat template, so `roles` says what stands around messages.\n";
  text += fmt::format("data: {{source: {}, files: {},\n       ", job.is_chat ? "chat" : "text",
                      quoted(job.files));
  if (!job.tokenizer.empty()) text += fmt::format("tokenizer: {}, ", quoted(job.tokenizer));
  if (job.is_chat && !job.has_template) {
    text +=
        "roles: {system: {suffix: \"\\n\"}, user: {prefix: \"User: \", suffix: \"\\n\"}, assistant: {prefix: "
        "\"Assistant: \", suffix: \"\\n\"}},\n       ";
  }
  if (job.document) text += fmt::format("document: {}, ", config::encode(*job.document).get<std::string>());
  if (job.text_field) text += fmt::format("text_field: {}, ", quoted(*job.text_field));
  if (job.bos_token)
    text += fmt::format("{}: {}, ", job.is_chat ? "begin" : "bos_token", quoted(*job.bos_token));
  if (job.eos_token) text += fmt::format("eos_token: {}, ", quoted(*job.eos_token));
  text +=
      fmt::format("sequence_length: {}, shuffle: true,\n       epochs: as_needed", job.plan.sequence_length);
  if (job.plan.validation == 0) return text + "}  # read as often as the steps need it\n";
  return text +
         fmt::format(
             ", validation: {{fraction: {}}}}}  # read as often as the steps need it; some held out for "
             "`evaluation`\n",
             job.plan.validation);
}

std::string rest(const StarterJob& job) {
  const StartPlan& plan = job.plan;
  std::string text;
  if (job.model && job.model->mask_token_id)
    text +=
        fmt::format("task: {{name: masked_lm, mask_token_id: {}}}  # words that are left out of the text\n",
                    *job.model->mask_token_id);
  if (plan.validation > 0)
    text += fmt::format("evaluation: {{period_steps: {}, keep_best: true}}\n", plan.period);
  text += job.model ? fmt::format("optimizer: {{name: adamw, lr: {}, weight_decay: 0.0}}\n",
                                  trains_all(job) ? whole_learning_rate : plan.learning_rate)
                    : fmt::format(
                          "optimizer: {{name: adamw, lr: {}, betas: [0.9, 0.95], weight_decay: 0.1, rules: "
                          "[{{match: norms_and_biases, weight_decay: 0}}]}}\n",
                          plan.learning_rate);
  text += fmt::format("lr_scheduler: {{name: cosine, warmup_steps: {}, min_ratio: 0.1}}\n", plan.warmup);
  text += fmt::format("export_to: {}  # a Hugging Face folder, for transformers too\n",
                      quoted("runs/" + job.name + "/export"));
  if (job.model && job.model->trains == StarterModel::Trains::peft_adapters)
    text += fmt::format("export_adapter_to: {}  # the adapter alone, for peft\n",
                        quoted("runs/" + job.name + "/adapter"));
  if (plan.validation > 0) text += "export: best  # the checkpoint with the lowest evaluation loss\n";
  return text;
}

}  // namespace

std::string yaml_of(const StarterJob& job) {
  std::string text = head(job);
  if (job.plan.replicas > 1)
    text +=
        fmt::format("mesh: {{data_parallel_replicate: {}}}  # a replica for each core\n", job.plan.replicas);
  if (!job.plugins.empty())
    text += fmt::format("plugins: {}  # of the model's family\n", quoted(job.plugins));
  return text + trainer(job) + model(job) + data(job) + rest(job);
}

}  // namespace d9d
