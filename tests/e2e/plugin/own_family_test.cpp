// Jobs of a family and an adapter method that a plugin brings: those of examples/own_model, and such with faults.
#include <gmock/gmock.h>

#include <ATen/TensorOperators.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "runtime/state/disk/disk.hpp"
#include "runtime/state/model/model_files.hpp"
#include "tests/support/json_lines.hpp"
#include "tests/support/npy_file.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

const std::string example = D9D_BINARY_DIR "/tests/e2e/libd9d_own_model_plugin.so";
const std::string others = D9D_BINARY_DIR "/tests/e2e/libd9d_own_family_plugin.so";

Words four_layers(const std::string& family) {
  return set("plugins", "[" + example + ", " + others + "]") +
         set("model_provider",
             "{name: " + family +
                 ", model: {hidden_size: 32, num_hidden_layers: 4, num_attention_heads: 4, "
                 "num_key_value_heads: 2, head_dim: 8, intermediate_size: 48, vocab_size: 512}}");
}

Words with(const std::string& key, const std::string& value) {
  return set("model_provider." + key, value);
}

class OwnFamily : public testing::Test {
 protected:
  static Words mixture() {
    return four_layers("parallel_moe") + with("model.moe_intermediate_size", "24") +
           with("model.num_experts", "4") + with("model.branch_scale", "0.5") +
           set("trainer.schedule.total_steps", "6");
  }

