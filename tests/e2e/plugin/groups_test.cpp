// Tasks of plugins know their rank and talk to each other along any axes of the mesh.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Groups : public testing::Test {
 protected:
  static Words talking(const std::string& run, const std::string& task = "talking") {
    return named(run) + set("plugins", "[" D9D_BINARY_DIR "/tests/e2e/libd9d_groups_plugin.so]") +
           set("task", "{name: " + task + "}") + set("trainer.schedule.total_steps", "6");
  }
  nlohmann::json said_by(int rank) const {
    std::ifstream file(job_.folder().path() / "said" / ("rank-" + std::to_string(rank) + ".json"));
    return nlohmann::json::parse(file);
  }

  TinyJob job_;
};

TEST_F(Groups, ReachEveryRankAlongTheirAxesInOneProcessAndInTwo) {
  const Words on = mesh(2, 1) + matrices_on(2);
  for (const bool two : {false, true}) {
    std::filesystem::create_directory(job_.folder().path() / "said");
    const std::string run = two ? "two" : "one";
    if (two) {
      const auto [first, second] = job_.start_two(4, talking(run) + on);
      ASSERT_EQ(first->wait(), 0) << first->err();
      ASSERT_EQ(second->wait(), 0) << second->err();
    } else {
      ASSERT_THAT(job_.run(talking(run) + on), ends_well());
    }

    EXPECT_THAT(said_by(3).at("world"), ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(said_by(3).at("pp"), ElementsAre(1, 3));
    EXPECT_THAT(said_by(3).at("tp"), ElementsAre(2, 3));
    EXPECT_THAT(said_by(3).at("dp"), ElementsAre(3));
    EXPECT_THAT(said_by(2).at("stage"), ElementsAre(2, 3));
    EXPECT_EQ(said_by(1).at("run"), run);
    EXPECT_EQ(said_by(1).at("seed"), 1);
    EXPECT_EQ(said_by(1).at("device"), "cpu");
    std::ifstream order(job_.folder().path() / "said" / "order.txt");
    int first_rank = -1, rank = 0, ranks = 0;
    while (order >> rank) first_rank = ranks++ == 0 ? rank : first_rank;
    EXPECT_EQ(first_rank, 0);
    EXPECT_EQ(ranks, 4);
    std::filesystem::remove_all(job_.folder().path() / "said");
  }
}

// CORE-14. Two commands on one machine stand for two hosts; the processes of one command are of one.
TEST_F(Groups, LetTheFirstRankOfEachHostGoFirst) {
  const auto order = [&](int node) {
    std::ifstream file(job_.folder().path() / "said" / ("host-of-" + std::to_string(node) + ".txt"));
    return std::vector<int>(std::istream_iterator<int>(file), {});
  };
  const Words on = mesh(2, 1) + matrices_on(2);
  std::filesystem::create_directory(job_.folder().path() / "said");
  const auto [first, second] = job_.start_two(4, talking("hosts") + on);
  ASSERT_EQ(first->wait(), 0) << first->err();
  ASSERT_EQ(second->wait(), 0) << second->err();
  EXPECT_THAT(said_by(1).at("host"), ElementsAre(0, 1));
  EXPECT_THAT(said_by(2).at("host"), ElementsAre(2, 3));
  EXPECT_THAT(order(0), ElementsAre(0, 1));
  EXPECT_THAT(order(1), ElementsAre(2, 3));

  ASSERT_THAT(job_.run(talking("one_host") + on + set("node.processes", "2")), ends_well());
  EXPECT_THAT(said_by(3).at("host"), ElementsAre(0, 1, 2, 3));
}

TEST_F(Groups, AFailureOfTheFirstRankOfAHostEndsTheJobOfThoseThatWaitForIt) {
  std::filesystem::create_directory(job_.folder().path() / "said");

  const auto [first, second] = job_.start_two(4, talking("damaged", "failing") + mesh(2, 1) + matrices_on(2));

  EXPECT_NE(first->wait(), 0);
  EXPECT_NE(second->wait(), 0);
  EXPECT_THAT(first->err(), HasSubstr("the archive is damaged"));
}

TEST_F(Groups, ServeTheLossOfEveryStep) {
  std::filesystem::create_directory(job_.folder().path() / "said");
  const Outcome talked = job_.run(talking("talked") + mesh(1, 2));
  ASSERT_EQ(talked.code, 0) << talked.err;
  const Outcome plain = job_.run(talking("plain", "causal_lm") + mesh(1, 2));
  ASSERT_EQ(plain.code, 0) << plain.err;

  EXPECT_EQ(job_.exact_curve("talked"), job_.exact_curve("plain")) << "all samples have equally many tokens";
}

}  // namespace
}  // namespace d9d::test
