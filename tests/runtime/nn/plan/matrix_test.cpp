// Every mesh of up to eight ranks that makes sense trains as one rank does, whatever the schedule; by day a sample of
// those of eight.
#include <gtest/gtest.h>

#include "tests/support/meshes.hpp"
#include "tests/support/parallel_world.hpp"

namespace d9d::test {
namespace {

constexpr int ranks_max = 8;
constexpr int context_max = 4;  // heads, and half the tokens of a sample

struct Degree {
  const char* name;
  int DeviceMeshParameters::*value;
  int most;  // that is tried; 1 for a strategy that is not there yet
};

const std::vector<Degree>& degrees_of_ranks() {
  using Mesh = DeviceMeshParameters;
  static const std::vector<Degree> degrees{
      {"pp", &Mesh::pipeline_parallel, 4},       {"dpr", &Mesh::data_parallel_replicate, 8},
      {"dps", &Mesh::data_parallel_shard, 4},    {"cpr", &Mesh::context_parallel_replicate, 2},
      {"cps", &Mesh::context_parallel_shard, 4}, {"tp", &Mesh::tensor_parallel, 4}};
  return degrees;
}

// Calls act(mesh) for all powers of two of the degrees from `next` on.
template <class Act>
void for_meshes(DeviceMeshParameters mesh, std::size_t next, const Act& act) {
  if (next == degrees_of_ranks().size()) return act(mesh);
  const Degree& degree = degrees_of_ranks()[next];
  for (int value = 1; value <= degree.most; value *= 2) {
    mesh.*degree.value = value;
    const bool fits = mesh.world_size() <= ranks_max && mesh.context_parallel() <= context_max;
    if (fits) for_meshes(mesh, next + 1, act);
  }
}

std::vector<DeviceMeshParameters> meshes() {
  std::vector<DeviceMeshParameters> all;
  for_meshes({}, 0, [&](DeviceMeshParameters mesh) {
    for (int experts = 1; experts <= mesh.stage_size(); experts *= 2) {
      mesh.expert_parallel = experts;
      all.push_back(mesh);
    }
  });
  return all;
}

std::vector<DeviceMeshParameters> meshes_of_this_run() {
  std::vector<DeviceMeshParameters> chosen, largest;
  for (const DeviceMeshParameters& mesh : meshes())
    (mesh.world_size() == ranks_max ? largest : chosen).push_back(mesh);
  for (const DeviceMeshParameters& mesh : sampled(largest, 40)) chosen.push_back(mesh);
  return chosen;
}

std::string name_of_test(const DeviceMeshParameters& mesh) {
  std::string text = text_of(mesh);
  std::erase(text, ' ');
  return text;
}

class Matrix : public testing::TestWithParam<DeviceMeshParameters> {};
INSTANTIATE_TEST_SUITE_P(Meshes, Matrix, testing::ValuesIn(meshes_of_this_run()),
                         [](const auto& info) { return name_of_test(info.param); });

// Four layers, so that there are stages; eight experts, so that eight ranks can share them.
Qwen3Config model_of(Qwen3Kind family) {
  Qwen3Config model = tiny_qwen3(family);
  model.num_hidden_layers = 4;
  model.num_experts = 8;
  return model;
}

TEST_P(Matrix, TrainsAsOneRankDoes) {
  for (const Qwen3Kind family : {Qwen3Kind::dense, Qwen3Kind::moe}) {
    if (family == Qwen3Kind::dense && GetParam().has_expert_parallel()) continue;
    for (const bool enable_checkpointing : {false, true}) {
      SCOPED_TRACE(std::string(family == Qwen3Kind::moe ? "moe" : "dense") +
                   (enable_checkpointing ? " checkpointed" : ""));
      const Qwen3Config model = model_of(family);
      const auto heads = model.num_attention_heads / GetParam().tensor_parallel;
      const bool ulysses = enable_checkpointing && heads % GetParam().context_parallel() == 0;
      const auto attention = ulysses ? ContextAttention::ulysses : ContextAttention::ring;
      expect_equal_training({.mesh = GetParam(),
                             .model = model,
                             .options = {.context = {.attention = attention}},
                             .enable_checkpointing = enable_checkpointing,
                             .batch = tiny_batch(model, 16, 8),
                             .schedule = OneFOneBSchedule{},
                             .microbatches = 16 / GetParam().data_parallel()});
    }
  }
}

// A model, a batch and sequences that can be divided by so many ranks.
TEST(MatrixOfOtherWorlds, TrainAsOneRankDoes) {
  for (const int ranks : {3, 5, 6, 7}) {
    for (const Qwen3Kind family : {Qwen3Kind::dense, Qwen3Kind::moe}) {
      Qwen3Config model = model_of(family);
      model.num_hidden_layers = ranks;
      model.num_key_value_heads = ranks;
      model.num_attention_heads = 2 * ranks;
      model.intermediate_size = 8 * ranks;
      model.moe_intermediate_size = 4 * ranks;
      model.num_experts = 2 * ranks;
      const int experts = family == Qwen3Kind::moe ? 2 * ranks : 0;
      for (const DeviceMeshParameters& mesh :
           sampled(meshes_of(ranks, {.pipeline = ranks, .tensor = ranks, .experts = experts}), 2)) {
        SCOPED_TRACE((experts > 0 ? "moe " : "dense ") + text_of(mesh));
        expect_equal_training({.mesh = mesh,
                               .model = model,
                               .batch = tiny_batch(model, 2 * ranks, 2 * ranks),
                               .schedule = OneFOneBSchedule{},
                               .microbatches = 2 * ranks / mesh.data_parallel()});
      }
    }
  }
}

// Adapters beside every product with a weight, on a frozen model of which norms train.
TEST(MatrixOfAdapters, TrainsAsOneRankDoes) {
  for (const DeviceMeshParameters& mesh : sampled(meshes(), 24)) {
    for (const Qwen3Kind family : {Qwen3Kind::dense, Qwen3Kind::moe}) {
      if (family == Qwen3Kind::dense && mesh.has_expert_parallel()) continue;
      const bool enable_checkpointing = family == Qwen3Kind::moe;
      SCOPED_TRACE(std::string(enable_checkpointing ? "moe checkpointed on " : "dense on ") + text_of(mesh));
      const Qwen3Config model = model_of(family);
      const bool use_dora = family == Qwen3Kind::dense && mesh.tensor_parallel == 1;
      const LoraConfig lora{".*", {.r = 3, .alpha = 6, .use_dora = use_dora}, {}};
      expect_equal_training(
          {.mesh = mesh,
           .model = model,
           .options = {.zero1 = mesh.data_parallel_shard * mesh.context_parallel_shard == 1},
           .enable_checkpointing = enable_checkpointing,
           .batch = tiny_batch(model, 16, 8),
           .schedule = OneFOneBSchedule{1, true},
           .microbatches = 16 / mesh.data_parallel(),
           .peft = StackConfig{{{lora, FullTuneConfig{".*norm"}}}}});
    }
  }
}

// Stages of which nothing trains, before and after one that does.
TEST(MatrixOfAdapters, MayLeaveStagesWithoutAny) {
  const Qwen3Config model = model_of(Qwen3Kind::dense);
  for (const char* pattern : {R"(model\.layers\.0\..*)", R"(model\.layers\.1\..*)", "lm_head"}) {
    for (const bool enable_checkpointing : {false, true}) {
      SCOPED_TRACE(std::string(pattern) + (enable_checkpointing ? " checkpointed" : ""));
      expect_equal_training({.mesh = {.pipeline_parallel = 4, .data_parallel_shard = 2},
                             .model = model,
                             .enable_checkpointing = enable_checkpointing,
                             .batch = tiny_batch(model, 16, 8),
                             .schedule = OneFOneBSchedule{},
                             .microbatches = 8,
                             .peft = LoraConfig{pattern, {.r = 2, .alpha = 2}, {}}});
    }
  }
}

// Stages that split their backward, come back to the first
// rank, or overlap two actions, with tokens that travel.
TEST(MatrixOfSchedules, TrainsAsOneRankDoes) {
  const std::vector<ScheduleConfig> schedules{
      GpipeSchedule{},           LoopedBfsSchedule{2},  OneFOneBSchedule{2}, OneFOneBSchedule{1, true},
      OneFOneBSchedule{2, true}, ZeroBubbleVSchedule{}, DualPipeVSchedule{}};
  const Qwen3Config model = model_of(Qwen3Kind::moe);
  const std::vector<DeviceMeshParameters> meshes{
      {.pipeline_parallel = 2, .data_parallel_replicate = 2, .expert_parallel = 2},
      {.pipeline_parallel = 2, .tensor_parallel = 2, .expert_parallel = 2}};
  for (const ScheduleConfig& schedule : schedules) {
    for (const DeviceMeshParameters& mesh : meshes) {
      for (const bool enable_checkpointing : {false, true}) {
        SCOPED_TRACE(std::string(name_of(schedule)) + " on " + text_of(mesh) +
                     (enable_checkpointing ? " checkpointed" : ""));
        expect_equal_training({.mesh = mesh,
                               .model = model,
                               .enable_checkpointing = enable_checkpointing,
                               .batch = tiny_batch(model, 16, 8),
                               .schedule = schedule,
                               .microbatches = 8});
      }
    }
  }
}

// The first and the last stage hold copies of the embedding, on two ranks or on one.
class MatrixOfTiedStages : public testing::Test {
 protected:
  MatrixOfTiedStages() { model_.tie_word_embeddings = true; }