  Outcome run(const std::string& name, const Words& words) {
    Outcome outcome = job_.run(named(name) + words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome;
  }
  std::string refused(const Words& words) {
    const Outcome outcome = job_.run(words);
    EXPECT_NE(outcome.code, 0);
    return outcome.err;
  }

  void expect_same_tensors(const std::string& one, const std::string& two) const {
    const PosixDisk disk;
    const ModelFiles first(disk, (job_.folder() / one).string()),
        second(disk, (job_.folder() / two).string());
    EXPECT_EQ(first.names(), second.names());
    for (const std::string& name : first.names())
      EXPECT_TRUE(first.read(name).equal(second.read(name))) << name;
  }

  TinyJob job_;
};

TEST_F(OwnFamily, IsTunedByTheJobFileThatInitWrites) {
  run("first", mixture() + set("export_to", "folder"));
  std::string text;
  for (int i = 0; i < 60; ++i) text += "Paragraph " + std::to_string(i) + " of a small text.\n\n";
  job_.folder().write("text.txt", text);
  ASSERT_EQ(
      job_.call({"tokenizer", "train", "text.txt", "--out", "folder/tokenizer.json", "--vocab-size", "300"})
          .code,
      0);
  const Words init{"init", "tuned", "--model", "folder", "--text", "text.txt"};
  EXPECT_THAT(job_.call(init).err, HasSubstr("parallel_moe"));

  ASSERT_THAT(job_.call(init + Words{"--plugin", example}),
              prints(AllOf(HasSubstr("plugins: [\"" + example + "\"]"), HasSubstr("name: parallel_moe"),
                           HasSubstr("kind: lora"), HasSubstr("export --plugin " + example))));
  ASSERT_THAT(job_.call({"tuned/job.yaml", "--set", "trainer.schedule.total_steps=2"}), ends_well());
  EXPECT_TRUE(std::filesystem::exists(job_.folder() / "runs/tuned/export/model.safetensors"));
}

TEST_F(OwnFamily, AFolderHasItsNamesAndComesBackBitForBit) {
  run("first", mixture() + experts_on(2) + mesh(2, 2) + set("export_to", "folder"));
  const auto config = nlohmann::json::parse(std::ifstream(job_.folder() / "folder" / "config.json"));
  EXPECT_EQ(config["model_type"], "parallel_moe");
  EXPECT_EQ(config["branch_scale"], 0.5);
  const PosixDisk disk;
  const auto names = ModelFiles(disk, (job_.folder() / "folder").string()).names();
  EXPECT_TRUE(names.contains("model.layers.1.ffn.experts.3.w3.weight"));
  EXPECT_TRUE(names.contains("model.layers.0.ffn.w1.weight"));

  const Words from =
      set("plugins", "[" + example + "]") + set("model_provider", "{name: parallel_moe, from: folder}") +
      set("trainer.model_stage_factory.source_checkpoint", "folder") + set("optimizer.lr", "1e-30") +
      set("optimizer.weight_decay", "0") + set("trainer.schedule.total_steps", "1");
  run("again", from + set("mesh.data_parallel_shard", "2") + set("export_to", "again"));

  expect_same_tensors("folder", "again");
  EXPECT_THAT(job_.call({"convert", "--from", "folder", "--to", "other", "--mapper", "hugging_face",
                         "--plugin", example}),
              ends_well());
}

TEST_F(OwnFamily, CheckpointingChangesNoBit) {
  run("plain", mixture());
  run("checkpointed", mixture() + with("enable_checkpointing", "true"));
  run("kept",
      mixture() + with("enable_checkpointing", "true") + with("checkpoint_keeps", "[attention, experts]"));

  EXPECT_EQ(job_.exact_curve("checkpointed"), job_.exact_curve("plain"));
  EXPECT_EQ(job_.exact_curve("kept"), job_.exact_curve("plain"));
}

// On devices that compute late and out of order, with an adapter method of its own, too.
TEST_F(OwnFamily, TrainsOnDevicesAsOnTheCpu) {
  const Words factors = with("peft", "{kind: ia3, module_name_pattern: '.*_proj|lm_head'}");
  for (const Words& more : {Words(), four_layers("small_l"), four_layers("small_l") + factors}) {
    run("cpu", mixture() + more);
    run("device", mixture() + more + set("node.device", "delayed"));
    const std::vector<double> cpu = job_.losses("cpu"), device = job_.losses("device");
    ASSERT_EQ(device.size(), cpu.size());
    for (std::size_t i = 0; i < cpu.size(); ++i) EXPECT_NEAR(device[i], cpu[i], 1e-4 * cpu[i]) << i;
    for (const char* run : {"cpu", "device"}) std::filesystem::remove_all(job_.run_folder(run));
  }
}

TEST_F(OwnFamily, GoesOnWithAnotherMesh) {
  const Words saving = mixture() + set("trainer.checkpointing.period_steps", "3");
  run("straight", saving);
  const std::vector<double> straight = job_.losses("straight");
  run("moved",
      saving + mesh(2, 1) + set("trainer.schedule.total_steps", "6") + set("mesh.tensor_parallel", "2"));
  std::filesystem::remove_all(job_.run_folder("moved") / "checkpoints" / "save-6");

  const Outcome outcome = run("moved", saving + set("mesh.data_parallel_shard", "2") + experts_on(2));

  EXPECT_THAT(outcome.err, HasSubstr("resuming from"));
  const std::vector<double> moved = job_.losses("moved");
  ASSERT_EQ(moved.size(), straight.size());
  for (std::size_t i = 0; i < moved.size(); ++i) EXPECT_NEAR(moved[i], straight[i], 1e-4 * straight[i]) << i;
}

TEST_F(OwnFamily, TakesAdaptersHeadsAndBfloat16) {
  run("source", mixture() + set("export_to", "source"));
  const Words from = mixture() + set("trainer.model_stage_factory.source_checkpoint", "source");
  run("lora", from + mesh(2, 1) + set("mesh.tensor_parallel", "2") + set("export_to", "merged") +
                  set("export_adapter_to", "adapter") +
                  with("peft", "{kind: lora, module_name_pattern: '.*_proj', params: {r: 2, alpha: 4}}"));
  const auto adapter =
      nlohmann::json::parse(std::ifstream(job_.folder() / "adapter" / "adapter_config.json"));
  EXPECT_THAT(adapter["target_modules"].dump(), HasSubstr("w1"));
  run("merged", mixture() + set("trainer.model_stage_factory.source_checkpoint", "merged"));

  run("bfloat16", mixture() + with("dtype", "bfloat16") + experts_on(2) + mesh(1, 2));
  run("classes", mixture() + with("head", "{kind: classification, num_labels: 512}") +
                     set("task", "{name: classification}"));
}

// A vector of each sample on any mesh, and losses of a folder without a job.
TEST_F(OwnFamily, InfersAndIsScoredByItsFolder) {
  run("source", mixture() + set("export_to", "source"));
  job_.folder().write("tokens.npy", npy_file(9, 16, [](int row, int column) {
                        return static_cast<std::int32_t>((row * 97 + column * 13 + row * column) % 512);
                      }));
  job_.folder().write("infer.yaml",
                      "inference:\n  run: {name: inferred}\n"
                      "  batching: {global_batch_size: 4, microbatch_size: 2}\n"
                      "  model_stage_factory: {source_checkpoint: source}\n"
                      "model_provider: {name: parallel_moe, from: source, head: {kind: embedding}}\n"
                      "task: {name: embedding}\ndata: {source: tokens, tokens: tokens.npy}\n"
                      "node: {threads_per_rank: 1, heartbeat_ms: 10000}\n"
                      "plugins: [" +
                          example + "]\n");
  const auto vectors_on = [&](const std::string& name, const Words& words) {
    EXPECT_THAT(job_.call(Words{"infer.yaml"} + set("inference.run.name", name) + words), ends_well());
    std::map<int, std::vector<double>> vectors;
    for (const nlohmann::json& row : json_lines_in(job_.run_folder(name) / "results"))
      vectors[row.at("sample")] = row.at("embedding").get<std::vector<double>>();
    return vectors;
  };
  const auto alone = vectors_on("one", {});
  const auto shared = vectors_on("two", matrices_on(2));
  ASSERT_EQ(alone.size(), 9U);
  ASSERT_EQ(shared.size(), 9U);
  for (const auto& [sample, vector] : alone) {
    ASSERT_EQ(vector.size(), 32U);
    for (std::size_t i = 0; i < vector.size(); ++i)
      EXPECT_NEAR(shared.at(sample)[i], vector[i], 1e-4) << sample;
  }

  const Words scores{"score", "source", "--tokens", "tokens.npy", "--out", "scores.safetensors"};
  EXPECT_THAT(job_.call(scores + Words{"--plugin", example}), ends_well());
  EXPECT_THAT(job_.call(scores).err, HasSubstr("model_type is 'parallel_moe', expected one of"));
  EXPECT_THAT(job_.call(scores + Words{"--plugin", "libm.so.6"}).err,
              HasSubstr("has no `d9d_register_models"));
}

// Each process of a job registers the family for itself (vllm-project/vllm pull request 9233 had to), and a checkpoint
// becomes a folder later (NVIDIA-NeMo/RL pull request 3919).
TEST_F(OwnFamily, IsKnownInEveryProcessAndToTheExportOfACheckpoint) {
  run("alone", mixture());
  const auto [first, second] = job_.start_two(2, mixture() + named("two") + experts_on(2) + mesh(1, 2));
  EXPECT_EQ(first->wait(), 0) << first->err();
  EXPECT_EQ(second->wait(), 0) << second->err();
  const std::vector<double> alone = job_.losses("alone"), two = job_.losses("two");
  ASSERT_EQ(two.size(), alone.size());
  for (std::size_t i = 0; i < two.size(); ++i) EXPECT_NEAR(two[i], alone[i], 1e-4 * alone[i]) << i;

  EXPECT_THAT(job_.call({"export", "runs/two/checkpoints", "later"}), ends_well());
  const PosixDisk disk;
  EXPECT_TRUE(ModelFiles(disk, (job_.folder() / "later").string())
                  .names()
                  .contains("model.layers.3.ffn.experts.0.w2.weight"));
}

// What the adapters compute is what the merged folder computes; ranks of every kind train them alike.
TEST_F(OwnFamily, AnAdapterMethodOfItsOwnIsTrainedAndMerged) {
  const std::string ia3 = "{kind: ia3, module_name_pattern: '.*(k|v|o)_proj|.*\\.gate|lm_head'}";
  run("source", mixture() + set("export_to", "source"));
  const Words tuned = mixture() + set("trainer.model_stage_factory.source_checkpoint", "source") +
                      with("peft", ia3) + set("optimizer.lr", "0.05") +
                      set("trainer.model_stage_factory.checkpoint_only_trainable_parameters", "true");
  run("alone", tuned + set("export_to", "merged"));
  const std::vector<double> alone = job_.losses("alone");
  const PosixDisk disk;
  const ModelFiles before(disk, (job_.folder() / "source").string()),
      after(disk, (job_.folder() / "merged").string());
  EXPECT_EQ(before.names(), after.names());
  for (const std::string& name : before.names()) {
    const bool has_factors =
        name.find("w1") == std::string::npos && name.find("q_proj") == std::string::npos &&
        name.find("w2") == std::string::npos && name.find("w3") == std::string::npos &&
        name.find("norm") == std::string::npos && name.find("embed") == std::string::npos;
    EXPECT_EQ(before.read(name).equal(after.read(name)), !has_factors) << name;
  }
  int number = 0;
  for (const char* axis : {"pipeline_parallel", "data_parallel_replicate", "data_parallel_shard",
                           "tensor_parallel", "context_parallel_shard"}) {
    const std::string name = "on" + std::to_string(++number);
    run(name, tuned + set(std::string("mesh.") + axis, "2"));
    const std::vector<double> got = job_.losses(name);
    ASSERT_EQ(got.size(), alone.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], alone[i], 1e-4 * alone[i]) << axis << " " << i;
  }

