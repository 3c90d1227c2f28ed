// Any mesh trains to the same numbers: one step of a whole job, all its actors, on meshes of up to eight
// ranks; its loss, norm and each gradient against those of one rank. The gradients are read from the
// checkpoint: the first velocity of SGD with momentum is the gradient. Which meshes: tests/support/meshes.hpp.
#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "runtime/state/checkpoint/checkpoint_reader.hpp"
#include "runtime/state/disk/disk.hpp"
#include "tests/e2e/mesh/every_mesh_models.hpp"
#include "tests/support/meshes.hpp"
#include "tests/support/npy_file.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

constexpr double loss_tolerance = 1e-5;      // relative
constexpr double gradient_tolerance = 1e-4;  // of each gradient's norm
// Of the norm of all gradients: the weights of q_norm and k_norm have sums that nearly cancel, a thousandth of the
// norm and less. On this model they differ by 2e-9 of it usually; 2e-7 have been seen on one machine.
constexpr double noise_tolerance = 5e-7;
constexpr int vocabulary_size = 90;  // tensor-parallel ranks get uneven parts

struct Training {
  double loss = 0;
  double norm = 0;
  double largest = 0;  // the infinity norm
  std::map<std::string, at::Tensor> gradients;
  std::map<std::string, at::Tensor> buffers;  // after the step
  double expert_load = 0;                     // of models with experts
};

struct Family {
  const char* name;
  std::string keys;
  std::size_t gradients;
  bool experts = false;
  // Which state of the optimizer is compared; of sgd the velocity, which is the gradient after one step.
  const char* optimizer = "{name: sgd, lr: 0.1, momentum: 0.9}";
  const char* kind = "momentum_buffer";
  double tolerance = gradient_tolerance;  // of each tensor's norm
  const char* vocabulary = "vocab_size: 90";
  bool context = true;    // whether ranks can share sequences
  bool packed = false;    // rows hold documents of 5 to 10 tokens
  bool key_heads = true;  // whether the model has num_key_value_heads and head_dim

  friend void PrintTo(const Family& family, std::ostream* out) { *out << family.name; }
};

// Its parameters are compared, because an orthogonalised block of a gradient is no block of the orthogonalised one.
// Three steps of the iteration multiply what sums in another order differ by, by up to 41.
constexpr const char* muon_optimizer =
    "{name: muon, lr: 0.1, newton_schulz_steps: 3, adamw_lr: 0.01, adamw_eps: 0.01}";

// Its first moments are compared: a tenth of the gradients, in blocks of bytes that are others on another mesh.
// A value of more than a tenth of its block's largest is off by up to 1/128 of the largest.
constexpr const char* byte_optimizer = "{name: adamw_8bit, lr: 0.01, block_size: 64, float32_below: 0}";

class EveryMesh : public testing::TestWithParam<Family> {
 protected:
  bool experts() const { return GetParam().experts; }

  // Trains on one rank what the meshes of this many ranks are compared with.
  void prepare(int ranks) {
    sizes_ = sizes_for(ranks);
    std::mt19937 random(5);
    const auto below = [&](int end) {
      return static_cast<std::int32_t>(random() % static_cast<unsigned>(end));
    };
    std::string job = std::string(job_template) + GetParam().keys;
    job.replace(job.find("VOCABULARY"), 10, GetParam().vocabulary);
    if (!GetParam().key_heads) {
      for (const std::string line : {"    num_key_value_heads: KV_HEADS\n", "    head_dim: 6\n"})
        job.erase(job.find(line), line.size());
      job.replace(job.find("hidden_size: 32"), 15,
                  "hidden_size: " + std::to_string(8 * sizes_.kv_heads));  // heads of 4
    }
    job_.folder().write("job.yaml", with_sizes(job, sizes_));
    job_.folder().write("tokens.npy", npy_file(sizes_.samples, sizes_.length,
                                               [&](int, int) { return below(vocabulary_size); }));
    // Samples and stretches of them count by different numbers of tokens, one sample not at all.
    job_.folder().write("labels.npy", npy_file(sizes_.samples, sizes_.length, [&](int sample, int column) {
                          const int counted = sizes_.length - 3 * std::min(sample, 8);
                          return sample == 5 || column >= counted || below(4) == 0 ? -100
                                                                                   : below(vocabulary_size);
                        }));
    job_.folder().write("positions.npy", npy_file(sizes_.samples, sizes_.length, [](int sample, int column) {
                          return static_cast<std::int32_t>(column % (5 + sample % 6));
                        }));
    const std::string run = "alone" + std::to_string(ranks);
    const double largest = train(run + "inf", infinity_norm()).norm;
    alone_ = train(run, {});
    alone_.largest = largest;
    EXPECT_LT(alone_.largest, alone_.norm);
    std::filesystem::remove_all(job_.run_folder(run));
    if (sizes_.layers == 4) {
      ASSERT_EQ(alone_.gradients.size(), GetParam().gradients);
    }
    ASSERT_FALSE(alone_.gradients.empty());
  }

