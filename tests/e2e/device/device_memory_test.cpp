// What a job takes of its devices' memory, by pool, and what it says when there is no more.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "tests/support/curve_test.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Parameters of about 25 MiB; with gradients and moments 100 MiB.
Words of_some_size() {
  return set("model_provider.model.hidden_size", "256") +
         set("model_provider.model.moe_intermediate_size", "1024") +
         set("model_provider.model.num_hidden_layers", "2") + set("trainer.schedule.total_steps", "6") +
         set("node.device", "delayed");
}

class MemoryOfDevices : public CurveTest {
 protected:
  Outcome run_with(const std::string& mib, const Words& words) {
    const auto process = job_.start(words, {{"D9D_DELAYED_MEMORY", mib}});
    const int code = process->wait();
    return {code, "", process->err()};
  }
};

double number_behind(const std::string& text, const std::string& words) {
  std::smatch found;
  EXPECT_TRUE(std::regex_search(text, found, std::regex(words + " ([0-9.]+) MiB"))) << words << ": " << text;
  return found.empty() ? 0 : std::stod(found[1]);
}

TEST_F(MemoryOfDevices, IsToldByPoolBesideWhatCheckEstimates) {
  const Outcome outcome = run_with("", of_some_size() + mesh(2, 1));

  ASSERT_THAT(outcome, says("delayed:1 (rank 1) took"));
  const std::string line = outcome.err.substr(outcome.err.find("delayed:0 (rank 0) took"));
  const double estimate = number_behind(line, "check estimates");
  EXPECT_NEAR(number_behind(line, "at most: state"), estimate, 0.1 * estimate);
  EXPECT_GT(number_behind(line, "activations"), 0);
}

TEST_F(MemoryOfDevices, OfGatheredUnitsIsCommunication) {
  const Outcome outcome = run_with("", of_some_size() + set("mesh.data_parallel_shard", "2"));

  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_GT(number_behind(outcome.err.substr(outcome.err.find("delayed:0 (rank 0) took")), "communication"),
            1);
}

TEST_F(MemoryOfDevices, ThatIsTooLittleForTheStateIsToldWithTheRemedy) {
  EXPECT_THAT(
      run_with("64", of_some_size()),
      fails(AllOf(HasSubstr("delayed:0 (rank 0) is out of memory: "), HasSubstr(" MiB are wanted and "),
                  HasSubstr(" of 64.0 MiB are free on the device; in use are state "),
                  HasSubstr("d9d-node check estimates "), HasSubstr("Shard parameters over more ranks"))));
}

// In the middle of a step, which is named.
TEST_F(MemoryOfDevices, ThatIsTooLittleForAMicrobatchIsToldWithTheActionAndTheRemedy) {
  const Words words = of_some_size() + set("model_provider.model.num_hidden_layers", "1") +
                      set("data.sequence_length", "4096") +
                      set("model_provider.model.max_position_embeddings", "4096") +
                      set("model_provider.model.moe_intermediate_size", "64");

  EXPECT_THAT(run_with("48", words), fails(AllOf(HasSubstr("action 0F0, step 1: "),
                                                 HasSubstr("delayed:0 (rank 0) is out of memory: "),
                                                 HasSubstr("Lower batching.microbatch_size"))));
}

// Without it takes 120 MiB, with it 30: a state of 9, and of eight layers what two of them save.
TEST_F(MemoryOfDevices, IsEnoughForAJobThatOffloadsLayersAndNotWithout) {
  const auto model = [](const std::string& key, int value) {
    return set("model_provider.model." + key, std::to_string(value));
  };
  const Words words = model("num_hidden_layers", 8) + model("max_position_embeddings", 2048) +
                      set("data.sequence_length", "2048") + set("trainer.batching.global_batch_size", "2") +
                      set("trainer.batching.microbatch_size", "1") +
                      set("trainer.schedule.total_steps", "6") + set("node.device", "delayed");
  const Words offload = set("model_provider.offload_layers", "8");

  const Outcome without = run_with("64", named("without") + words);
  const Outcome with = run_with("64", named("with") + words + offload);
  const Outcome unlimited = run_with("", named("unlimited") + words);

  EXPECT_THAT(without, fails(AllOf(HasSubstr("is out of memory"), HasSubstr("offload_layers"))));
  ASSERT_EQ(with.code, 0) << with.err;
  ASSERT_EQ(unlimited.code, 0) << unlimited.err;
  EXPECT_EQ(job_.exact_curve("with"), job_.exact_curve("unlimited"));
}

