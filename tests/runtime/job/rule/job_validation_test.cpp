#include "runtime/job/rule/job_validation.hpp"

#include <gmock/gmock.h>

#include "runtime/job/rule/optimizer_rules.hpp"
#include "tests/runtime/job/job_text.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using testing_job::error_of;
using testing_job::load;

struct Bad {
  std::vector<std::string> overrides;
  std::vector<const char*> parts;
};

void expect_refused(const std::vector<Bad>& table) {
  for (const Bad& bad : table) {
    const std::string text = error_of(bad.overrides);
    EXPECT_THAT(text, StartsWith("input error ")) << bad.overrides[0];
    for (const char* part : bad.parts) EXPECT_THAT(text, HasSubstr(part)) << bad.overrides[0];
  }
}

TEST(JobValidation, RefusesKeysThatDoNotFitEachOther) {
  expect_refused({
      {{"mesh.expert_parallel=3"}, {"mesh: mesh.expert_parallel = 3 does not divide", "choose one of 1, 2"}},
      {{"mesh.expert_parallel=2", "model_provider.model.num_experts=5"},
       {"mesh.expert_parallel: 2 does not divide the model's 5 experts", "a divisor"}},
      {{"mesh.expert_parallel=2",
        "model_provider={name: qwen3, model: {hidden_size: 64, num_hidden_layers: 4, num_attention_heads: 4, "
        "num_key_value_heads: 2, head_dim: 16, intermediate_size: 96, vocab_size: 512}}"},
       {"mesh.expert_parallel: 2, and the model has no experts", "set it to 1"}},
      {{"mesh.context_parallel_shard=3"},
       {"data.sequence_length: ",
        "3 context-parallel ranks: not divisible by 6 (zigzag: two chunks a rank)"}},
      {{"mesh.context_parallel_shard=3", "data.sequence_length=4", "parallelism.context.order=contiguous"},
       {"data.sequence_length: 4 tokens", "not divisible by 3;", "give 3 or 6"}},
      {{"mesh.context_parallel_replicate=2", "data.sequence_length=3"}, {"give 4"}},
      {{"mesh.context_parallel_shard=8", "parallelism.context.attention=ulysses"},
       {"parallelism.context.attention: ulysses cannot share 4 attention heads over 8", "choose ring"}},
      {{"parallelism.context.attention=rings"}, {"parallelism.context.attention", "ring"}},
      {{"mesh.pipeline_parallel=0"}, {"0 is out of range", ">= 1"}},
      {{"node.ranks=3"},
       {"node.ranks: 3 ranks a node do not divide the 4 of the mesh", "set node.ranks to 4"}},
      {{"node.ranks=8"}, {"node.ranks: 8 ranks, but the mesh has only 4"}},
      {{"trainer.batching.global_batch_size=6"},
       {"trainer.batching.global_batch_size: 6 is not divisible by data replicas (2) x microbatch_size (2)",
        "give 4 or 8"}},
      {{"trainer.batching.global_batch_size=2"}, {"give 4"}},
      {{"trainer.pipelining.schedule=dual_pipe_v"}, {"dual_pipe_v needs at least 2 x pipeline_parallel (2)"}},
      {{"trainer.pipelining.schedule=inference"}, {"cannot train", "choose gpipe or 1f1b"}},
      {{"trainer.pipelining.extra_activations=2"},
       {"trainer.pipelining.extra_activations: a static order never holds more", "choose order: dynamic"}},
      {{"mesh.pipeline_parallel=5"}, {"mesh.pipeline_parallel: 5 stages over 4 layers"}},
      {{"mesh.tensor_parallel=4", "model_provider.model.mlp_only_layers=[1]",
        "model_provider.model.intermediate_size=3"},
       {"mesh: tensor_parallel is 4, but the model's intermediate_size is 3", "fewer ranks"}},
      {{"trainer.profiling={period_steps: 3, active_steps: 4}"},
       {"trainer.profiling.period_steps: 3 is shorter than active_steps (4)", "at least 4"}},
      {{"trainer.schedule.total_steps=null"},
       {"trainer.schedule.total_steps: missing, and synthetic data never ends"}},
      {{"model_provider.model.max_position_embeddings=16"},
       {"data.sequence_length: 32 tokens, but the model has positions for 16 (max_position_embeddings);",
        "give at most 16, or raise model_provider.model.max_position_embeddings"}},
      {{"model_provider.model.max_position_embeddings=8",
        "model_provider.model.rope_scaling={rope_type: linear, factor: 3.0}"},
       {"positions for 24 (max_position_embeddings and RoPE scaling)"}},
      {{"data.vocab_size=1024"}, {"data.vocab_size: 1024 tokens, but the model's vocabulary has 512"}},
      {{"trainer.run.name=a/b"}, {"\"a/b\" cannot be the name of a folder"}},
      {{"trainer.run.name=\"a\\u0000b\""}, {"\"a\\u0000b\" cannot be the name of a folder"}},
      {{"trainer.run.name=" + std::string(256, 'x')}, {"cannot be the name of a folder"}},
      {{"node.listen=29500"}, {"\"29500\" is not HOST:PORT"}},
      {{"node.listen=0.0.0.0:29500"},
       {"can be reached from other hosts and there is no TLS", "node.insecure"}},
      {{"node.status=0.0.0.0:8080"},
       {"node.status: 0.0.0.0:8080 can be reached from other hosts and nothing protects it",
        "node.insecure"}},
      {{"node.status=[::]:0"}, {"node.status: [::]:0 can be reached from other hosts"}},
      {{"node.status=8080"}, {"node.status: \"8080\" is not HOST:PORT"}},
      {{"node.listen=::1:29500"}, {"\"::1:29500\" is not HOST:PORT", "[fd00::1]:29500"}},
      {{"node.advertise=host:70000"}, {"node.advertise: \"host:70000\" is not HOST or HOST:PORT"}},
      {{"task.name=causal_lmm"},
       {"task.name: \"causal_lmm\" is not known; did you mean \"causal_lm\"?", "`plugins`"}},
      {{"optimizer.name=adamv"}, {"optimizer.name: \"adamv\" is not known", "adamw"}},
      {{"lr_scheduler={name: piecewise, scheduler: {initial_multiplier: 1, phases: []}}"},
       {"lr_scheduler: a learning-rate schedule without phases"}},
      {{"lr_scheduler={name: cosine, warmup_steps: 2, warmup_ratio: 0.1}"},
       {"lr_scheduler: warmup_steps and warmup_ratio say the same; give one of them"}},
  });
}

