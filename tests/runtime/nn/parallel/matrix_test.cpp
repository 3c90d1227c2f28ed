// Every mesh of up to eight ranks that makes sense trains as one rank does, whatever the schedule.
#include <gtest/gtest.h>

#include "tests/support/parallel_world.hpp"

namespace d9d::test {
namespace {

constexpr int kRanksMax = 8;

// Degrees that are powers of two, in the order of the mesh.
std::vector<DeviceMeshParameters> meshes() {
  std::vector<DeviceMeshParameters> all;
  for (int pp = 1; pp <= 4; pp *= 2) {
    for (int replicas = 1; pp * replicas <= kRanksMax; replicas *= 2) {
      for (int experts = 1; experts <= replicas; experts *= 2) {
        all.push_back(
            {.pipeline_parallel = pp, .data_parallel_replicate = replicas, .expert_parallel = experts});
      }
    }
  }
  return all;
}

std::string text_of(const DeviceMeshParameters& mesh) {
  return MeshDomains(mesh).mesh_for(kRegularDomain).label(0) + " ep " + std::to_string(mesh.expert_parallel);
}

class Matrix : public testing::TestWithParam<DeviceMeshParameters> {};
INSTANTIATE_TEST_SUITE_P(Meshes, Matrix, testing::ValuesIn(meshes()), [](const auto& info) {
  const DeviceMeshParameters& mesh = info.param;
  return "pp" + std::to_string(mesh.pipeline_parallel) + "dp" + std::to_string(mesh.data_parallel_replicate) +
         "ep" + std::to_string(mesh.expert_parallel);
});

// Four layers, so that there are stages; eight experts, so that eight ranks can share them.
Qwen3Config model_of(ModelFamily family) {
  Qwen3Config model = tiny_qwen3(family);
  model.num_hidden_layers = 4;
  model.num_experts = 8;
  return model;
}

TEST_P(Matrix, TrainsAsOneRankDoes) {
  for (const ModelFamily family : {ModelFamily::dense, ModelFamily::moe}) {
    if (family == ModelFamily::dense && GetParam().has_expert_parallel()) continue;
    for (const bool enable_checkpointing : {false, true}) {
      SCOPED_TRACE(text_of(GetParam()) + (family == ModelFamily::moe ? " moe" : " dense") +
                   (enable_checkpointing ? " checkpointed" : ""));
      const Qwen3Config model = model_of(family);
      expect_equal_training({.mesh = GetParam(),
                             .model = model,
                             .enable_checkpointing = enable_checkpointing,
                             .batch = tiny_batch(model, 16, 8),
                             .schedule = OneFOneBSchedule{},
                             .microbatches = 16 / GetParam().data_parallel()});
    }
  }
}

// Stages that split their backward, come back to the first rank, or overlap two actions, with tokens that
// travel.
TEST(MatrixOfSchedules, TrainsAsOneRankDoes) {
  const std::vector<ScheduleConfig> schedules{
      GpipeSchedule{},           LoopedBfsSchedule{2},  OneFOneBSchedule{2}, OneFOneBSchedule{1, true},
      OneFOneBSchedule{2, true}, ZeroBubbleVSchedule{}, DualPipeVSchedule{}};
  const Qwen3Config model = model_of(ModelFamily::moe);
  for (const ScheduleConfig& schedule : schedules) {
    for (const bool enable_checkpointing : {false, true}) {
      SCOPED_TRACE(std::string(name_of(schedule)) + (enable_checkpointing ? " checkpointed" : ""));
      expect_equal_training(
          {.mesh = {.pipeline_parallel = 2, .data_parallel_replicate = 2, .expert_parallel = 2},
           .model = model,
           .enable_checkpointing = enable_checkpointing,
           .batch = tiny_batch(model, 16, 8),
           .schedule = schedule,
           .microbatches = 8});
    }
  }
}

}  // namespace
}  // namespace d9d::test
