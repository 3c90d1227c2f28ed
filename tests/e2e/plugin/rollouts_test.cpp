// Texts that the model writes between steps, a reward, and training on them: the pieces of examples/rollouts.
//
// How the like has broken elsewhere, and where it is a small input here:
//   WithAdapters...: verl #7495, AsyncGRPO: those who write keep the first weights, or those without the adapter
//   WokenUp...: TRL #5312: after a sleep the old weights write
//   FarAhead..., golden curves by lag: slime #1800: nobody knows how old the weights are
//   tests/runtime/text/token_choice: TRL #4159, verl #6240: log-probabilities of another temperature
//   OnPolicy..., golden values: verl #2996, #6280: generation and training compute other probabilities
//   TextSample's tests: TRL #6357, #4970: the id that fills rows up is the one that ends a text, and is masked
//   OfPromptsOf...: TRL #7039: a text ends behind one of several tokens
//   AGroup..., golden values: TRL #3857, grpo-flat #2: groups whose rewards are alike; deviations of the batch instead
//   BadInput...: a reward that is no number
#include <gmock/gmock.h>

#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Le;
using testing::Not;
using testing::SizeIs;

const std::string example_job = D9D_SOURCE_DIR "/examples/rollouts/job.yaml";
const std::string golden = D9D_SOURCE_DIR "/tests/golden/rollouts";

class Rollouts : public testing::Test {
 protected:
  static Words plugins() {
    return set("plugins", "[" D9D_BINARY_DIR "/tests/e2e/libd9d_rollouts_plugin.so, " D9D_BINARY_DIR
                          "/tests/e2e/libd9d_faulty_plugin.so]");
  }
  static Words faulty(const std::string& keys) { return set("data", "{source: faulty_game, " + keys + "}"); }
  static Words steps(int count) { return set("trainer.schedule.total_steps", std::to_string(count)); }
  static Words lag(int steps) { return set("data.lag", std::to_string(steps)); }
  // At a rate that stays, late weights lose now and then what they have learnt; when depends on the last bits of sums.
  static Words falling_rate() {
    return set("optimizer.lr", "0.0015") +
           set("lr_scheduler",
               "{name: piecewise, scheduler: {initial_multiplier: 1.0, phases: [{mode: rest, "
               "target_multiplier: 0.0, curve: {type: cosine}}]}}");
  }
  static Words ahead(int steps) {
    return set("trainer.data_prefetch.prefetch_factor", std::to_string(steps));
  }
  static Words small() {
    return steps(12) + set("trainer.batching", "{global_batch_size: 64, microbatch_size: 16}") +
           set("optimizer.lr", "0.005") + set("trainer.logging.period_steps", "1") +
           set("trainer.checkpointing.period_steps", "6") +
           set("node", "{threads_per_rank: 1, heartbeat_ms: 10000}");
  }
  Outcome run_job(const std::string& name, const Words& words) {
    return job_.call(Words{example_job} + plugins() + small() + named(name) + words);
  }
  void run(const std::string& name, const Words& words) {
    ASSERT_THAT(run_job(name, words), ends_well()) << name;
  }
  std::vector<double> rewards(const std::string& name) const { return job_.values(name, "metrics/reward"); }
  std::vector<double> off_policy(const std::string& name) const {
    return job_.values(name, "metrics/off_policy");
  }
  // Every number of every step.
  void expect_same_bits(const std::string& got, const std::string& expected, std::size_t steps = 12) {
    EXPECT_THAT(job_.losses(expected), SizeIs(steps));
    EXPECT_EQ(job_.exact_curve(got), job_.exact_curve(expected)) << got;
    EXPECT_EQ(rewards(got), rewards(expected)) << got;
    EXPECT_EQ(off_policy(got), off_policy(expected)) << got;
  }
  // The same texts, and sums in another order.
  void expect_same_numbers(const std::string& got, const std::string& expected) {
    const auto norms = job_.values(got, "grad_norm"), reference = job_.values(expected, "grad_norm");
    ASSERT_THAT(norms, SizeIs(12));
    for (std::size_t i = 0; i < norms.size(); ++i) {
      EXPECT_NEAR(norms[i], reference[i], 1e-3 * reference[i]) << got << " at step " << i + 1;
      EXPECT_NEAR(rewards(got)[i], rewards(expected)[i], 1e-6) << got << " at step " << i + 1;
    }
  }
  void expect_refused(const Words& words, const std::string& text) {
    SCOPED_TRACE(text);
    for (const Words& command : {Words{example_job}, Words{"check", example_job}}) {
      EXPECT_THAT(job_.call(command + plugins() + small() + words), is_refused(text));
    }
  }