TEST(JobValidation, WarnsOfAScheduleThatATrialCuts) {
  const auto warnings = [](const std::string& steps) {
    return load({"lr_scheduler={name: cosine, warmup_steps: 20}", "trainer.schedule.total_steps=" + steps})
        .warnings;
  };

  EXPECT_THAT(warnings("20"), IsEmpty());
  EXPECT_THAT(
      warnings("19"),
      ElementsAre(
          AllOf(HasSubstr("lr_scheduler: phase 0 of the learning rate ends at step 20, beyond the 19 steps"),
                HasSubstr("right for a trial"))));
}

// One word for what every family calls otherwise; a model that trains none of them is no mistake.
TEST(JobValidation, TakesNormsAndBiasesByOneWord) {
  const std::string rules = "rules: [{match: norms_and_biases, weight_decay: 0}]";
  const LoadedJob loaded = load({"optimizer={name: adamw, lr: 1, weight_decay: 0.1, " + rules + "}"});

  const auto groups = optimizer_groups(loaded.job, *loaded.model);

  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].settings.weight_decay, 0.1);
  EXPECT_EQ(groups[1].settings.weight_decay, 0);
  EXPECT_EQ(groups[1].tensors,
            4 * 4 + 1);  // of 4 layers: two norms of the stream, of queries, of keys; and the last
  EXPECT_TRUE(rule_issues({{.match = "norms_and_biases", .weight_decay = 0}}, {"head.weight"}).empty());
}

TEST(JobValidation, RefusesRulesThatNoParameterFollows) {
  expect_refused({
      {{"optimizer={name: adamw, lr: 1, rules: [{match: '*nrom*', weight_decay: 0}]}"},
       {"optimizer.rules.0.match: \"*nrom*\" matches no parameter of the model",
        "model.embed_tokens.weight"}},
      {{"optimizer={name: sgd, lr: 1, rules: [{match: 'model.norm.wieght', weight_decay: 0}]}"},
       {"did you mean \"model.norm.weight\"?"}},
      {{"optimizer={name: adam, lr: 1, rules: [{match: '*'}, {match: 'model.norm.*'}]}"},
       {"optimizer.rules.1.match: \"model.norm.*\" matches 1 parameter, but rules before it match the "
        "same"}},
      {{"optimizer={name: adamw, lr: 1, rules: [{match: '*', weight_decay: -1}]}"},
       {"optimizer.rules.0.weight_decay: -1 is out of range"}},
      {{"optimizer={name: adamw, lr: 1, rules: [{weight_decay: 0}]}"}, {"optimizer.rules.0.match: missing"}},
      {{"optimizer={name: stochastic_adamw, lr: 1, state_dtype: float16}", "model_provider.dtype=bfloat16"},
       {"optimizer.state_dtype: float16 is not supported yet"}},
  });
}

