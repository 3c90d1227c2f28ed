// A step that keeps results of costly ops and computes the rest of each layer again: on meshes, under schedules, with
// adapters and on delayed devices it has the bits of a step that keeps everything.
#include <gtest/gtest.h>

#include "runtime/device/host_waits.hpp"
#include "runtime/devices/delayed/machine.hpp"
#include "tests/runtime/rank/delayed_case.hpp"
#include "tests/support/meshes.hpp"
#include "tests/support/parallel_world.hpp"

namespace d9d::test {
namespace {

using kernels::KeptKind;
using Mesh = DeviceMeshParameters;

void expect_bits_of_none(ParallelCase given) {
  SCOPED_TRACE(text_of(given.mesh));
  const Trained none = train_once(given);
  given.enable_checkpointing = true;
  const std::vector<std::vector<KeptKind>> choices{
      {},
      {KeptKind::attention, KeptKind::exchange},
      {KeptKind::attention, KeptKind::linear, KeptKind::experts, KeptKind::exchange}};
  for (const auto& keeps : choices) {
    SCOPED_TRACE(testing::Message() << "keeping " << keeps.size());
    given.checkpoint_keeps = keeps;
    expect_same_bits(train_once(given), none);
  }
}

TEST(SelectiveCheckpointOnMeshes, HasTheBitsOfNone) {
  for (const Mesh& mesh :
       {Mesh{.data_parallel_shard = 2}, Mesh{.tensor_parallel = 2}, Mesh{.tensor_parallel = 4},
        Mesh{.data_parallel_replicate = 2, .data_parallel_shard = 2}}) {
    expect_bits_of_none(case_of(mesh));
  }
  for (const Mesh& mesh : {Mesh{.data_parallel_replicate = 2, .expert_parallel = 2},
                           Mesh{.data_parallel_shard = 2, .tensor_parallel = 2, .expert_parallel = 4}}) {
    expect_bits_of_none(case_of(mesh, Qwen3Kind::moe));
  }
}

TEST(SelectiveCheckpointOnMeshes, OfSharedSequencesHasTheBitsOfNone) {
  for (const ContextAttention attention : {ContextAttention::ring, ContextAttention::ulysses}) {
    ParallelCase given = case_of({.context_parallel_shard = 2});
    given.options.context = {attention, TokenOrder::zigzag};
    expect_bits_of_none(given);
  }
}

TEST(SelectiveCheckpointInSchedules, HasTheBitsOfNone) {
  const std::vector<ScheduleConfig> schedules{OneFOneBSchedule{1, true}, OneFOneBSchedule{2, true},
                                              ZeroBubbleVSchedule{}, DualPipeVSchedule{}};
  for (const ScheduleConfig& schedule : schedules) {
    SCOPED_TRACE(std::string(name_of(schedule)));
    ParallelCase given = case_of({.pipeline_parallel = 2, .data_parallel_replicate = 2, .expert_parallel = 2},
                                 Qwen3Kind::moe, schedule);
    given.microbatches = 4;
    expect_bits_of_none(given);
  }
}

TEST(SelectiveCheckpointOfAdapters, HasTheBitsOfNone) {
  for (const bool use_dora : {false, true}) {
    for (const Qwen3Kind kind : {Qwen3Kind::dense, Qwen3Kind::moe}) {
      if (use_dora && kind == Qwen3Kind::moe) continue;
      ParallelCase given = case_of({.pipeline_parallel = 2}, kind, OneFOneBSchedule{1, true});
      given.peft = LoraConfig{".*", {.r = 3, .alpha = 6, .use_dora = use_dora}, {}};
      expect_bits_of_none(given);
      if (use_dora) continue;
      given = case_of({.tensor_parallel = 2}, kind);
      given.peft = LoraConfig{".*_proj", {.r = 3, .alpha = 6, .dropout = 0.5}, {}};
      expect_bits_of_none(given);
    }
  }
}

// Tokens whose way was kept travel without the host waiting for it again.
TEST(SelectiveCheckpointOnDevices, HasTheBitsOfTheCpuAndWaitsOnceForTheWayOfTokens) {
  for (const bool keeps : {false, true}) {
    ParallelCase given = case_of({.data_parallel_replicate = 2, .expert_parallel = 2}, Qwen3Kind::moe);
    given.enable_checkpointing = true;
    if (keeps) given.checkpoint_keeps = {KeptKind::attention, KeptKind::exchange};
    const Trained expected = train_once(given);
    given.delayed = true;
    for (int rank = 0; rank < given.mesh.world_size(); ++rank) delayed::machine(rank).reseed(7);
    HostWaits::take();

    expect_same_bits(train_once(given), expected);

    std::uint64_t for_tokens = 0;
    for (const auto& [where, count] : HostWaits::take())
      if (where.second == "counts of tokens") for_tokens += count;
    const auto layers = static_cast<std::uint64_t>(given.model.num_hidden_layers * given.microbatches * 2);
    EXPECT_EQ(for_tokens, keeps ? layers : 2 * layers);
  }
}

}  // namespace
}  // namespace d9d::test