  TinyJob job_;
};

// Long texts and small microbatches: caches need more than activations.
TEST_F(Rollouts, TakeTheMemoryThatCheckCounts) {
  const Words words =
      plugins() + steps(1) + set("trainer.batching", "{global_batch_size: 32, microbatch_size: 1}") +
      set("trainer.pipelining.schedule", "1f1b") + set("trainer.checkpointing.period_steps", "disable") +
      set("data", "{source: letter_game, group: 16, max_new_tokens: 60, length: 62}") +
      set("model_provider.model.max_position_embeddings", "256") +
      set("model_provider.model.num_hidden_layers", "4") +
      set("model_provider.model.num_key_value_heads", "4") + set("model_provider.model.head_dim", "32") +
      set("node", "{threads_per_rank: 1, heartbeat_ms: 10000, device: delayed}");

  const Outcome checked = job_.call(Words{"check", example_job} + words + Words{"--json"});
  const Outcome ran = job_.call(Words{example_job} + words + named("cached"));

  ASSERT_EQ(checked.code, 0) << checked.err;
  ASSERT_EQ(ran.code, 0) << ran.err;
  const nlohmann::json memory = nlohmann::json::parse(checked.out).at("memory").at(0);
  const double texts = memory.at("text_bytes"), caches = 32 * 62.0 * 4 * (4 * 2 * 32) * 4;
  EXPECT_GT(texts, memory.at("activation_bytes").get<double>());
  EXPECT_GE(texts, caches);
  const auto at = ran.err.find("took ");
  ASSERT_NE(at, std::string::npos) << ran.err;
  const double taken = std::stod(ran.err.substr(at + 5)),
               total = memory.at("total_bytes").get<double>() / (1 << 20);
  constexpr double rounding = 0.05;  // of the line in the log
  EXPECT_LE(taken - rounding, total);
  EXPECT_GE(taken + rounding, 0.98 * total);
}

TEST_F(Rollouts, OfPromptsWhoseLengthTheSourceDoesNotSayAreCountedAsLongAsSamples) {
  const Outcome known = job_.call(Words{"check", example_job} + plugins());
  const Outcome unknown = job_.call(Words{"check", example_job} + plugins() + faulty("fault: none"));

  EXPECT_THAT(known.out, HasSubstr("256 texts between steps, 2 tokens and 6 new tokens each at most"));
  EXPECT_THAT(known.out, Not(HasSubstr("not counted")));
  EXPECT_THAT(unknown.out, HasSubstr("not counted: prompts that are longer than a sample"));
}