TEST(JobValidation, RefusesAPeakThatNoDeviceHas) {
  expect_refused({
      {{"trainer.logging={period_steps: 1, peak_flops: 312}"},
       {"trainer.logging.peak_flops: 312 FLOP/s of a device", "give FLOP/s: 312e12 for 312 TFLOP/s"}},
      {{"trainer.logging={period_steps: 1, peak_flops: 1.0e+12, measure_peak: true}"},
       {"trainer.logging.measure_peak: the peak is given (peak_flops) and to be measured"}},
  });
}

TEST(JobValidation, RefusesWhatTheDeviceCannotDo) {
  expect_refused({
      {{"model_provider.offload_layers=2"},
       {"model_provider.offload_layers: of node.device: cpu activations are in the memory of the host "
        "already",
        "leave it out, or set model_provider.enable_checkpointing"}},
      {{"node.device=delayed", "mesh.data_parallel_replicate=16"},
       {"mesh: more than eight ranks on a delayed device is not supported yet", "choose node.device: cpu"}},
  });
}

TEST(JobValidation, WarnsWhereUpdatesOfBfloat16WeightsAreLost) {
  const auto warnings = [](const std::string& dtype, const std::string& optimizer) {
    return load({"model_provider.dtype=" + dtype, "optimizer={lr: 1, name: " + optimizer + "}"}).warnings;
  };

  EXPECT_THAT(warnings("bfloat16", "adamw, master_weights: false"),
              ElementsAre(AllOf(HasSubstr("optimizer.master_weights: false, so each update"),
                                HasSubstr("choose stochastic_adamw"))));
  EXPECT_THAT(warnings("bfloat16", "sgd"), IsEmpty());
  EXPECT_THAT(warnings("bfloat16", "stochastic_adamw, state_dtype: bfloat16"), IsEmpty());
  EXPECT_THAT(warnings("float32", "adam"), IsEmpty());
  EXPECT_THAT(warnings("float32", "adamw, master_weights: false"),
              ElementsAre(HasSubstr("optimizer.master_weights: has no effect: the parameters are float32")));
}

// One probability divided by its own sum is 1, whatever the router says.
TEST(JobValidation, WarnsOfRoutersThatNoGradientReaches) {
  const auto warnings = [](const std::string& experts, const std::string& norm) {
    const std::string model = "model_provider.model.";
    return load({model + "num_experts_per_tok=" + experts, model + "norm_topk_prob=" + norm}).warnings;
  };

  EXPECT_THAT(warnings("1", "true"), ElementsAre(AllOf(HasSubstr("num_experts_per_tok: 1, and"),
                                                       HasSubstr("norm_topk_prob: false"))));
  EXPECT_THAT(warnings("1", "false"), IsEmpty());
  EXPECT_THAT(warnings("2", "true"), IsEmpty());
  EXPECT_THAT(load({"model_provider.model.num_experts_per_tok=1", "model_provider.model.norm_topk_prob=true",
                    "model_provider.peft={kind: freeze, module_name_pattern: '.*gate'}"})
                  .warnings,
              IsEmpty());
}

