#include "actors/cli/device.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t one_gib = std::int64_t{1} << 30;

JobConfig on_cuda() {
  JobConfig job;
  job.node.device = DeviceKind::cuda;
  return job;
}

// The first process of its host.
ProcessPlace with(int ranks) {
  return {.ranks = ranks};
}

DeviceSummary two_ranks_on(std::int64_t bytes) {
  return {CudaDriver{13000, {{"H100", bytes}}, ""},
          {{.pipeline_rank = 0,
            .parameters = 4 * one_gib,
            .gradients = 8 * one_gib,
            .optimizer = 16 * one_gib,
            .activations = 2 * one_gib},
           {.pipeline_rank = 1,
            .parameters = 4 * one_gib,
            .gradients = 8 * one_gib,
            .optimizer = 17 * one_gib,
            .checkpoint = 99 * one_gib,
            .loss = 1 * one_gib}}};
}

std::string refusal_of(const DeviceSummary& summary) {
  return test::error_of([&] { require_device(on_cuda(), with(1), summary); }, ErrorKind::input);
}

TEST(CliDevice, SaysWhatEachRankNeedsBesideTheCard) {
  const std::string text = device_text(on_cuda(), {with(1)}, two_ranks_on(80 * one_gib));

  EXPECT_THAT(
      text,
      AllOf(HasSubstr("cuda: driver for CUDA 13.0; GPU 0: H100, 80.0 GiB\n"),
            HasSubstr(
                "a rank of pp 0 needs 30.0 GiB on its GPU: parameters 4.0 GiB, gradients 8.0 GiB, moments "
                "and master weights 16.0 GiB, activations 2.0 GiB, loss 0.0 GiB"),
            HasSubstr("a rank of pp 1 needs 30.0 GiB"),
            HasSubstr("GPU 0: rank 0, 30.8 GiB of 80.0 GiB with CUDA's context\n")));
  EXPECT_EQ(device_text(JobConfig{}, {with(1)}, {}), "");
  EXPECT_THAT(device_text(on_cuda(), {with(1)}, {}), HasSubstr("no NVIDIA driver on this host"));
}

TEST(CliDevice, CountsInJson) {
  const config::Json json = to_json(two_ranks_on(80 * one_gib));

  EXPECT_EQ(json.at("driver_cuda"), "13.0");
  EXPECT_EQ(json.at("bytes_needed")[0].get<std::int64_t>(), 30 * one_gib);
  EXPECT_TRUE(to_json(DeviceSummary{}).at("driver_cuda").is_null());
}

JobConfig pipeline_of_two() {
  JobConfig job = on_cuda();
  job.mesh.pipeline_parallel = 2;
  return job;
}

TEST(CliDevice, AddsUpWhatRanksNeedOnOneCard) {
  const std::vector<GpuNeed> needs = gpu_needs(pipeline_of_two(), with(2), two_ranks_on(80 * one_gib));

  ASSERT_EQ(needs.size(), 1U);
  EXPECT_EQ(needs[0].ranks, (std::vector{0, 1}));
  EXPECT_EQ(needs[0].state, 57 * one_gib);
  EXPECT_EQ(needs[0].bytes, 60 * one_gib + one_gib * 3 / 4);
  const std::string text = device_text(pipeline_of_two(), {with(2)}, two_ranks_on(80 * one_gib));
  EXPECT_THAT(text,
              AllOf(HasSubstr("GPU 0: ranks 0, 1, 60.8 GiB of 80.0 GiB"), HasSubstr("collectives: local")));
}

// Two cards, a process for each.
DeviceSummary on_two_cards() {
  DeviceSummary summary = two_ranks_on(80 * one_gib);
  summary.driver->gpus.push_back({"H200", 140 * one_gib});
  return summary;
}

ProcessPlace second_of_two(std::optional<int> first_rank) {
  return {.ranks = 1, .first_rank = first_rank, .share = {.worker = {1, 2}}};
}