  const Words one_step = set("trainer.schedule.total_steps", "7");
  run("alone", tuned + one_step);
  const double next = job_.losses("alone").at(6);
  run("other", mixture() + set("trainer.model_stage_factory.source_checkpoint", "merged") +
                   set("trainer.schedule.total_steps", "7") + set("optimizer.lr", "1e-30") +
                   set("optimizer.weight_decay", "0"));
  EXPECT_NEAR(job_.losses("other").at(6), next, 1e-5 * next) << "the seventh batch by the merged weights";
}

TEST_F(OwnFamily, AnAdapterMethodAdaptsBuiltInFamilies) {
  const Words qwen =
      set("plugins", "[" + example + "]") + set("trainer.schedule.total_steps", "6") +
      with("peft",
           "{kind: stack, methods: [{kind: ia3, module_name_pattern: '.*k_proj'}, {kind: lora, "
           "module_name_pattern: '.*q_proj', params: {r: 2, alpha: 2}}]}");
  run("qwen", qwen + set("export_to", "merged"));

  const std::vector<double> losses = job_.losses("qwen");
  EXPECT_EQ(losses.size(), 6U);
  EXPECT_TRUE(std::filesystem::exists(job_.folder() / "merged" / "config.json"));
}

// As MemoryOfDevices.IsToldByPoolBesideWhatCheckEstimates of the built-in families; the activations are in
// OwnDecoderParity.TheEstimateIsWhatForwardKeeps.
TEST_F(OwnFamily, TakesTheMemoryThatCheckEstimates) {
  const Outcome outcome = run(
      "big", mixture() + with("model.hidden_size", "256") + with("model.head_dim", "64") +
                 with("model.moe_intermediate_size", "1024") + mesh(2, 1) + set("node.device", "delayed"));
  const auto at = outcome.err.find("delayed:0 (rank 0) took");
  ASSERT_NE(at, std::string::npos) << outcome.err;
  const std::string line = outcome.err.substr(at);
  const auto number_behind = [&](const std::string& words) {
    std::smatch found;
    EXPECT_TRUE(std::regex_search(line, found, std::regex(words + " ([0-9.]+) MiB")))
        << words << ": " << line;
    return found.empty() ? 0 : std::stod(found[1]);
  };

  const double estimate = number_behind("check estimates");
  EXPECT_GT(estimate, 20);
  EXPECT_NEAR(number_behind("at most: state"), estimate, 0.1 * estimate);
}

