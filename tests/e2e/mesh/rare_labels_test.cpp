// Steps in which few tokens count, by models whose loss has more in it than these tokens': on every mesh they are those
// of the reference (tests/golden/rare_labels), also where a rank's part of the sequences has no label.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/support/file_text.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using nlohmann::json;

const std::string references = std::string(D9D_SOURCE_DIR) + "/tests/golden/";
constexpr int rows_of_step = 2;

class RareLabels : public testing::Test {
 protected:
  RareLabels() {
    std::string lines;
    for (const json& row : expect_.at("rows")) lines += row.dump() + "\n";
    job_.folder().write("rows.jsonl", lines);
  }
  // So small a rate that all steps have the folder's weights.
  void write_job(const std::string& family, const std::string& folder) {
    const std::string data =
        "{source: token_lists, files: [rows.jsonl], format: jsonl, labels_field: labels, samples: document, "
        "sequence_length: 12";
    const auto steps = expect_.at("rows").size() / rows_of_step;
    job_.folder().write(
        "job.yaml",
        "trainer:\n  run: {name: tiny}\n  batching: {global_batch_size: 2, microbatch_size: 1}\n"
        "  schedule: {total_steps: " +
            std::to_string(steps) +
            "}\n  determinism: {base_seed: 3}\n  logging: {period_steps: 1, tracker: {provider: "
            "\"null\"}}\n  model_stage_factory: {source_checkpoint: " +
            references + folder + "}\nmodel_provider: {name: " + family + ", from: " + references + folder +
            "}\ndata: " + data + "}\noptimizer: {name: sgd, lr: 1.0e-12}\n" + "evaluation: {data: " + data +
            "}, batches: " + std::to_string(steps) + ", period_steps: " + std::to_string(steps) +
            "}\nnode: {threads_per_rank: 1, heartbeat_ms: 10000}\n");
  }
  void expect_reference(const std::string& folder, const Words& words, const std::string& name) {
    SCOPED_TRACE(name);
    const std::string run = "run" + std::to_string(runs_++);
    ASSERT_THAT(job_.run(named(run) + words), ends_well());
    const std::vector<json> expected = expect_.at(folder);
    for (const auto& [key, metric] : {std::pair{"loss", "loss"}, std::pair{"grad_norm", "grad_norm"},
                                      std::pair{"perplexity", "metrics/perplexity"}}) {
      const std::vector<double> got = job_.values(run, metric);
      ASSERT_EQ(got.size(), expected.size()) << metric;
      for (std::size_t step = 0; step < expected.size(); ++step) {
        const double value = expected[step].at(key);
        EXPECT_NEAR(got[step], value, 2e-5 * value) << key << " of step " << step + 1;
      }
    }
    expect_evaluated(folder, run);
  }
  // An evaluation of all rows counts the cross entropy alone.
  void expect_evaluated(const std::string& folder, const std::string& run) {
    double sum = 0, tokens = 0;
    const std::vector<json> steps = expect_.at(folder);
    for (std::size_t step = 0; step < steps.size(); ++step) {
      double counted = 0;
      for (std::size_t row = rows_of_step * step; row < rows_of_step * (step + 1); ++row)
        for (const json& label : expect_.at("rows").at(row).at("labels")) counted += label != -100 ? 1 : 0;
      sum += counted * std::log(steps[step].at("perplexity").get<double>());
      tokens += counted;
    }
    const double mean = sum / tokens;
    EXPECT_THAT(job_.values(run, "evaluation/loss"),
                testing::ElementsAre(testing::DoubleNear(mean, 2e-5 * mean)));
    EXPECT_THAT(job_.values(run, "evaluation/metrics/perplexity"),
                testing::ElementsAre(testing::DoubleNear(std::exp(mean), 1e-4 * std::exp(mean))));
  }
  static Words sequences_on(int ranks, const std::string& kind, const std::string& order) {
    return set("mesh.context_parallel_" + kind, std::to_string(ranks)) +
           set("parallelism.context.order", order);
  }
  void expect_reference_on_every_mesh(const std::string& folder) {
    expect_reference(folder, {}, "one rank");
    for (const std::string order : {"contiguous", "zigzag"}) {
      for (const std::string kind : {"shard", "replicate"})
        expect_reference(folder, sequences_on(2, kind, order), kind + " " + order);
    }
    expect_reference(folder, sequences_on(3, "shard", "contiguous"), "three ranks, contiguous");
    expect_reference(folder, sequences_on(2, "shard", "zigzag") + mesh(1, 2), "replicas of sequences");
    expect_reference(folder, matrices_on(2), "matrices");
    expect_reference(folder, mesh(2, 1), "stages");
    expect_reference(folder, sequences_on(2, "replicate", "contiguous") + mesh(2, 1), "stages of sequences");
  }

  const json expect_ = json::parse(text_of_file(references + "rare_labels/expect.json"));
  TinyJob job_;
  int runs_ = 0;
};

TEST_F(RareLabels, CountTheFurtherTokensOfRanksWithoutALabel) {
  write_job("deepseek_v3", "multi_token_prediction/two_depths");
  expect_reference_on_every_mesh("multi_token_prediction/two_depths");
  expect_reference("multi_token_prediction/two_depths", set("trainer.batching.microbatch_size", "2"),
                   "one microbatch");
}

// The perplexity of a step is that of its tokens, as in an evaluation, whatever else the loss has in it.
TEST_F(RareLabels, BalanceTheExpertsOfRanksWithoutALabel) {
  write_job("qwen2_moe", "sparse_families/qwen2_moe_balanced");
  expect_reference_on_every_mesh("sparse_families/qwen2_moe_balanced");
}

TEST_F(RareLabels, HaveTheLossOfTheRoutersLogits) {
  write_job("mixtral", "sparse_families/mixtral_z_loss");
  expect_reference_on_every_mesh("sparse_families/mixtral_z_loss");
}

// A hook gets the gradients of the mean loss. Here it changes none.
TEST_F(RareLabels, HaveTheirGradientsWatchedAsTheyAre) {
  const std::string folder = "sparse_families/mixtral_z_loss";
  write_job("mixtral", folder);
  const Words watched = set("trainer.logging.statistics", "{all: '*'}"),
              hooked = set("gradient_hooks", "[{name: clip_value, match: '*', limit: 1000}]");
  for (const Words& words : {watched, watched + hooked, watched + hooked + sequences_on(2, "shard", "zigzag"),
                             watched + hooked + mesh(2, 1)}) {
    expect_reference(folder, words, testing::PrintToString(words));
    const std::vector<double> norms =
        job_.values("run" + std::to_string(runs_ - 1), "metrics/statistics/all/gradient_norm");
    const std::vector<json> expected = expect_.at(folder);
    ASSERT_EQ(norms.size(), expected.size());
    for (std::size_t step = 0; step < norms.size(); ++step) {
      const double norm = expected[step].at("grad_norm");
      EXPECT_NEAR(norms[step], norm, 1e-4 * norm) << "step " << step + 1;
    }
  }
}

}  // namespace
}  // namespace d9d::test