TEST(CliDevice, CountsTheRanksThatAProcessReallyHas) {
  const std::vector<GpuNeed> needs = gpu_needs(pipeline_of_two(), second_of_two(1), on_two_cards());

  ASSERT_EQ(needs.size(), 1U);
  EXPECT_EQ(needs[0].gpu, 1);
  EXPECT_EQ(needs[0].ranks, std::vector{1});
  EXPECT_EQ(needs[0].state, 29 * one_gib) << "of the second pipeline rank";
  EXPECT_EQ(needs[0].bytes_there, 140 * one_gib);
  EXPECT_EQ(process_text(pipeline_of_two(), second_of_two(1), on_two_cards()), "rank 1 on GPU 1");
  EXPECT_THAT(device_text(pipeline_of_two(), {second_of_two(1)}, on_two_cards()),
              HasSubstr("GPU 1: rank 1, 30.8 GiB of 140.0 GiB"));
}

TEST(CliDevice, TakesTheLargestNeedWhereTheRanksAreNotKnownYet) {
  const std::vector<GpuNeed> needs =
      gpu_needs(pipeline_of_two(), second_of_two(std::nullopt), on_two_cards());

  ASSERT_EQ(needs.size(), 1U);
  EXPECT_TRUE(needs[0].ranks.empty());
  EXPECT_EQ(needs[0].state, 29 * one_gib);
  EXPECT_THAT(device_text(pipeline_of_two(), {second_of_two(std::nullopt)}, on_two_cards()),
              HasSubstr("GPU 1: 1 rank, 30.8 GiB of 140.0 GiB"));
}

TEST(CliDevice, SaysWhatAProcessHas) {
  EXPECT_EQ(process_text(JobConfig{}, {.ranks = 2, .first_rank = 4}, {}), "ranks 4, 5");
  EXPECT_EQ(process_text(pipeline_of_two(), with(2), on_two_cards()), "ranks 0, 1 on GPUs 0, 1");
}

TEST(CliDevice, RefusesRanksThatAreLargerThanTheirCard) {
  EXPECT_THAT(refusal_of(two_ranks_on(28 * one_gib)),
              AllOf(HasSubstr("of rank 0 on GPU 0 are 28.0 GiB, while H100 has 28.0 GiB"),
                    HasSubstr("over more GPUs (mesh.data_parallel_shard)")));
  const auto both = [] { require_device(pipeline_of_two(), with(2), two_ranks_on(50 * one_gib)); };
  EXPECT_THAT(test::error_of(both, ErrorKind::input),
              AllOf(HasSubstr("of ranks 0, 1 on GPU 0 are 57.0 GiB, while H100 has 50.0 GiB"),
                    HasSubstr("let fewer ranks share it (node.devices, mesh)")));
}

TEST(CliDevice, RefusesLocalCollectivesOfSeveralProcesses) {
  for (const DeviceKind kind : {DeviceKind::cuda, DeviceKind::delayed}) {
    JobConfig job = pipeline_of_two();
    job.node.device = kind;
    job.node.collectives = CollectivesKind::local;
    EXPECT_THAT(
        test::error_of([&] { require_device(job, with(1), two_ranks_on(80 * one_gib)); }, ErrorKind::input),
        HasSubstr("this node has 1 of the mesh's 2 ranks: only NCCL joins devices of several nodes"));
  }
}

TEST(CliDevice, RefusesWithoutAPlugin) {
  setenv("D9D_CUDA_PLUGIN", "/nowhere/plugin.so", 1);
  const std::string refusal = refusal_of(two_ranks_on(80 * one_gib));
  unsetenv("D9D_CUDA_PLUGIN");

  EXPECT_THAT(refusal, HasSubstr("/nowhere/plugin.so does not exist"));
}

TEST(CliDevice, AsksNothingForTheCpu) {
  require_device(JobConfig{}, with(64), {});
}

}  // namespace
}  // namespace d9d