TEST(JobValidation, AcceptsWhatFits) {
  EXPECT_NO_THROW(load({"node.ranks=2"}));
  EXPECT_NO_THROW(load({"node.listen=127.0.0.1:0"}));
  EXPECT_NO_THROW(load({"node.listen=0.0.0.0:29500", "node.insecure=true"}));
  EXPECT_NO_THROW(load({"node.listen='[::1]:29500'"}));  // in YAML a bracket begins a list
  EXPECT_NO_THROW(load({"node.advertise=fd00::1"}));
  EXPECT_NO_THROW(load({"node.advertise=host"}));
  EXPECT_NO_THROW(load({"mesh.pipeline_parallel=4"}));
  EXPECT_NO_THROW(load({"trainer.batching.global_batch_size=20"}));  // 1f1b with 5 microbatches on 2 ranks
  EXPECT_NO_THROW(load({"mesh.expert_parallel=2"}));
  EXPECT_NO_THROW(load({"mesh.context_parallel_shard=2", "mesh.context_parallel_replicate=2"}));
  EXPECT_NO_THROW(load({"mesh.context_parallel_shard=2", "parallelism.context={attention: ulysses}"}));
  EXPECT_NO_THROW(load({"mesh.tensor_parallel=2"}));
  EXPECT_NO_THROW(load({"model_provider.model.max_position_embeddings=8",
                        "model_provider.model.rope_scaling={rope_type: linear, factor: 4.0}"}));
  EXPECT_NO_THROW(load({"trainer.pipelining.order=dynamic"}));
  EXPECT_NO_THROW(load({"optimizer={name: sgd, lr: 1, nesterov: true, momentum: 0.9}"}));
  EXPECT_NO_THROW(load({"task={name: mine, size: 3}", "plugins=[libmine.so]"}));
  EXPECT_NO_THROW(load({"optimizer={name: mine}", "lr_scheduler={name: mine}", "plugins=[libmine.so]"}));
}

TEST(JobValidation, RefusesByNameWhatIsNotThereYet) {
  expect_refused({
      {{"optimizer={name: stochastic_adamw, lr: 1, state_dtype: float32}"},
       {"optimizer.name: stochastic_adamw is for bfloat16 parameters", "choose adamw"}},
  });
}

TEST(JobValidation, WarnsOfKeysThatOtherKeysLeaveWithoutEffect) {
  const auto warnings = [](const std::string& data) {
    return load({"data={tokenizer: t.json, files: [a], sequence_length: 4, " + data + "}"}).warnings;
  };

  EXPECT_THAT(warnings("source: text, format: jsonl, document: paragraph"),
              ElementsAre(HasSubstr("data.document: has no effect: a line of a jsonl file is a document")));
  EXPECT_THAT(warnings("source: text, format: text, text_field: body"),
              ElementsAre(HasSubstr("data.text_field: has no effect: the files are plain text")));
  EXPECT_THAT(warnings("source: text, seed: 3"), ElementsAre(HasSubstr("set shuffle: true")));
  EXPECT_THAT(warnings("source: text, format: jsonl, text_field: body, shuffle: true, seed: 3"), IsEmpty());
  EXPECT_THAT(warnings("source: text, document: line"), IsEmpty());
  EXPECT_THAT(warnings("source: text, seed: 3, order: {sorted: {buffer_size: 8, pack_size: 2}}"), IsEmpty());
  EXPECT_THAT(warnings("source: text, seed: 3, order: {shards: {count: 2}}"),
              ElementsAre(HasSubstr("set shuffle: true or order.sorted")));
}

// Reference PIPE-14.
TEST(JobValidation, WarnsOfAnOverlapWithoutEffect) {
  const auto warnings = [](const std::string& overlap, std::vector<std::string> more) {
    more.push_back("trainer.pipelining.overlap=" + overlap);
    return load(more).warnings;
  };
  const std::vector<std::string> composed{"trainer.pipelining.schedule=dual_pipe_v",
                                          "trainer.batching.microbatch_size=1"};
  std::vector<std::string> waited = composed;
  waited.insert(waited.end(), {"node.device=delayed", "debug.synchronous_device=true"});

  EXPECT_THAT(
      warnings("always", {}),
      ElementsAre(AllOf(HasSubstr("trainer.pipelining.overlap: has no effect: schedule 1f1b composes no"),
                        HasSubstr("choose dual_pipe_v"))));
  EXPECT_THAT(warnings("always", waited), ElementsAre(HasSubstr("(debug.synchronous_device)")));
  EXPECT_THAT(warnings("never", waited), IsEmpty());
  EXPECT_THAT(warnings("always", composed), IsEmpty());
  std::vector<std::string> on_gpus = composed;
  on_gpus.push_back("node.device=cuda");
  EXPECT_THAT(warnings("always", on_gpus), ElementsAre(HasSubstr("no GPU has run two compute streams yet")));
  EXPECT_THAT(warnings("auto", on_gpus), IsEmpty());
  EXPECT_EQ(load(composed).job.trainer.pipelining.overlap, Overlap::auto_);
  EXPECT_THAT(error_of({"trainer.pipelining.overlap=on"}), HasSubstr("always"));
}

