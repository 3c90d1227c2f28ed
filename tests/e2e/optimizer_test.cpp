// Masters of bfloat16 weights and rules for single parameters, as a job file asks for them.
#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/curve_test.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;

// Steps so small that bfloat16 weights alone would stand still.
Words half(const std::string& more = "") {
  return set("model_provider.dtype", "bfloat16") + set("trainer.gradient_manager.grad_dtype", "float32") +
         set("optimizer", "{name: sgd, lr: 0.001, momentum: 0.9" + more + "}");
}

class OptimizerOfAJob : public CurveTest {
 protected:
  nlohmann::json check(const Words& words) {
    const Outcome outcome = job_.call(Words{"check", "job.yaml", "--json"} + words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out);
  }
  // Whether a tensor of that kind is in the checkpoint after 10 steps.
  bool has_kind(const std::string& run, const std::string& kind) const {
    const std::string text = text_of_file(job_.run_folder(run) / "checkpoints/save-10/manifest.json");
    EXPECT_THAT(text, HasSubstr("\"param\""));
    return text.find("\"" + kind + "\"") != std::string::npos;
  }
};

TEST_F(OptimizerOfAJob, ResumesMastersToTheBitAndOnAnotherMesh) {
  const Words shards = set("mesh.data_parallel_shard", "2");
  run(named("through") + half());

  run_in_halves("halves", half(), half());
  EXPECT_EQ(job_.losses("halves"), job_.losses("through"));

  run_in_halves("meshes", half() + mesh(2, 1) + shards, half());
  const auto meshes = job_.losses("meshes");
  for (std::size_t i = 0; i < meshes.size(); ++i)
    EXPECT_NEAR(meshes[i], job_.losses("through").at(i), 5e-3 * meshes[i]) << "at step " << i + 1;
  EXPECT_TRUE(has_kind("meshes", "master_weight"));
}

TEST_F(OptimizerOfAJob, LearnsByMastersWhatBfloat16WeightsLose) {
  run(named("masters") + half());

  const Outcome outcome = job_.run(named("rounded") + half(", master_weights: false"));

  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string warning =
      "optimizer.master_weights: false, so each update of the bfloat16 parameters is rounded";
  const std::size_t first = outcome.err.find(warning);
  ASSERT_NE(first, std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find(warning, first + 1), std::string::npos) << "once is enough";
  EXPECT_FALSE(has_kind("rounded", "master_weight"));
  EXPECT_NE(job_.losses("masters"), job_.losses("rounded"));
}

TEST_F(OptimizerOfAJob, GoesOnFromACheckpointThatHasNoMasters) {
  run_in_halves("older", half(", master_weights: false"), half());

  EXPECT_EQ(job_.losses("older").size(), 20U);
}

TEST_F(OptimizerOfAJob, CountsMastersInItsMemory) {
  const auto bytes = [&](const Words& words) {
    return check(words)["memory"][0]["optimizer_bytes"].get<std::int64_t>();
  };
  const std::int64_t elements = check({})["parameters"].get<std::int64_t>();

  EXPECT_EQ(bytes(half()), 8 * elements);  // velocity and master
  EXPECT_EQ(bytes(half(", master_weights: false")), 4 * elements);
  EXPECT_THAT(job_.call(Words{"check", "job.yaml"} + half()).out,
              HasSubstr("optimizer sgd, with float32 master weights of the bfloat16 parameters\n"));
}

TEST_F(OptimizerOfAJob, FollowsRulesByTheNamesOfParameters) {
  const auto optimizer = [](const std::string& rules) {
    return set("optimizer", "{name: adamw, lr: 0.003, weight_decay: 0.1, rules: [" + rules + "]}");
  };
  const std::string norms = "{match: '*norm*', weight_decay: 0}";
  const std::string embedding = "{match: 'model.embed_tokens.*', weight_decay: 0, lr_multiplier: 0.5}";

  const auto groups = check(optimizer(norms + ", " + embedding))["optimizer_groups"];
  ASSERT_EQ(groups.size(), 3U) << groups.dump(2);
  const auto with = [&](double decay, double multiplier) {
    return *std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return group["weight_decay"] == decay && group["lr_multiplier"] == multiplier;
    });
  };
  EXPECT_EQ(with(0, 0.5)["parameters"], 512 * 64);
  EXPECT_EQ(with(0, 0.5)["examples"][0], "model.embed_tokens.weight");
  EXPECT_EQ(with(0, 1)["tensors"], 2 * 4 + 1);  // two of each layer, of q and k, and the last one
  EXPECT_THAT(job_.call(Words{"check", "job.yaml"} + optimizer(norms)).out, HasSubstr("decay     0.1 on "));

  run(named("alone"));
  run(named("plain") + optimizer(""));
  run(named("ruled") + optimizer(norms + ", " + embedding));
  EXPECT_EQ(job_.losses("plain").front(), job_.losses("ruled").front());
  EXPECT_NE(job_.losses("plain").back(), job_.losses("ruled").back());
  expect_same("stages", mesh(2, 2) + set("optimizer",
                                         "{name: adamw, lr: 0.003, betas: [0.9, 0.95], weight_decay: "
                                         "0.1, rules: [{match: '*', weight_decay: 0.1}]}"));
}