// tests/golden/rollouts: texts, rewards, policy gradient and updates of four steps by transformers and autograd.
TEST_F(Rollouts, AreThoseOfTransformersWithTheGradientOfThePaper) {
  const nlohmann::json expected = nlohmann::json::parse(text_of_file(golden + "/expect.json"));
  for (const int late : {0, 1, 2}) {
    const std::string name = "lag " + std::to_string(late);
    SCOPED_TRACE(name);
    run(name, steps(4) + lag(late) + set("model_provider", "{name: qwen3, from: " + golden + "/model}") +
                  set("trainer.model_stage_factory.source_checkpoint", golden + "/model") +
                  set("trainer.batching", "{global_batch_size: 16, microbatch_size: 8}") +
                  set("trainer.gradient_clipping", "{max_norm: null}") +
                  set("trainer.determinism.base_seed", "5") + set("data.group", "4") +
                  set("task.clip", "0.05") + set("optimizer", "{name: sgd, lr: 0.5}"));

    const auto losses = job_.losses(name), norms = job_.values(name, "grad_norm");
    ASSERT_THAT(losses, SizeIs(4));
    for (std::size_t i = 0; i < 4; ++i) {
      const auto& step = expected.at(name).at(i);
      EXPECT_NEAR(rewards(name)[i], step.at("reward"), 1e-6) << i;
      EXPECT_NEAR(losses[i], step.at("loss"), 1e-4) << i;
      EXPECT_NEAR(norms[i], step.at("grad_norm"), 1e-4 * step.at("grad_norm").get<double>()) << i;
    }
  }
}

TEST_F(Rollouts, OnPolicyTheWeightsThatLearnAreThoseThatWrote) {
  run("lag 0", lag(0));
  run("lag 1", lag(1));

  EXPECT_THAT(off_policy("lag 0"), Each(Le(1e-5))) << "rounding alone";
  const auto late = off_policy("lag 1");
  EXPECT_LT(late[0], 1e-5) << "the weights that the run begins with";
  EXPECT_GT(*std::min_element(late.begin() + 1, late.end()), 1e-3);
}

// The whole example, in seconds: with weights that write two steps late the ratio corrects for them.
TEST_F(Rollouts, TeachTheGame) {
  for (const int late : {0, 2}) {
    const std::string name = "lag " + std::to_string(late);
    ASSERT_THAT(job_.call(Words{example_job} + plugins() + named(name) + lag(late) +
                          (late == 0 ? Words{} : falling_rate())),
                ends_well());

    EXPECT_LT(rewards(name).front(), 0.2);
    EXPECT_GT(rewards(name).back(), 0.95);
    if (late == 0) {
      for (const double loss : job_.losses(name))
        EXPECT_NEAR(loss, 0, 1e-5)
            << "advantages of a group add up to 0, also of one whose rewards are alike";
    }
  }
}

// However far the Loader reads ahead, and whoever is slow.
TEST_F(Rollouts, FarAheadAreWrittenByTheSameWeights) {
  for (const int late : {0, 2}) {
    const std::string name = "lag " + std::to_string(late);
    run(name, lag(late) + ahead(1));
    for (const int steps : {0, 5}) {
      run(name + " ahead", lag(late) + ahead(steps));
      expect_same_bits(name + " ahead", name);
      std::filesystem::remove_all(job_.run_folder(name + " ahead"));
    }
  }
  EXPECT_NE(rewards("lag 0"), rewards("lag 2"));
}

TEST_F(Rollouts, GoOnToTheBitAfterACheckpoint) {
  for (const auto& [where, mesh_of] : std::vector<std::pair<std::string, Words>>{
           {"alone", {}}, {"replicas", mesh(1, 2)}, {"pipeline", mesh(2, 1)}}) {
    for (const int late : {0, 2}) {
      const std::string name = where + " lag " + std::to_string(late);
      run(name, mesh_of + lag(late) + ahead(3));
      const std::string halves = name + " in halves";
      run(halves, mesh_of + lag(late) + ahead(3));
      std::filesystem::remove_all(job_.run_folder(halves) / "checkpoints/save-12");
      ASSERT_THAT(run_job(halves, mesh_of + lag(late)), says("checkpoints/save-6"));
      expect_same_bits(halves, name);
    }
  }
}