  std::vector<DeviceMeshParameters> meshes(int ranks) const {
    return meshes_of(ranks, {.pipeline = sizes_.layers,
                             .tensor = sizes_.kv_heads,
                             .experts = experts() ? sizes_.experts : 0,
                             .context = GetParam().context});
  }

  Training train(const std::string& run, const Words& words, int steps = 1) {
    const Outcome outcome = job_.run(named(run) + set("optimizer", GetParam().optimizer) + packing() + words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.code == 0 ? training_of(run, steps) : Training();
  }

  Training training_of(const std::string& run, int steps = 1) const {
    Training result{job_.losses(run).at(0), job_.values(run, "grad_norm").at(0), 0, {}, {}};
    if (experts()) result.expert_load = job_.values(run, "metrics/expert_load/max_over_mean").at(0);
    const auto folder = job_.run_folder(run) / "checkpoints" / ("save-" + std::to_string(steps));
    const auto reader = CheckpointReader::open(disk_, folder.string());
    for (const TensorSpec& spec : reader->specs(GetParam().kind)) {
      result.gradients[spec.name] = reader->read(GetParam().kind, spec.name);
    }
    for (const TensorSpec& spec : reader->specs(buffer_kind))
      result.buffers[spec.name] = reader->read(buffer_kind, spec.name);
    return result;
  }

  static Words packing() { return GetParam().packed ? set("data.position_ids", "positions.npy") : Words(); }
  static Words infinity_norm() { return set("trainer.gradient_clipping.norm_type", "inf"); }

  void expect_same(const DeviceMeshParameters& mesh, bool checkpointed, const std::string& order,
                   const std::string& schedule, bool infinity = false) {
    SCOPED_TRACE(text_of(mesh) + (checkpointed ? " checkpointed " : " ") + order + " " + schedule);
    const std::string run = "run" + std::to_string(runs_++);
    expect_equal(train(run, words_of(mesh) + set("trainer.pipelining.schedule", schedule) +
                                set("trainer.pipelining.order", order) +
                                set("model_provider.enable_checkpointing", checkpointed ? "true" : "false") +
                                (infinity ? infinity_norm() : Words())),
                 infinity);
    std::filesystem::remove_all(job_.run_folder(run));
  }

  void expect_same_in_two_processes(const DeviceMeshParameters& mesh) {
    SCOPED_TRACE(text_of(mesh) + " in two processes");
    const std::string run = "run" + std::to_string(runs_++);
    const auto [first, second] = job_.start_two(
        mesh.world_size(), named(run) + set("optimizer", GetParam().optimizer) + packing() + words_of(mesh));
    EXPECT_EQ(first->wait(), 0) << first->err();
    EXPECT_EQ(second->wait(), 0) << second->err();
    if (HasFailure()) return;
    expect_equal(training_of(run));
  }

  void expect_equal(const Training& got, bool infinity = false) const {
    const double norm = infinity ? alone_.largest : alone_.norm;
    EXPECT_NEAR(got.norm, norm, gradient_tolerance * norm);
    EXPECT_NEAR(got.loss, alone_.loss, loss_tolerance * alone_.loss);
    EXPECT_EQ(got.expert_load, alone_.expert_load);
    EXPECT_EQ(got.buffers.size(), alone_.buffers.size());
    for (const auto& [name, buffer] : got.buffers) EXPECT_TRUE(buffer.equal(alone_.buffers.at(name))) << name;
    EXPECT_EQ(got.gradients.size(), alone_.gradients.size());
    for (const auto& [name, gradient] : got.gradients) {
      const at::Tensor& expected = alone_.gradients.at(name);
      const double distance = (gradient - expected).norm().item<double>();
      EXPECT_LE(distance,
                GetParam().tolerance * expected.norm().item<double>() + noise_tolerance * alone_.norm)
          << name;
    }
  }

  // Schedules, orders and activation checkpointing take turns.
  void expect_same_on(const std::vector<DeviceMeshParameters>& meshes) {
    static const std::vector<std::string> schedules{"{schedule: 1f1b}", "{schedule: gpipe}",
                                                    "{schedule: 1f1b, zero_bubble: true}",
                                                    "{schedule: 1f1b, num_stages_per_rank: 2}"};
    for (std::size_t turn = 0; turn < meshes.size(); ++turn) {
      // Two stages on each of more ranks are more than the model's layers.
      const std::size_t choices = meshes[turn].pipeline_parallel == 2 ? 4 : 3;
      expect_same(meshes[turn], turn % 2 == 0, turn % 5 == 0 ? "dynamic" : "static",
                  schedules[turn % choices], turn % 3 == 1);
    }
  }

  TinyJob job_;
  PosixDisk disk_;
  Sizes sizes_{};
  Training alone_;
  int runs_ = 0;
};

TEST_P(EveryMesh, OneRankWithActivationCheckpointing) {
  prepare(1);
  expect_same({}, true, "static", "{schedule: 1f1b}");
}

TEST_P(EveryMesh, TwoRanks) {
  prepare(2);
  expect_same_on(meshes(2));
}

TEST_P(EveryMesh, FourRanks) {
  prepare(4);
  expect_same_on(meshes(4));
}

TEST_P(EveryMesh, EightRanks) {
  prepare(8);
  expect_same_on(sampled(meshes(8), meshes(8).size() / 8));
}

TEST_P(EveryMesh, ThreeFiveSixAndSevenRanks) {
  for (const int ranks : {3, 5, 6, 7}) {
    prepare(ranks);
    expect_same_on(sampled(meshes(ranks), ranks == 6 ? 3 : 2));
  }
}

TEST_P(EveryMesh, FourRanksInTwoProcesses) {
  prepare(4);
  for (const DeviceMeshParameters& mesh : sampled(meshes(4), meshes(4).size() / 4)) {
    expect_same_in_two_processes(mesh);
  }
}

const Family dense{"dense", dense_model, 47}, moe{"moe", moe_model, 51, true},
    llama{"llama", llama_model, 39}, qwen2{"qwen2", qwen2_model, 51},
    qwen2_moe{"qwen2_moe", qwen2_moe_model, 71, true}, mistral{"mistral", mistral_model, 39},
    mixtral{"mixtral", mixtral_model, 43, true}, gpt_oss{"gpt_oss", gpt_oss_model, 71, true},
    deepseek_v3{"deepseek_v3", deepseek_v3_model, 63, true},
    predicting{"predicting", predicting_model, 103, true},
    adapters{"adapters", mixture_with_adapters, 75, true}, parallel_moe{"own_model", own_model, 45, true},
    qwen3_next{
        .name = "qwen3_next", .keys = qwen3_next_model, .gradients = 69, .experts = true, .context = false},
    // Its head is tied unless the job says otherwise.
    gemma3_text{.name = "gemma3_text",
                .keys = gemma3_text_model,
                .gradients = 55,
                .vocabulary = "vocab_size: 90\n    tie_word_embeddings: false"};
const Family modernbert{.name = "modernbert",
                        .keys = modernbert_model,
                        .gradients = 41 + 12,
                        .vocabulary = "vocab_size: 90",
                        .key_heads = false};
Family modernbert_of(const char* name, const char* keys, std::size_t gradients) {
  Family family = modernbert;
  family.name = name, family.keys = keys, family.gradients = gradients;
  return family;
}
const auto name_of_family = [](const auto& info) { return info.param.name; };

Family packed(Family family, const char* name) {
  family.name = name;
  family.packed = true;
  return family;
}

// What runs on a mesh is the plan's, the same for every family: two have all meshes by day, the others those of two
// ranks and a few of four.
INSTANTIATE_TEST_SUITE_P(Families, EveryMesh, testing::Values(dense, moe), name_of_family);
INSTANTIATE_TEST_SUITE_P(Night, EveryMesh,
                         testing::Values(llama, qwen2_moe, gpt_oss, qwen3_next, gemma3_text, adapters,
                                         modernbert),
                         name_of_family);

class EveryMeshOfTwo : public EveryMesh {};

TEST_P(EveryMeshOfTwo, TrainsAsOneRank) {
  prepare(2);
  expect_same_on(meshes(2));
}

INSTANTIATE_TEST_SUITE_P(
    Families, EveryMeshOfTwo,
    testing::Values(llama, qwen2, qwen2_moe, mistral, mixtral, gpt_oss, qwen3_next, gemma3_text, adapters,
                    deepseek_v3, predicting, Family{"classifier", classifier_model, 47}, modernbert,
                    packed(modernbert, "packed_encoder"),
                    modernbert_of("encoder_adapters", modernbert_with_adapters, 20),
                    modernbert_of("encoder_classifier", modernbert_classifier, 42), parallel_moe,
                    Family{"own_model_factors", own_model_with_factors, 25, true},
                    packed(parallel_moe, "packed_own_model"), Family{"llama_biases", llama_biases_model, 67},
                    Family{"llama_adapters", llama_biases_with_adapters, 33},
                    Family{.name = "split_vocabulary",
                           .keys = dense_model_half_frozen,
                           .gradients = 48,
                           .vocabulary = split_vocabulary},
                    packed(qwen2_moe, "packed"), packed(deepseek_v3, "packed_latent"),
                    packed(qwen3_next, "packed_recurrent")),
    name_of_family);

class SomeMeshesOfFour : public EveryMesh {};

TEST_P(SomeMeshesOfFour, TrainAsOneRank) {
  prepare(4);
  expect_same_on(sampled(meshes(4), 4));
}

INSTANTIATE_TEST_SUITE_P(Families, SomeMeshesOfFour,
                         testing::Values(qwen2_moe, qwen3_next, gemma3_text, adapters, deepseek_v3,
                                         modernbert, parallel_moe),
                         name_of_family);

// The routers' biases move in every step and decide in the next one who is chosen.
class BalancedRouters : public EveryMesh {};

TEST_P(BalancedRouters, GoOnAfterAResumeAsIfItHadNotBeen) {
  prepare(2);
  const Words two_ranks =
      words_of({.data_parallel_replicate = 2, .expert_parallel = 2}) + set("data.epochs", "as_needed");
  const auto until = [&](int steps) {
    return two_ranks + set("trainer.schedule.total_steps", std::to_string(steps));
  };
  const Training straight = train("straight", until(3), 3);
  train("resumed", until(2), 2);

  const Training resumed = train("resumed", until(3), 3);

  ASSERT_EQ(straight.buffers.size(), 3U);
  for (const auto& [name, buffer] : resumed.buffers) {
    EXPECT_TRUE(buffer.equal(straight.buffers.at(name))) << name;
    EXPECT_GT(buffer.abs().max().item<float>(), 0.005F) << name;  // an odd number of steps of 0.01
  }
  for (const auto& [name, gradient] : resumed.gradients)
    EXPECT_TRUE(gradient.equal(straight.gradients.at(name))) << name;
}

INSTANTIATE_TEST_SUITE_P(Families, BalancedRouters, testing::Values(deepseek_v3), name_of_family);

// The last stage has a copy of the embedding, for a head that is tied to it or to predict further tokens; the
// pipeline's ends are on two ranks or come back to one.
class TiedOverStages : public EveryMesh {};

TEST_P(TiedOverStages, TrainAsOneRank) {
  prepare(2);
  for (const char* schedule : {"{schedule: 1f1b}", "{schedule: zero_bubble_v}", "{schedule: dual_pipe_v}"})
    expect_same({.pipeline_parallel = 2}, /*checkpointed=*/false, "static", schedule);
  std::vector<DeviceMeshParameters> with_stages = meshes(4);
  std::erase_if(with_stages, [](const DeviceMeshParameters& mesh) { return mesh.pipeline_parallel == 1; });
  expect_same_on(sampled(with_stages, 3));
}

// As many gradients as without, less the head's.
Family tied(Family family, const char* name = nullptr) {
  family.vocabulary = "vocab_size: 90\n    tie_word_embeddings: true";
  --family.gradients;
  if (name != nullptr) family.name = name;
  return family;
}

INSTANTIATE_TEST_SUITE_P(Families, TiedOverStages,
                         testing::Values(tied(dense), tied(gemma3_text), tied(deepseek_v3), tied(qwen3_next),
                                         predicting, tied(predicting, "predicting_tied"), modernbert),
                         name_of_family);
INSTANTIATE_TEST_SUITE_P(Night, TiedOverStages,
                         testing::Values(tied(moe), tied(llama), tied(qwen2), tied(qwen2_moe), tied(mistral),
                                         tied(mixtral), tied(gpt_oss)),
                         name_of_family);

// Matrices in parts of tensor parallelism, FSDP and both, experts on ranks of their own.
class MuonOnMeshes : public EveryMesh {};

TEST_P(MuonOnMeshes, TwoFourAndEightRanks) {
  prepare(2);
  expect_same_on(meshes(2));
  expect_same_on(sampled(meshes(4), 6));
  expect_same_on(sampled(meshes(8), 4));
  expect_same_in_two_processes(
      {.data_parallel_replicate = 1, .data_parallel_shard = 2, .tensor_parallel = 2});
}

INSTANTIATE_TEST_SUITE_P(Families, MuonOnMeshes,
                         testing::Values(Family{"moe", moe_model, 51, true, muon_optimizer, "param", 2e-3}),
                         name_of_family);

// Blocks of parameters in parts of tensor parallelism, FSDP and both, experts on ranks of their own.
class BytesOnMeshes : public EveryMesh {};

TEST_P(BytesOnMeshes, TwoFourAndEightRanks) {
  prepare(2);
  expect_same_on(meshes(2));
  expect_same_on(sampled(meshes(4), 6));
  expect_same_on(sampled(meshes(8), 4));
}

INSTANTIATE_TEST_SUITE_P(Families, BytesOnMeshes,
                         testing::Values(Family{"moe", moe_model, 51, true, byte_optimizer, "exp_avg", 2e-2}),
                         name_of_family);

}  // namespace
}  // namespace d9d::test
