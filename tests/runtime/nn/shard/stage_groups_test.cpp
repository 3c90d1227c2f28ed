#include "runtime/nn/shard/stage_groups.hpp"

#include <gmock/gmock.h>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/shared_memory/single.hpp"

namespace d9d {
namespace {

using ::testing::ElementsAre;

TEST(StageGroups, OpenOneCommunicatorForEachUseAndKeepIt) {
  std::vector<std::string> opened;
  const MeshDomains domains({.tensor_parallel = 2});
  StageGroups groups(domains, 1,
                     [&](const std::string& domain, const std::vector<std::string>& axes,
                         const std::string& use) -> std::shared_ptr<Communicator> {
                       opened.push_back(domain + " " + axes.front() + " " + use);
                       return std::make_shared<SingleCommunicator>();
                     });

  const auto blocks = groups.open("dense", {"tp"}, "blocks");
  const auto head = groups.open("dense", {"tp"}, "head");

  EXPECT_EQ(groups.open("dense", {"tp"}, "blocks"), blocks);
  EXPECT_NE(head, blocks);
  EXPECT_THAT(opened, ElementsAre("dense tp blocks", "dense tp head"));
}

}  // namespace
}  // namespace d9d
