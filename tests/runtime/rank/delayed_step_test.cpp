// A whole step of a rank on a delayed device: the bits of the CPU in every order of work, and a host that does not
// wait while it has actions to give.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "runtime/device/device.hpp"
#include "runtime/device/host_waits.hpp"
#include "runtime/devices/delayed/machine.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "tests/runtime/rank/delayed_case.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d::test {
namespace {

ParallelCase small_case(Qwen3Kind kind, ScheduleConfig schedule) {
  ParallelCase given{.mesh = {}, .model = tiny_qwen3(kind)};
  given.batch = tiny_batch(given.model);
  given.schedule = std::move(schedule);
  given.microbatches = 4;
  return given;
}

void expect_step_of_cpu(ParallelCase given) {
  const Trained expected = train_once(given);
  given.delayed = true;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    for (int rank = 0; rank < given.mesh.world_size(); ++rank) delayed::machine(rank).reseed(seed);
    HostWaits::take();

    const Trained trained = train_once(given);

    const HostWaits::Counts waits = HostWaits::take();
    EXPECT_EQ(HostWaits::in(waits, "step end"), 1U) << "for the losses and the norm";
    for (const auto& [where, count] : waits) {
      EXPECT_FALSE(in_action(where.first))
          << where.second << " waits " << count << " times in " << where.first;
    }
    expect_same_bits(trained, expected);
  }
}

TEST(DelayedStep, OfADenseModelHasTheBitsOfTheCpu) {
  expect_step_of_cpu(small_case(Qwen3Kind::dense, GpipeSchedule{}));
}

TEST(DelayedStep, OfStagesThatHandOnTensorsHasTheBitsOfTheCpu) {
  expect_step_of_cpu(small_case(Qwen3Kind::dense, OneFOneBSchedule{2}));
}

TEST(DelayedStep, WithBackwardsInHalvesHasTheBitsOfTheCpu) {
  expect_step_of_cpu(small_case(Qwen3Kind::dense, OneFOneBSchedule{2, true}));
  expect_step_of_cpu(small_case(Qwen3Kind::dense, ZeroBubbleVSchedule{}));
}

TEST(DelayedStep, ThatComputesLayersAgainHasTheBitsOfTheCpu) {
  ParallelCase given = small_case(Qwen3Kind::dense, OneFOneBSchedule{2, true});
  given.enable_checkpointing = true;
  expect_step_of_cpu(given);
}

TEST(DelayedStep, ThatOffloadsLayersHasTheBitsOfTheCpu) {
  for (const ScheduleConfig& schedule :
       std::vector<ScheduleConfig>{GpipeSchedule{}, OneFOneBSchedule{2}, OneFOneBSchedule{1, true}}) {
    ParallelCase given = small_case(Qwen3Kind::dense, schedule);
    given.model.num_hidden_layers = 4;
    for (const std::int64_t layers : {1, 2, 9}) {
      given.offload_layers = layers;
      expect_step_of_cpu(given);
    }
  }
  ParallelCase mixed = small_case(Qwen3Kind::moe, GpipeSchedule{});
  mixed.model.num_hidden_layers = 3;
  mixed.offload_layers = 2;
  expect_step_of_cpu(mixed);
  mixed.enable_checkpointing = true;  // of the third
  expect_step_of_cpu(mixed);
}

TEST(DelayedStep, OfAMixtureOfExpertsHasTheBitsOfTheCpu) {
  expect_step_of_cpu(small_case(Qwen3Kind::moe, GpipeSchedule{}));
  expect_step_of_cpu(small_case(Qwen3Kind::moe, OneFOneBSchedule{2, true}));
}

// Windows, biases, sinks, tied tables, latent and linear attention, shared experts, routing in groups.
TEST(DelayedStep, OfEachFamilyHasTheBitsOfTheCpu) {
  for (const char* name :
       {"dense_families/llama_bias_tied", "dense_families/llama_mlp_bias", "dense_families/mistral_window",
        "dense_families/qwen2", "sparse_families/mixtral", "sparse_families/qwen2_moe_mixed",
        "sparse_families/gpt_oss", "latent_families/deepseek_v3", "qwen3_next/mixed", "gemma3_text/capped",
        "modernbert/modernbert"}) {
    SCOPED_TRACE(name);
    ParallelCase given{.mesh = {}, .model = Qwen3Config()};
    given.other = read_hugging_face_config(std::string(D9D_SOURCE_DIR) + "/tests/golden/" + name);
    given.batch = tiny_batch(*given.other);
    given.schedule = OneFOneBSchedule{1, true};
    given.microbatches = 2;
    expect_step_of_cpu(given);
    given.offload_layers = 2;
    expect_step_of_cpu(given);
  }
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// The writer waits for the copies, here after the last step, and the rank for nothing: the update after a snapshot
// waits for them on the device.
void expect_snapshots_beside_training(ParallelCase given) {
  const TemporaryFolder folder;
  given.updates = 2;
  given.snapshots = folder / "cpu";
  const Trained expected = train_once(given);
  given.delayed = true;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    for (int rank = 0; rank < given.mesh.world_size(); ++rank) delayed::machine(rank).reseed(seed);
    given.snapshots = "";
    HostWaits::take();
    train_once(given);
    HostWaits::Counts without = HostWaits::take();
    given.snapshots = folder / fmt::format("delayed {}", seed);

    expect_same_bits(train_once(given), expected);

    HostWaits::Counts with = HostWaits::take();
    with.erase({"", "a snapshot"});  // of the writer, unless the copies were made by then
    EXPECT_EQ(with, without);
    for (int rank = 0; rank < given.mesh.world_size(); ++rank)
      for (int step = 1; step <= 2; ++step) {
        const std::string file = fmt::format("/rank-{}-step-{}.safetensors", rank, step);
        EXPECT_EQ(content_of(given.snapshots + file), content_of(folder / ("cpu" + file))) << file;
      }
  }
}

TEST(DelayedStep, BehindASnapshotWaitsForItOnTheDevice) {
  expect_snapshots_beside_training(small_case(Qwen3Kind::dense, GpipeSchedule{}));
  ParallelCase balanced{.mesh = {}, .model = Qwen3Config()};  // the balance of its experts is a buffer
  balanced.other = read_hugging_face_config(D9D_SOURCE_DIR "/tests/golden/latent_families/deepseek_v3");
  balanced.batch = tiny_batch(*balanced.other);
  balanced.microbatches = 2;
  expect_snapshots_beside_training(balanced);
}

}  // namespace
}  // namespace d9d::test