TEST(JobValidation, WarnsOfKeysOfWhatTheJobDoesNotDo) {
  const auto warnings = [](const std::vector<std::string>& keys) { return load(keys).warnings; };
  const std::string never = "trainer.checkpointing.period_steps=disable";

  EXPECT_THAT(
      warnings({never, "trainer.checkpointing.num_to_keep=3"}),
      ElementsAre(HasSubstr("trainer.checkpointing.num_to_keep: has no effect: no checkpoints are written")));
  EXPECT_THAT(warnings({"trainer.timeout.checkpoint_timeout=9", "trainer.timeout.export_timeout=9"}),
              ElementsAre(HasSubstr("checkpoint_timeout: has no effect"),
                          HasSubstr("export_timeout: has no effect")));
  EXPECT_THAT(warnings({"trainer.checkpointing={period_steps: 5, num_to_keep: 3}", "export_to=out",
                        "trainer.timeout.checkpoint_timeout=9", "trainer.timeout.export_timeout=9"}),
              IsEmpty());
  EXPECT_THAT(
      warnings({"trainer.model_stage_factory.checkpoint_only_trainable_parameters=true"}),
      ElementsAre(HasSubstr("checkpoint_only_trainable_parameters: has no effect: all parameters train")));
  EXPECT_THAT(warnings({"model_provider.checkpoint_keeps=[attention]"}),
              ElementsAre(HasSubstr("checkpoint_keeps: has no effect: no layer is computed again")));
  EXPECT_THAT(warnings({"model_provider.checkpoint_keeps=[attention, linear]",
                        "model_provider.enable_checkpointing=true"}),
              IsEmpty());
  EXPECT_THAT(warnings({"optimizer={name: sgd, lr: 1, dampening: 0.5}"}),
              ElementsAre(HasSubstr("optimizer.dampening: has no effect: there is no momentum")));
  EXPECT_THAT(warnings({"optimizer={name: sgd, lr: 1, dampening: 0.5, momentum: 0.9}"}), IsEmpty());
  EXPECT_THAT(warnings({"plugins=[libmine.so]"}), ElementsAre(HasSubstr("plugins: has no effect: neither")));
  for (const char* piece :
       {"task=mine", "collation={name: mine}", "trainer.pipelining.schedule={schedule: mine}",
        "trainer.logging={period_steps: 1, tracker: [{provider: mine}]}", "gradient_hooks=[{name: mine}]"})
    EXPECT_THAT(warnings({"plugins=[libmine.so]", piece}), IsEmpty()) << piece;
  EXPECT_THAT(warnings({"plugins=[libmine.so]", "model_provider={name: mine}",
                        "trainer.pipelining.layer_split=costs"}),
              ElementsAre(HasSubstr("trainer.pipelining.layer_split: has no effect: a plugin's model")));
}

TEST(JobValidation, WarnsOfABalanceLossThatDoesNotCount) {
  const auto warnings = [](const std::vector<std::string>& keys) { return load(keys).warnings; };

  EXPECT_THAT(warnings({"model_provider.model.router_aux_loss_coef=0.01"}),
              ElementsAre(HasSubstr("router_aux_loss_coef: has no effect: without output_router_logits")));
  EXPECT_THAT(warnings({"model_provider.model.router_aux_loss_coef=0.01",
                        "model_provider.model.output_router_logits=false"}),
              ElementsAre(HasSubstr("set output_router_logits: true")));
  EXPECT_THAT(warnings({"model_provider.model.router_aux_loss_coef=0.01",
                        "model_provider.model.output_router_logits=true"}),
              IsEmpty());
}

TEST(JobValidation, CollectsEverythingThatDoesNotFit) {
  const std::string text =
      error_of({"trainer.batching.global_batch_size=6", "node.ranks=3", "data.vocab_size=1024"});

  EXPECT_THAT(text,
              AllOf(HasSubstr("global_batch_size"), HasSubstr("node.ranks"), HasSubstr("data.vocab_size")));
}

TEST(JobValidation, RefusesFoldersWithoutAName) {
  for (const char* key : {"export_to", "export_adapter_to", "output_dir"})
    EXPECT_THAT(error_of({std::string(key) + "=''"}),
                HasSubstr(std::string(key) + ": \"\", which names no folder"));
}

}  // namespace
}  // namespace d9d
