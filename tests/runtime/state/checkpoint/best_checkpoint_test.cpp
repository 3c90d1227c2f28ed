#include "runtime/state/checkpoint/best_checkpoint.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/state/checkpoint/checkpoint_commit.hpp"
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
    return best_of(evaluation_values(disk_, folder_.path().string(), damaged));
  }
  std::string linked() const {
    return std::filesystem::canonical(folder_.path() / best_link_name).filename().string();
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

TEST_F(BestCheckpoint, HasALinkThatIsMovedWithIt) {
  save(1, R"({"evaluation_loss":3.5})");
  save(2, R"({"evaluation_loss":2.5})");
  const std::string folder = folder_.path().string();

  ASSERT_TRUE(set_best_link(folder, 1));
  EXPECT_EQ(linked(), "save-1");
  ASSERT_TRUE(set_best_link(folder, 2));
  EXPECT_EQ(linked(), "save-2");
  EXPECT_EQ(find_checkpoints(disk_, folder).size(), 2U) << "a link is no checkpoint of its own";
  ASSERT_TRUE(set_best_link(folder, std::nullopt));
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(folder_.path() / best_link_name)));
}

TEST_F(BestCheckpoint, LeavesAFileOfThatNameAlone) {
  folder_.write(best_link_name, "mine");

  EXPECT_FALSE(set_best_link(folder_.path().string(), 1));

  EXPECT_TRUE(std::filesystem::is_regular_file(folder_.path() / best_link_name));
}

// One that is among the newest counts as one of them.
TEST_F(BestCheckpoint, IsKeptBesideTheNewestAndNoOther) {
  for (const std::uint64_t step : {1, 2, 3, 4}) save(step, "{}");
  const std::string folder = folder_.path().string();

  rotate_checkpoints(disk_, folder, 2, {}, 1);
  EXPECT_EQ(find_checkpoints(disk_, folder).size(), 3U);
  rotate_checkpoints(disk_, folder, 2, {}, 4);

  const auto left = find_checkpoints(disk_, folder);
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(left[0].step, 4U);
  EXPECT_EQ(left[1].step, 3U);
}

TEST_F(BestCheckpoint, IsByTheMetricThatEvaluationsAreComparedBy) {
  const auto by = [](double value, const char* more) {
    return R"({"evaluation_loss":)" + std::to_string(10 - value) +
           R"(,"evaluation_metric":{"name":"accuracy","value":)" + std::to_string(value) + more + "}}";
  };
  save(1, by(0.5, R"(,"higher_is_better":true)"));
  save(2, by(0.75, R"(,"higher_is_better":true)"));
  save(3, by(0.25, R"(,"higher_is_better":true)"));
  EXPECT_EQ(best(), 2U);

  save(4, by(0.4, R"(,"higher_is_better":false)"));
  EXPECT_EQ(best(), 4U) << "what is compared otherwise counts no more";
}

}  // namespace
}  // namespace d9d
