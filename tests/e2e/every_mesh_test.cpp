// Any mesh trains to the same numbers: one step of a whole job, all its actors, on meshes of up to eight
// ranks; its loss, norm and each gradient against those of one rank. The gradients are read from the
// checkpoint: the first velocity of SGD with momentum is the gradient.
#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "runtime/mesh/mesh_parameters.hpp"
#include "runtime/state/checkpoint_reader.hpp"
#include "runtime/state/disk.hpp"
#include "tests/support/npy_file.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

constexpr double kLossTolerance = 1e-5;      // relative
constexpr double kGradientTolerance = 1e-4;  // of each gradient's norm
constexpr int kSamples = 8;
constexpr int kMeshLength = 32;
constexpr int kVocabulary = 90;  // tensor-parallel ranks get uneven parts

constexpr const char* kJob = R"(trainer:
  run: {name: alone}
  batching: {global_batch_size: 8, microbatch_size: 1}
  schedule: {total_steps: 1}
  determinism: {base_seed: 3}
  gradient_clipping: {max_norm: null}
  checkpointing: {period_steps: last_step}
  logging: {period_steps: 1, tracker: {provider: "null"}}
data: {source: tokens, tokens: tokens.npy, labels: labels.npy}
optimizer: {name: sgd, lr: 0.1, momentum: 0.9}
node: {threads_per_rank: 1, trace: false, heartbeat_ms: 10000}
model_provider:
  model:
    hidden_size: 32
    num_hidden_layers: 4
    num_attention_heads: 8
    num_key_value_heads: 4
    head_dim: 6
    vocab_size: 90
    max_position_embeddings: 64
)";

constexpr const char* kDense = R"(    intermediate_size: 40
  name: qwen3
)";
constexpr const char* kLlama = R"(    intermediate_size: 40
    rope_parameters: {rope_type: llama3, factor: 8.0, original_max_position_embeddings: 16}
  name: llama
)";
constexpr const char* kMoe = R"(    moe_intermediate_size: 24
    num_experts: 8
    num_experts_per_tok: 2
    norm_topk_prob: true
  name: qwen3_moe
)";

struct Training {
  double loss = 0;
  double norm = 0;
  std::map<std::string, at::Tensor> gradients;
};

std::string text_of(const DeviceMeshParameters& m) {
  return "pp" + std::to_string(m.pipeline_parallel) + " dpr" + std::to_string(m.data_parallel_replicate) +
         " dps" + std::to_string(m.data_parallel_shard) + " cpr" +
         std::to_string(m.context_parallel_replicate) + " cps" + std::to_string(m.context_parallel_shard) +
         " tp" + std::to_string(m.tensor_parallel) + " ep" + std::to_string(m.expert_parallel);
}

Words words_of(const DeviceMeshParameters& m) {
  return set("mesh", "{pipeline_parallel: " + std::to_string(m.pipeline_parallel) +
                         ", data_parallel_replicate: " + std::to_string(m.data_parallel_replicate) +
                         ", data_parallel_shard: " + std::to_string(m.data_parallel_shard) +
                         ", context_parallel_replicate: " + std::to_string(m.context_parallel_replicate) +
                         ", context_parallel_shard: " + std::to_string(m.context_parallel_shard) +
                         ", tensor_parallel: " + std::to_string(m.tensor_parallel) +
                         ", expert_parallel: " + std::to_string(m.expert_parallel) + "}");
}

using Keep = std::function<bool(const DeviceMeshParameters&)>;

void for_each_degree(int ranks_left, int dense_degree, DeviceMeshParameters& mesh,
                     const std::function<void(const DeviceMeshParameters&)>& use) {
  static constexpr int DeviceMeshParameters::*kDegrees[] = {
      &DeviceMeshParameters::pipeline_parallel,      &DeviceMeshParameters::data_parallel_replicate,
      &DeviceMeshParameters::data_parallel_shard,    &DeviceMeshParameters::context_parallel_replicate,
      &DeviceMeshParameters::context_parallel_shard, &DeviceMeshParameters::tensor_parallel};
  if (dense_degree == std::ssize(kDegrees)) return use(mesh);
  for (int degree = 1; degree <= ranks_left; degree *= 2) {
    mesh.*kDegrees[dense_degree] = degree;
    for_each_degree(ranks_left / degree, dense_degree + 1, mesh, use);
  }
}

// All meshes of this many ranks whose degrees are powers of two that the model can have.
std::vector<DeviceMeshParameters> meshes_of(int ranks, bool experts) {
  std::vector<DeviceMeshParameters> all;
  DeviceMeshParameters mesh;
  for_each_degree(ranks, 0, mesh, [&](const DeviceMeshParameters& dense) {
    if (dense.world_size() != ranks || dense.pipeline_parallel > 4 || dense.tensor_parallel > 4) return;
    DeviceMeshParameters found = dense;
    for (int ep = 1; ep <= (experts ? dense.stage_size() : 1); ep *= 2) {
      found.expert_parallel = ep;
      all.push_back(found);
    }
  });
  return all;
}

struct Family {
  const char* name;
  const char* keys;
  std::size_t gradients;
};

class EveryMesh : public testing::TestWithParam<Family> {
 protected:
  bool experts() const { return GetParam().keys == kMoe; }

