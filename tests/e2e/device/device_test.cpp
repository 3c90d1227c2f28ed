// `node.device: cuda` on hosts that cannot do it: both commands refuse with a remedy, and nothing is written.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class DeviceCuda : public testing::Test {
 protected:
  // With the fake driver, of which the environment says what it has.
  Outcome call(const Words& words, Environment environment) {
    environment["LD_LIBRARY_PATH"] = D9D_BINARY_DIR "/fake_driver";
    const auto process = job_.spawn(words + set("node.device", "cuda"), environment);
    const int code = process->wait();
    return {code, process->out(), process->err()};
  }
  void expect_refused(const Words& words, const Environment& environment, const std::string& text) {
    SCOPED_TRACE(text);
    for (const Words& command : {Words{"check", "job.yaml"}, Words{"job.yaml"}}) {
      EXPECT_THAT(call(command + words, environment),
                  is_refused(AllOf(HasSubstr("d9d-node: error: "), HasSubstr("node.device: c"),
                                   HasSubstr(text), Not(HasSubstr("computing with")))));
    }
    EXPECT_FALSE(std::filesystem::exists(job_.folder().path() / "runs"));
  }
  TinyJob job_;
};

TEST_F(DeviceCuda, IsRefusedWithTheRemedyBeforeAFileIsWritten) {
  expect_refused({}, {{"FAKE_CUDA_VERSION", "12080"}}, "install a driver R580 or newer");
  expect_refused({}, {{"FAKE_GPUS", "0"}}, "finds no GPU");
  expect_refused(set("node.devices", "2"), {},
                 "GPU 1 is not there: the host has 1 GPU (Fake H100); set node.devices to 1");
  expect_refused(mesh(1, 2) + set("node.collectives", "nccl"), {},
                 "node.device: cuda and node.collectives: nccl, and 2 ranks share a device");
  expect_refused({}, {{"FAKE_GPU_MIB", "1"}}, "while Fake H100 has 0.0 GiB: shard them over more GPUs");
  expect_refused({}, {{"D9D_CUDA_PLUGIN", "/nowhere/libd9d_cuda.so"}},
                 "has no CUDA plugin: /nowhere/libd9d_cuda.so does not exist");
}

TEST_F(DeviceCuda, IsSharedByProcessesOfOneCommand) {
  const Words four = Words{"check", "job.yaml"} + mesh(2, 2);

  const Outcome each = call(four + set("node.processes", "per_device"), {{"FAKE_GPUS", "4"}});
  const Outcome pairs = call(four + set("node.processes", "2"), {{"FAKE_GPUS", "4"}});
  const Outcome alone = call(four + set("node.processes", "1"), {{"FAKE_GPUS", "4"}});

  EXPECT_THAT(each.out, AllOf(HasSubstr("worker 3 of 4: rank 3 on GPU 3\n"),
                              HasSubstr("GPU 3: rank 3, 0.8 GiB of 80.0"), HasSubstr("collectives: nccl")));
  EXPECT_THAT(pairs.out, HasSubstr("worker 1 of 2: ranks 2, 3 on GPUs 2, 3\n"));
  EXPECT_THAT(alone.out, AllOf(HasSubstr("GPU 3: rank 3, 0."), Not(HasSubstr("worker"))));
  for (const Words& command : {Words{"check", "job.yaml"}, Words{"job.yaml"}}) {
    EXPECT_THAT(call(command + mesh(2, 2) + set("node.processes", "4"), {{"FAKE_GPUS", "2"}}),
                is_refused("error: node.processes is 4, and there are 2 GPUs for them: set "
                           "node.processes to 2 or to per_device"));
  }
}

TEST_F(DeviceCuda, ShowsWhatARankNeedsBesideWhatTheCardHas) {
  const Words check{"check", "job.yaml"};

  const Outcome text = call(check, {{"FAKE_GPUS", "2"}});
  const Outcome json = call(check + Words{"--json"}, {{"FAKE_GPUS", "2"}});

  EXPECT_THAT(text.out,
              AllOf(HasSubstr("device    cuda: driver for CUDA 13.0; GPU 0: Fake H100, 80.0 GiB; GPU 1: "
                              "Fake H101, 80.0 GiB\n"),
                    HasSubstr("a rank of pp 0 needs 0.0 GiB on its GPU: parameters"),
                    HasSubstr("GPU 0: rank 0, 0.8 GiB of 80.0 GiB with CUDA's context\n")));
  const auto device = nlohmann::json::parse(json.out).at("device");
  EXPECT_EQ(device.at("gpus").size(), 2U);
  EXPECT_EQ(device.at("gpus")[0].at("bytes"), std::int64_t{81920} << 20);
  EXPECT_GT(device.at("bytes_needed")[0].get<std::int64_t>(), 1'000'000);
}

TEST_F(DeviceCuda, ShowsWhichRanksShareAGpu) {
  const Words check = Words{"check", "job.yaml"} + mesh(2, 2);

  const Outcome two = call(check, {{"FAKE_GPUS", "2"}});
  const Outcome four = call(check, {{"FAKE_GPUS", "4"}});

  EXPECT_THAT(two.out, AllOf(HasSubstr("GPU 0: ranks 0, 2, 0."), HasSubstr("GPU 1: ranks 1, 3, 0."),
                             HasSubstr("collectives: local")));
  EXPECT_THAT(four.out, AllOf(HasSubstr("worker 3 of 4: rank 3 on GPU 3\n"), HasSubstr("GPU 3: rank 3, 0."),
                              HasSubstr("collectives: nccl")));
}

TEST_F(DeviceCuda, ChangesNothingForAJobOnTheCpu) {
  EXPECT_THAT(job_.call({"check", "job.yaml"}), prints(Not(HasSubstr("device"))));
}

}  // namespace
}  // namespace d9d::test
