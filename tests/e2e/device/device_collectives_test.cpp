// Jobs of several ranks with devices: by NCCL's communicators, or with devices that ranks share; and how they end.
#include <gmock/gmock.h>

#include "tests/support/curve_test.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Words by_nccl() {
  return set("node.device", "delayed") + set("node.collectives", "nccl");
}
Words on_devices(int count) {
  return set("node.device", "delayed") + set("node.devices", std::to_string(count));
}
Words degrees(const std::vector<std::pair<std::string, int>>& given) {
  Words words;
  for (const auto& [key, ranks] : given) words = words + set("mesh." + key, std::to_string(ranks));
  return words;
}

class DeviceCollectives : public CurveTest {
 protected:
  std::vector<std::string> curve(const std::string& name, const Words& words) {
    run(named(name) + words);
    return job_.exact_curve(name);
  }
};

TEST_F(DeviceCollectives, TrainToTheBitsOfTheCpu) {
  const std::pair<Words, int> meshes[] = {
      {degrees({{"pipeline_parallel", 2}, {"data_parallel_replicate", 2}}), 2},
      {degrees({{"data_parallel_shard", 2}, {"tensor_parallel", 2}}), 1},
      {degrees({{"context_parallel_shard", 2}}), 1},
      {degrees({{"data_parallel_shard", 2}}) + set("optimizer", "{name: muon, lr: 0.01}"), 1},
      {degrees({{"data_parallel_shard", 2}}) + experts_on(2), 1}};
  int run = 0;
  for (const auto& [words, devices] : meshes) {
    const std::string name = "mesh" + std::to_string(run++);
    const auto expected = curve(name, words);
    EXPECT_EQ(curve(name + "n", words + by_nccl()), expected) << words.back();
    EXPECT_EQ(curve(name + "s", words + on_devices(devices)), expected) << words.back();
  }
}

TEST_F(DeviceCollectives, EndTheJobWhereACollectiveHangsOrFails) {
  const Words mesh =
      degrees({{"data_parallel_shard", 2}}) + by_nccl() + set("trainer.timeout.step_timeout", "3");
  for (const char* const fault : {"hang:1:40", "error:1:40"}) {
    const auto process = job_.start(mesh, {{"D9D_NCCL_FAULT", fault}});

    EXPECT_EQ(process->wait(std::chrono::seconds(60)), 1) << fault;
    EXPECT_THAT(process->err(),
                AllOf(HasSubstr("(nccl)"), HasSubstr("dp_cp_shard[0,1]"), HasSubstr("ranks 0, 1")));
  }
}

TEST_F(DeviceCollectives, AreRefusedWhereTheyCannotBe) {
  const Words two = degrees({{"data_parallel_replicate", 2}});

  const Outcome shared = job_.run(two + by_nccl() + set("node.devices", "1"));
  const Outcome dynamic = job_.run(two + by_nccl() + set("trainer.pipelining.order", "dynamic"));
  const Outcome many = job_.run(two + on_devices(3));
  const Outcome none = job_.run(set("node.devices", "2"));

  EXPECT_THAT(shared, is_refused("node.collectives: nccl, and 2 ranks share a device"));
  EXPECT_THAT(dynamic, is_refused(AllOf(HasSubstr("trainer.pipelining.order"), HasSubstr("order: static"))));
  EXPECT_THAT(many, is_refused("node.devices is 3, and this host has 2"));
  EXPECT_THAT(none, says("node.devices"));
}

}  // namespace
}  // namespace d9d::test