// Texts under way are dealt out anew.
TEST_F(Rollouts, GoOnWithOtherReplicas) {
  run("alone", lag(1));
  for (const auto& [first, second] :
       std::vector<std::pair<Words, Words>>{{mesh(1, 2), {}}, {{}, mesh(1, 2)}, {mesh(1, 2), mesh(2, 1)}}) {
    std::filesystem::remove_all(job_.run_folder("moved"));
    run("moved", first + lag(1));
    std::filesystem::remove_all(job_.run_folder("moved") / "checkpoints/save-12");
    run("moved", second + lag(1));
    expect_same_numbers("moved", "alone");
  }
  const Outcome stateful = run_job("stateful", mesh(1, 2) + faulty("lag: 1") + steps(6));
  ASSERT_EQ(stateful.code, 0) << stateful.err;
  EXPECT_THAT(run_job("stateful", faulty("lag: 1")).err,
              HasSubstr("has the states of 2 data replicas, and this job has 1"));
  EXPECT_THAT(run_job("stateful", mesh(1, 2) + faulty("lag: 0")).err,
              HasSubstr("the run has rollouts with a lag of 1 step, and this job has a lag of 0 steps"));
}

TEST_F(Rollouts, AreTheSameOnMeshesOfTwoRanksAndMore) {
  run("alone", {});

  for (const auto& [name, words] : std::vector<std::pair<std::string, Words>>{
           {"replicas", mesh(1, 2)},
           {"pipeline", mesh(2, 1)},
           {"sharded", set("mesh", "{data_parallel_shard: 2}")},
           {"matrices", matrices_on(2)},
           {"pipeline and replicas", mesh(2, 2)},
           {"sharded pipeline", set("mesh", "{pipeline_parallel: 2, data_parallel_shard: 2}")},
           {"late device", set("node.device", "delayed")},
           {"two processes", mesh(2, 1) + set("node.processes", "2")}}) {
    run(name, words);
    expect_same_numbers(name, "alone");
  }
}

// Tokens go to experts on both ranks, whose replicas have prompts of their own.
TEST_F(Rollouts, OfAMixtureAreTheSameWithExpertsOverRanks) {
  const Words mixture =
      set("model_provider",
          "{name: qwen3_moe, model: {vocab_size: 16, hidden_size: 32, num_hidden_layers: 2, "
          "num_attention_heads: 4, num_key_value_heads: 2, head_dim: 8, moe_intermediate_size: 24, "
          "num_experts: 4, num_experts_per_tok: 2, norm_topk_prob: true}}");
  run("alone", mixture);
  run("experts", mixture + set("mesh", "{data_parallel_shard: 2, expert_parallel: 2}"));
  expect_same_numbers("experts", "alone");
}

TEST_F(Rollouts, ALaggingRunGoesOnAndIsTheSameOnMeshes) {
  run("alone", lag(1));
  for (const auto& [name, words] :
       std::vector<std::pair<std::string, Words>>{{"replicas", mesh(1, 2)}, {"pipeline", mesh(2, 1)}}) {
    run(name, words + lag(1));
    expect_same_numbers(name, "alone");
  }
}