// The less is computed again, the more is kept.
TEST_F(MemoryOfDevices, OfLayersThatAreComputedAgainIsThatOfWhatTheyKeep) {
  const Words words = set("model_provider.model.num_hidden_layers", "8") +
                      set("model_provider.model.max_position_embeddings", "2048") +
                      set("data.sequence_length", "2048") + set("trainer.schedule.total_steps", "3") +
                      set("node.device", "delayed");
  const auto activations = [&](const std::string& run, const Words& more) {
    const Outcome outcome = run_with("", named(run) + words + more);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return number_behind(outcome.err.substr(outcome.err.find("delayed:0 (rank 0) took")), "activations");
  };
  const Words again = set("model_provider.enable_checkpointing", "true");
  const std::string keeps = "model_provider.checkpoint_keeps";

  const double all = activations("all", {});
  const double costly = activations("costly", again + set(keeps, "[attention, linear, experts, exchange]"));
  const double attention = activations("attention", again + set(keeps, "[attention]"));
  const double inputs = activations("inputs", again);

  EXPECT_LT(inputs, attention);
  EXPECT_LT(attention, costly);
  EXPECT_LT(costly, all);
  for (const char* run : {"costly", "attention", "inputs"})
    EXPECT_EQ(job_.exact_curve(run), job_.exact_curve("all")) << run;
}

// What the device of a rank has given out, in MiB, and the total of check, with `row` of its table.
void expect_counted(TinyJob& job, const Words& words, const Outcome& ran, double off, int rank,
                    std::size_t row) {
  const Outcome checked = job.call(Words{"check", "job.yaml"} + words + Words{"--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  ASSERT_EQ(checked.code, 0) << checked.err;
  const auto at = ran.err.find(fmt::format("delayed:{0} (rank {0}) took", rank));
  ASSERT_NE(at, std::string::npos) << ran.err;
  const std::string line = ran.err.substr(at, ran.err.find('\n', at) - at);
  double taken = number_behind(line, "took");
  if (line.find(" more because") != std::string::npos) taken += number_behind(line, "\\);");
  const auto bytes = nlohmann::json::parse(checked.out).at("memory").at(row).at("total_bytes").get<double>();
  constexpr double rounding = 0.1;  // of two numbers in the log
  EXPECT_LE(taken - rounding, bytes / (1 << 20)) << line;
  EXPECT_GE(taken + rounding, bytes / (1 << 20) * (1 - off)) << line;
}

Words in_layers_of(int hidden, int layers, int vocabulary) {
  return set("trainer.batching", "{global_batch_size: 16, microbatch_size: 2}") +
         set("trainer.schedule.total_steps", "1") + set("lr_scheduler", "null") +
         set("trainer.checkpointing.period_steps", "disable") + set("model_provider.name", "qwen3") +
         set("model_provider.model",
             fmt::format("{{hidden_size: {}, num_hidden_layers: {}, num_attention_heads: 4, "
                         "num_key_value_heads: 2, head_dim: 16, intermediate_size: {}, vocab_size: {}, "
                         "max_position_embeddings: 512, tie_word_embeddings: false}}",
                         hidden, layers, 2 * hidden, vocabulary)) +
         set("data.sequence_length", "256") + set("node.device", "delayed");
}

Words in_a_v() {
  return in_layers_of(64, 16, 512) + set("mesh.pipeline_parallel", "2") +
         set("trainer.pipelining.schedule", "dual_pipe_v");
}

// Logits of a block and their gradient are a fifth of what these jobs take.
TEST_F(MemoryOfDevices, OfTheLossIsWithinTwoPercentOfCheckAndNeverAbove) {
  const Words half = set("model_provider.dtype", "bfloat16"), halves = set("mesh.pipeline_parallel", "2");
  const Words alone = in_layers_of(64, 8, 20000), stages = halves + in_layers_of(128, 8, 5000) + half,
              shared = set("mesh.tensor_parallel", "2") + in_layers_of(128, 4, 20000) + half,
              by_columns = in_layers_of(64, 4, 70000);

  expect_counted(job_, alone, run_with("", named("alone") + alone), 0.02, 0, 0);
  const Outcome of_stages = run_with("", named("stages") + stages);
  expect_counted(job_, stages, of_stages, 0.02, 0, 0);
  expect_counted(job_, stages, of_stages, 0.02, 1, 1);
  expect_counted(job_, shared, run_with("", named("shared") + shared), 0.02, 1, 0);
  expect_counted(job_, by_columns, run_with("", named("by columns") + by_columns), 0.02, 0, 0);
}

// Reference PIPE-14: what a stream frees serves that stream alone.
TEST_F(MemoryOfDevices, OfTwoStreamsIsWithinTwoPercentOfCheckAndNeverAbove) {
  const Words one = in_a_v(), both = one + set("trainer.pipelining.overlap", "always");

  const Outcome of_one = run_with("", named("one") + one), of_both = run_with("", named("both") + both);

  for (const int rank : {0, 1}) {
    expect_counted(job_, one, of_one, 0.02, rank, static_cast<std::size_t>(rank));
    expect_counted(job_, both, of_both, 0.02, rank, static_cast<std::size_t>(rank));
  }
  EXPECT_THAT(of_both.err, HasSubstr(" more because each stream keeps what it frees"));
}

}  // namespace
}  // namespace d9d::test