  void SetUp() override {
    std::mt19937 random(5);
    const auto below = [&](int end) {
      return static_cast<std::int32_t>(random() % static_cast<unsigned>(end));
    };
    job_.folder().write("job.yaml", std::string(kJob) + GetParam().keys);
    job_.folder().write("tokens.npy",
                        npy_file(kSamples, kMeshLength, [&](int, int) { return below(kVocabulary); }));
    // Samples and stretches of them count by different numbers of tokens, one sample not at all.
    job_.folder().write("labels.npy", npy_file(kSamples, kMeshLength, [&](int sample, int column) {
                          const bool ignored = sample == 5 || column >= 32 - 3 * sample || below(4) == 0;
                          return ignored ? -100 : below(kVocabulary);
                        }));
    alone_ = train("alone", {});
    ASSERT_EQ(alone_.gradients.size(), GetParam().gradients);
  }

  Training train(const std::string& run, const Words& words) {
    const Outcome outcome = job_.run(named(run) + words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.code == 0 ? training_of(run) : Training();
  }

  Training training_of(const std::string& run) const {
    Training result{job_.losses(run).at(0), job_.values(run, "grad_norm").at(0), {}};
    const auto reader =
        CheckpointReader::open(disk_, (job_.run_folder(run) / "checkpoints" / "save-1").string());
    for (const TensorSpec& spec : reader->specs("momentum_buffer")) {
      result.gradients[spec.name] = reader->read("momentum_buffer", spec.name);
    }
    return result;
  }

  void expect_same(const DeviceMeshParameters& mesh, bool checkpointed, const std::string& order,
                   const std::string& schedule) {
    SCOPED_TRACE(text_of(mesh) + (checkpointed ? " checkpointed " : " ") + order + " " + schedule);
    const std::string run = "run" + std::to_string(runs_++);
    expect_equal(train(run, words_of(mesh) + set("trainer.pipelining.schedule", schedule) +
                                set("trainer.pipelining.order", order) +
                                set("model_provider.enable_checkpointing", checkpointed ? "true" : "false")));
    std::filesystem::remove_all(job_.run_folder(run));
  }

  void expect_same_in_two_processes(const DeviceMeshParameters& mesh) {
    SCOPED_TRACE(text_of(mesh) + " in two processes");
    const std::string run = "run" + std::to_string(runs_++);
    const auto [first, second] = job_.start_two(mesh.world_size(), named(run) + words_of(mesh));
    EXPECT_EQ(first->wait(), 0) << first->err();
    EXPECT_EQ(second->wait(), 0) << second->err();
    if (HasFailure()) return;
    expect_equal(training_of(run));
  }

  void expect_equal(const Training& got) const {
    EXPECT_NEAR(got.norm, alone_.norm, kGradientTolerance * alone_.norm);
    EXPECT_NEAR(got.loss, alone_.loss, kLossTolerance * alone_.loss);
    EXPECT_EQ(got.gradients.size(), alone_.gradients.size());
    for (const auto& [name, gradient] : got.gradients) {
      const at::Tensor& expected = alone_.gradients.at(name);
      const double distance = (gradient - expected).norm().item<double>();
      EXPECT_LT(distance, kGradientTolerance * expected.norm().item<double>()) << name;
    }
  }

  // Every `stride`-th mesh of so many ranks; schedules, orders and activation checkpointing take turns.
  void expect_same_on_all(int ranks, std::size_t stride) {
    static const std::vector<std::string> schedules{"{schedule: 1f1b}", "{schedule: gpipe}",
                                                    "{schedule: 1f1b, zero_bubble: true}",
                                                    "{schedule: 1f1b, num_stages_per_rank: 2}"};
    const std::vector<DeviceMeshParameters> meshes = meshes_of(ranks, experts());
    for (std::size_t i = 0; i < meshes.size(); i += stride) {
      const std::size_t turn = i / stride;
      // Two stages on each of four ranks are more than the model's layers.
      const std::size_t choices = meshes[i].pipeline_parallel == 2 ? 4 : 3;
      expect_same(meshes[i], turn % 2 == 0, turn % 5 == 0 ? "dynamic" : "static", schedules[turn % choices]);
    }
  }

  TinyJob job_;
  PosixDisk disk_;
  Training alone_;
  int runs_ = 0;
};

TEST_P(EveryMesh, OneRankWithActivationCheckpointing) {
  expect_same({}, true, "static", "{schedule: 1f1b}");
}

TEST_P(EveryMesh, TwoRanks) {
  expect_same_on_all(2, 1);
}

TEST_P(EveryMesh, FourRanks) {
  expect_same_on_all(4, 1);
}

TEST_P(EveryMesh, EightRanks) {
  expect_same_on_all(8, 3);
}

TEST_P(EveryMesh, FourRanksInTwoProcesses) {
  int turn = 0;
  for (const DeviceMeshParameters& mesh : meshes_of(4, experts())) {
    if (turn++ % 4 == 0) expect_same_in_two_processes(mesh);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, EveryMesh,
                         testing::Values(Family{"dense", kDense, 47}, Family{"moe", kMoe, 51},
                                         Family{"llama", kLlama, 39}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace d9d::test