TEST_F(Rollouts, AJobThatIsStoppedEndsWellAndGoesOn) {
  for (const int late : {0, 1}) {
    const std::string name = "stopped " + std::to_string(late), game = "lag: " + std::to_string(late),
                      through = "through " + std::to_string(late);
    const Outcome stopped = run_job(name, steps(100'000) + faulty(game + ", stops_at: 4"));
    EXPECT_EQ(stopped.code, 128 + SIGTERM) << stopped.err;
    const std::size_t all = job_.losses(name).size() + 4;
    const Words to_the_end = steps(static_cast<int>(all)) + faulty(game);

    run(name, to_the_end);

    run(through, to_the_end);
    expect_same_bits(name, through, all);
  }
}

TEST_F(Rollouts, WithAdaptersAreWrittenByWhatTheAdaptersHaveLearnt) {
  const Words adapters =
      set("model_provider.peft", "{kind: lora, module_name_pattern: '.*_proj', params: {r: 4, alpha: 8}}");
  run("lag 0", adapters);
  run("lag 1", adapters + lag(1));

  EXPECT_THAT(off_policy("lag 0"), Each(Le(1e-5)));
  EXPECT_GT(off_policy("lag 1").back(), 1e-4) << "the adapters have moved";
}

TEST_F(Rollouts, WokenUpTheModelWritesAsIfItHadNotSlept) {
  for (const int late : {0, 1}) {
    const std::string name = "lag " + std::to_string(late);
    run(name, lag(late));
    const Outcome slept =
        job_.call(Words{example_job} + small() + named(name + " slept") + lag(late) +
                  set("plugins", "[" D9D_BINARY_DIR "/tests/e2e/libd9d_rollouts_plugin.so, " D9D_BINARY_DIR
                                 "/tests/e2e/libd9d_events_plugin.so]") +
                  set("actors", "[{name: nap, after: 5}]"));
    ASSERT_THAT(slept, says("awake after step"));
    expect_same_bits(name + " slept", name);
  }
}

TEST_F(Rollouts, AGroupWhoseRewardsAreAllAlikeTeachesNothing) {
  run("alike", set("data.group", "1") + set("optimizer.lr", "0.01"));

  EXPECT_THAT(job_.losses("alike"), Each(0.0));
  EXPECT_THAT(job_.values("alike", "grad_norm"), Each(0.0));
}

TEST_F(Rollouts, AreRefusedWhereTheyCannotBeWritten) {
  expect_refused(set("mesh", "{context_parallel_replicate: 2}"), "ranks that share sequences cannot");
  expect_refused(set("evaluation", "{period_steps: 6, batches: 1, data: {source: letter_game}}"),
                 "of which an evaluation has none");
  expect_refused(set("data.order", "{sorted: {buffer_size: 64, pack_size: 8}}"),
                 "the source is a stream, whose samples come one after another: it cannot have an order");
  EXPECT_THAT(job_.call(Words{"data", "peek", example_job} + plugins()),
              is_refused("of texts that the model writes while it trains, so there is none to show"));
}

// The plugin's game with a fault in step 3.
TEST_F(Rollouts, BadInputIsASentenceAndEndsTheJob) {
  const auto failure = [&](const std::string& fault, const Words& words = {}) {
    std::filesystem::remove_all(job_.run_folder("bad"));
    const Outcome outcome = run_job("bad", faulty("fault: " + fault) + words);
    EXPECT_EQ(outcome.code, 1) << fault << ": " << outcome.err;
    return outcome.err;
  };
  EXPECT_THAT(failure("nan"), HasSubstr("made of the texts of step 3 has reward = nan; expected a number"));
  EXPECT_THAT(failure("nan", mesh(2, 1)), HasSubstr("has reward = nan"));
  EXPECT_THAT(failure("throws"),
              HasSubstr("the samples() of step 3 of the data source \"faulty_game\" threw: no judge"));
  EXPECT_THAT(failure("throws", mesh(1, 2) + set("data.lag", "1")), HasSubstr("threw: no judge"));
  EXPECT_THAT(failure("few"), HasSubstr("made 63 samples for step 3; expected 64"));
  EXPECT_THAT(failure("empty"), HasSubstr("prompt 0 of step 3 has no tokens; give one at least"));
  EXPECT_THAT(failure("unknown"), HasSubstr("holds the token 99, expected at least 0 and less than 16"));
  EXPECT_THAT(failure("long"), HasSubstr("which is no sample of 9 tokens"));
}

// Prompts of one to four tokens, the best of three texts for each sample, another temperature: on two meshes.
TEST_F(Rollouts, OfPromptsOfSeveralLengthsAreChosenAmongSeveralTexts) {
  const Words game = faulty("texts: 3, lag: 1");
  for (const auto& [name, words] :
       std::vector<std::pair<std::string, Words>>{{"alone", {}}, {"pipeline", mesh(2, 2)}}) {
    ASSERT_THAT(run_job(name, game + words), ends_well());
  }

  expect_same_numbers("pipeline", "alone");
  EXPECT_LT(off_policy("alone")[0], 1e-5)
      << "the weights that the run begins with: tokens stand in their places";
}

}  // namespace
}  // namespace d9d::test