TEST_F(OwnFamily, HearsOfItsLiveStagesByName) {
  const Outcome outcome =
      run("heard", four_layers("small_l") + mesh(2, 1) + set("mesh.data_parallel_shard", "2") +
                       set("trainer.schedule.total_steps", "2"));

  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("heard: rank 3 of 4 registers"),
                    HasSubstr("rank 0 stage 0 of 2 has 19 parameters, the first model.embed_tokens.weight"),
                    HasSubstr("rank 2 stage 1 of 2 has 20 parameters, the first "
                              "model.layers.2.input_layernorm.weight")));
  const auto value = [&](int step) {
    const std::string words = "rank 2 step " + std::to_string(step) + " lm_head.weight sums to ";
    const auto at = outcome.err.find(words);
    EXPECT_NE(at, std::string::npos) << outcome.err;
    return outcome.err.substr(at + words.size(), 8);
  };
  EXPECT_NE(value(1), value(2)) << "the live parameter moves";
}

TEST_F(OwnFamily, WhatIsWrongWithOneIsASentence) {
  EXPECT_THAT(
      refused(four_layers("small_f")),
      AllOf(HasSubstr("the family \"small_f\": layer 0 of the family has no attention or no feed-forward"),
            HasSubstr("make_feed_forward")));
  EXPECT_THAT(refused(four_layers("small_c")),
              AllOf(HasSubstr("the family \"small_c\": layer(0) counts"), HasSubstr("add up the costs")));
  EXPECT_THAT(refused(four_layers("small_o") + set("mesh.context_parallel_shard", "2")),
              HasSubstr("small_o cannot share a sequence between 2 ranks"));
  EXPECT_THAT(refused(four_layers("parallel_moe") + with("model.moe_intermediate_size", "24") +
                      experts_on(3) + mesh(1, 3)),
              HasSubstr("expert_parallel"));
  EXPECT_THAT(refused(four_layers("parallel_mo")),
              AllOf(HasSubstr("no model is called \"parallel_mo\""), HasSubstr("parallel_moe")));
  EXPECT_THAT(refused(mixture() + with("model.branch_scal", "1")),
              HasSubstr("did you mean \"branch_scale\"?"));
  EXPECT_THAT(refused(mixture() + with("peft", "{kind: ia4, module_name_pattern: '.*'}")),
              HasSubstr("no method is called \"ia4\"; did you mean \"ia3\"?"));
  EXPECT_THAT(refused(mixture() + with("peft", "{kind: ia3, module_name_pattern: 'nothing'}")),
              HasSubstr("ia3 changes no module of the model"));
  EXPECT_THAT(refused(mixture() + with("peft", "{kind: ia3}")), HasSubstr("module_name_pattern"));
  EXPECT_THAT(refused(mixture() + with("peft", "{kind: ia3, module_name_pattern: '.*k_proj'}") +
                      set("export_adapter_to", "adapter")),
              AllOf(HasSubstr("export_adapter_to"), HasSubstr("\"ia3\" of a plugin")));
  EXPECT_THAT(
      refused(mixture() + with("peft", "{kind: unmergeable}") + set("export_to", "merged")),
      AllOf(HasSubstr("export_to"), HasSubstr("o_proj.weight: its adapter method has no merged form")));
}

