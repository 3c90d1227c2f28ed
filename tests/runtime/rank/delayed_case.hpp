#pragma once
// A step of ranks that compute on delayed devices, and what it has to be.

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/support/parallel_world.hpp"

namespace d9d::test {

// Two microbatches, two layers for each rank of a pipeline.
inline ParallelCase case_of(const DeviceMeshParameters& mesh, Qwen3Kind kind = Qwen3Kind::dense,
                            ScheduleConfig schedule = GpipeSchedule{}) {
  ParallelCase given{.mesh = mesh, .model = tiny_qwen3(kind)};
  if (mesh.pipeline_parallel > 1) given.model.num_hidden_layers = 2 * mesh.pipeline_parallel;
  given.batch = tiny_batch(given.model);
  given.schedule = std::move(schedule);
  given.microbatches = 2;
  return given;
}

// Two stages a rank, whose parts both complete gradients: a bucket may have parameters of both stages.
inline OwnSchedule backwards_beside_weights() {
  OwnSchedule own;
  own.name = "backwards_beside_weights";
  own.made = std::make_shared<PipelineSchedule>(
      PipelineSchedule{.build =
                           [](int /*ranks*/, int microbatches) {
                             using Kind = ActionKind;
                             RankProgram program;
                             for (int i = 0; i < microbatches; ++i) {
                               program.push_back({{{Kind::forward, 0, i}}});
                               program.push_back({{{Kind::forward, 1, i}}});
                             }
                             for (int i = 0; i < microbatches; ++i) {
                               program.push_back({{{Kind::backward_input, 1, i}}});
                               program.push_back({{{Kind::backward, 0, i}, {Kind::backward_weight, 1, i}}});
                             }
                             return Program{program};
                           },
                       .stages_per_rank = 2});
  return own;
}

// Whether a host that waits there (HostWaits) waits inside of an action.
inline bool in_action(const std::string& place) {
  return place == "F" || place == "B" || place == "I" || place == "W";
}

inline void expect_same_bits(const Trained& trained, const Trained& expected) {
  EXPECT_EQ(trained.loss, expected.loss);
  EXPECT_EQ(trained.norm, expected.norm);
  ASSERT_EQ(trained.gradients.size(), expected.gradients.size());
  for (const auto& [name, gradient] : expected.gradients)
    EXPECT_TRUE(trained.gradients.at(name).equal(gradient)) << name;
}

}  // namespace d9d::test