  // Those with at most as many stages as the model has layers.
  std::vector<ScheduleConfig> schedules(int pipeline) const {
    std::vector<ScheduleConfig> all{GpipeSchedule{},     OneFOneBSchedule{1, true}, LoopedBfsSchedule{2},
                                    OneFOneBSchedule{2}, OneFOneBSchedule{2, true}, ZeroBubbleVSchedule{},
                                    DualPipeVSchedule{}, OneFOneBSchedule{4}};
    std::erase_if(all, [&](const ScheduleConfig& schedule) {
      return pipeline * stages_per_rank(schedule) > model_.num_hidden_layers;
    });
    return all;
  }

  void expect_same(const DeviceMeshParameters& mesh, const ScheduleConfig& schedule,
                   const ParallelOptions& options = {}, const std::optional<PeftConfig>& peft = {}) const {
    SCOPED_TRACE(std::string(name_of(schedule)) + " on " + text_of(mesh));
    expect_equal_training({.mesh = mesh,
                           .model = model_,
                           .options = options,
                           .batch = tiny_batch(model_, 16, 8),
                           .schedule = schedule,
                           .microbatches = 16 / mesh.data_parallel(),
                           .peft = peft});
  }

  Qwen3Config model_ = model_of(Qwen3Kind::dense);
};

TEST_F(MatrixOfTiedStages, TrainUnderEverySchedule) {
  for (const int pipeline : {1, 2, 4}) {
    for (const ScheduleConfig& schedule : schedules(pipeline)) {
      expect_same({.pipeline_parallel = pipeline}, schedule);
      expect_same({.pipeline_parallel = pipeline, .data_parallel_replicate = 2}, schedule);
    }
  }
}

TEST_F(MatrixOfTiedStages, TrainOnMeshesOfEveryStrategy) {
  std::vector<DeviceMeshParameters> with_stages = meshes();
  std::erase_if(with_stages, [](const DeviceMeshParameters& mesh) {
    return mesh.pipeline_parallel == 1 || mesh.has_expert_parallel();
  });
  std::size_t turn = 0;
  for (const DeviceMeshParameters& mesh : sampled(with_stages, 24)) {
    const bool zero1 = mesh.data_parallel_shard * mesh.context_parallel_shard == 1;
    const std::vector<ScheduleConfig> choices = schedules(mesh.pipeline_parallel);
    expect_same(mesh, choices[turn++ % choices.size()], {.zero1 = zero1});
  }
}

TEST_F(MatrixOfTiedStages, TrainInShardsThatAreReducedAfterEachMicrobatch) {
  const ParallelOptions each{.fully_shard = {.reshard_after_forward = ReshardAfterForward::always,
                                             .reduce = ReducePeriod::microbatch}};
  for (const ScheduleConfig& schedule : schedules(2)) {
    expect_same({.pipeline_parallel = 2, .data_parallel_shard = 2}, schedule, each);
    expect_same({.pipeline_parallel = 2, .data_parallel_replicate = 2, .data_parallel_shard = 2}, schedule,
                each);
  }
}

// Tables of which some are frozen, on both stages alike; and adapters on a frozen model.
TEST_F(MatrixOfTiedStages, TrainWithPartsOfTheVocabularyAndWithAdapters) {
  const LoraConfig lora{".*_proj", {.r = 3, .alpha = 6}, {}};
  const std::vector<DeviceMeshParameters> with_stages{{.pipeline_parallel = 2},
                                                      {.pipeline_parallel = 2, .data_parallel_shard = 2},
                                                      {.pipeline_parallel = 2, .tensor_parallel = 2}};
  const std::vector<ScheduleConfig> both_ways{OneFOneBSchedule{1, true}, DualPipeVSchedule{}};
  for (const ScheduleConfig& schedule : both_ways) {
    for (const DeviceMeshParameters& mesh : with_stages) {
      model_.vocabulary_parts = {{"regular", 61}, {"special", 8}, {"added", 27}};
      expect_same(mesh, schedule);
      expect_same(mesh, schedule, {}, FreezeConfig{"model.embed_tokens.regular"});
      model_.vocabulary_parts.clear();
      expect_same(mesh, schedule, {}, lora);
      expect_same(mesh, schedule, {}, StackConfig{{{lora, FullTuneConfig{"model.embed_tokens"}}}});
    }
  }
}

}  // namespace
}  // namespace d9d::test