TEST_F(OptimizerOfAJob, MuonLearnsResumesToTheBitAndOnAnotherMesh) {
  const Words muon = set("optimizer", "{name: muon, lr: 0.003, scale: match_rms_adamw}");
  const Words shards = set("mesh.data_parallel_shard", "2") + matrices_on(2) + experts_on(4);
  run(named("through") + muon);
  EXPECT_LT(job_.losses("through").back(), job_.losses("through").front() - 0.5);

  run_in_halves("halves", muon, muon);
  EXPECT_EQ(job_.exact_curve("halves"), job_.exact_curve("through"));

  run_in_halves("meshes", muon + shards, muon);
  const auto meshes = job_.losses("meshes");
  for (std::size_t i = 0; i < meshes.size(); ++i)
    EXPECT_NEAR(meshes[i], job_.losses("through").at(i), 2e-3 * meshes[i]) << "at step " << i + 1;
}

TEST_F(OptimizerOfAJob, SaysWhatMuonUpdatesAndWhatAdamW) {
  const Words muon =
      set("optimizer", "{name: muon, lr: 0.003, rules: [{match: '*q_proj*', weight_decay: 0}]}");

  const auto groups = check(muon)["optimizer_groups"];

  ASSERT_EQ(groups.size(), 3U) << groups.dump(2);
  std::map<std::string, std::int64_t> tensors;
  for (const auto& group : groups) tensors[group["by"].get<std::string>()] += group["tensors"].get<int>();
  // Of each layer q, k, v, o, the router and three stacks of experts; norms, the embedding and the head.
  EXPECT_EQ(tensors, (std::map<std::string, std::int64_t>{{"adamw", 2 * 4 + 3}, {"muon", 2 * 8}}));
  EXPECT_THAT(job_.call(Words{"check", "job.yaml"} + muon).out, HasSubstr(", by muon: "));
}

TEST_F(OptimizerOfAJob, BytesForMomentsLearnAndResumeToTheBitAndOnAnotherMesh) {
  const Words bytes = set("optimizer", "{name: adamw_8bit, lr: 0.003, block_size: 128, float32_below: 512}");
  const Words adamw = set("optimizer", "{name: adamw, lr: 0.003}");
  const Words shards = set("mesh.data_parallel_shard", "2") + matrices_on(2) + experts_on(4);
  run(named("through") + bytes);
  EXPECT_LT(job_.losses("through").back(), job_.losses("through").front() - 0.5);

  run_in_halves("halves", bytes, bytes);
  EXPECT_EQ(job_.exact_curve("halves"), job_.exact_curve("through"));

  // Other blocks round otherwise, and AdamW not at all.
  run_in_halves("meshes", bytes + shards, bytes);
  run_in_halves("from_adamw", adamw, bytes);
  run_in_halves("to_adamw", bytes, adamw);
  for (const char* name : {"meshes", "from_adamw", "to_adamw"}) {
    const auto losses = job_.losses(name);
    ASSERT_EQ(losses.size(), 20U);
    for (std::size_t i = 0; i < losses.size(); ++i)
      EXPECT_NEAR(losses[i], job_.losses("through").at(i), 5e-3 * losses[i]) << name << " at step " << i + 1;
  }
}

TEST_F(OptimizerOfAJob, CountsTheBytesOfMoments) {
  const auto report = check(set(
      "optimizer", "{name: adamw_8bit, lr: 0.003, block_size: 64, float32_for: ['*embed*', 'lm_head*']}"));

  std::map<std::string, std::int64_t> elements;
  for (const auto& group : report["optimizer_groups"])
    elements[group["by"].get<std::string>()] += group["parameters"].get<std::int64_t>();
  ASSERT_EQ(elements.size(), 2U);
  EXPECT_GT(elements["adamw"], 2 * 512 * 64);
  const double bytes = 8.0 * static_cast<double>(elements["adamw"]) +
                       (2 + 8.0 / 64) * static_cast<double>(elements["adamw_8bit"]);
  EXPECT_NEAR(report["memory"][0]["optimizer_bytes"].get<double>(), bytes, 1);
  // The copy that a checkpoint is written from: parameters and two moments in float32.
  EXPECT_NEAR(report["memory"][0]["checkpoint_bytes"].get<double>(),
              12.0 * report["parameters"].get<double>(), 4);
}

TEST_F(OptimizerOfAJob, RefusesARuleThatNoParameterFollows) {
  const Outcome outcome =
      job_.run(set("optimizer",
                   "{name: adamw, lr: 0.003, rules: [{match: '*', weight_decay: 0}, {match: '*nrom*'}, "
                   "{match: '*norm*'}]}"));

  EXPECT_THAT(outcome, is_refused("optimizer.rules.1.match: \"*nrom*\" matches no parameter of the model"));
  EXPECT_THAT(outcome.err,
              HasSubstr("optimizer.rules.2.match: \"*norm*\" matches 9 parameters, but rules before"));
}

}  // namespace
}  // namespace d9d::test