// The same for d9d's own modules and for those of plugins.
TEST_F(OwnFamily, AParameterThatTheLayerForgetsToUseIsTold) {
  const Words words = four_layers("small_u") + set("trainer.schedule.total_steps", "2");
  for (const Words& on : {Words(), set("mesh.data_parallel_shard", "2"), mesh(2, 1)}) {
    const Outcome outcome = run("spare", words + on);
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("got no gradient in the first step and cannot train"),
                                   HasSubstr("model.layers.0.spare.weight")));
    std::filesystem::remove_all(job_.run_folder("spare"));
  }
}

TEST_F(OwnFamily, WhatItsLayerThrowsIsToldWithItsName) {
  EXPECT_THAT(refused(four_layers("small_t")),
              AllOf(HasSubstr("the model \"small_t\" threw"), HasSubstr("this layer is unwell")));
}

TEST_F(OwnFamily, TwoOfOneNameAreRefused) {
  const auto process = job_.start(mixture(), {{"D9D_TEST_TWICE", "1"}});

  EXPECT_NE(process->wait(), 0);
  EXPECT_THAT(process->err(),
              AllOf(HasSubstr("plugins.1: the plugin"), HasSubstr("registers the family \"parallel_moe\""),
                    HasSubstr("own_model_plugin.so has already"), HasSubstr("another name")));
}

TEST_F(OwnFamily, AFolderOfOneIsReadWithItsPluginOnly) {
  run("first", mixture() + set("export_to", "folder"));

  EXPECT_THAT(refused(set("model_provider", "{name: qwen3_moe, from: folder}")),
              HasSubstr("is a model of type \"parallel_moe\""));
  EXPECT_THAT(refused(set("model_provider", "{name: parallel_moe, from: folder}")),
              AllOf(HasSubstr("\"parallel_moe\" is not known"), HasSubstr("`plugins`")));
}

}  // namespace
}  // namespace d9d::test
