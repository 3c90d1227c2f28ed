#include "actors/job/best_checkpoint.hpp"

#include <gtest/gtest.h>

#include "runtime/state/checkpoint_commit.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

class BestCheckpoint : public ::testing::Test {
 protected:
  void save(std::uint64_t step, const std::string& rank_state) {
    const std::string name = folder_ / checkpoint_name(step);
    disk_.make_directories(name + ".tmp-x");
    commit_checkpoint(disk_, name + ".tmp-x", name,
                      {.step = step, .extra = R"({"ranks":{"0":)" + rank_state + "}}"});
  }
  std::optional<std::uint64_t> best(const std::set<std::uint64_t>& damaged = {}) {
    return best_checkpoint(disk_, folder_.path().string(), damaged);
  }

  PosixDisk disk_;
  test::TemporaryFolder folder_;
};

TEST_F(BestCheckpoint, IsTheOlderOneOfThoseWithTheLowestLoss) {
  save(1, R"({"evaluation_loss":3.5})");
  save(2, R"({"evaluation_loss":2.25})");
  save(3, R"({"evaluation_loss":2.25})");
  save(4, R"({"evaluation_loss":2.5})");

  EXPECT_EQ(best(), 2U);
  EXPECT_EQ(best({2}), 3U);
}

TEST_F(BestCheckpoint, IsNoneOfThoseThatWereNotEvaluated) {
  EXPECT_EQ(best(), std::nullopt);
  save(1, R"({"tokens_total":5})");
  EXPECT_EQ(best(), std::nullopt);

  save(2, R"({"evaluation_loss":9.0})");

  EXPECT_EQ(best(), 2U);
}

TEST_F(BestCheckpoint, IgnoresAManifestThatCannotBeRead) {
  save(1, R"({"evaluation_loss":3.5})");
  disk_.make_directories(folder_ / checkpoint_name(2));

  EXPECT_EQ(best(), 1U);
}

}  // namespace
}  // namespace d9d
