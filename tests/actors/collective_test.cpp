#include "actors/collective.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/lists.hpp"
#include "tests/support/actor_world.hpp"

namespace d9d {
namespace {

using test::ActorWorld;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const ActorId group_id = collective_id(3, 1);
constexpr ActorId trainer_id{Role::trainer, 3};
constexpr ActorId executor_id{Role::rank_executor, 3};

// Adds a hundred to every value, keeps what it was asked.
class HundredMore final : public CollectiveWorker {
 public:
  explicit HundredMore(std::vector<std::string>& ran) : ran_(ran) {}
  void prepare() override { ran_.push_back("prepare"); }
  void close() override { ran_.push_back("close"); }
  const std::string& name() const override { return name_; }
  const char* reduction() const override { return "all_reduce"; }
  double reduce_bucket(int bucket) override {
    ran_.push_back("bucket " + std::to_string(bucket));
    return 0.5 + bucket;
  }
  std::uint64_t bucket_bytes(int /*bucket*/) const override { return 8; }
  void reduce_values(std::vector<double>& values, ReduceOp operation) override {
    ran_.push_back(fmt::format("values {} by {}", values.front(), name_of(operation)));
    for (double& value : values) value += 100;
  }

 private:
  std::vector<std::string>& ran_;
  const std::string name_ = "step";
};

class CollectiveTest : public ::testing::Test {
 protected:
  CollectiveTest() {
    world.play<Collective>(group_id, Collective::Options{std::make_shared<HundredMore>(ran)});
  }
  void reduce(std::uint64_t order, double value,
              wire::ReduceValues::Operation operation = wire::ReduceValues::Operation::SUM) {
    world.say<wire::ReduceValues>(
        group_id,
        [&](wire::ReduceValues::Builder message) {
          message.setOrder(order);
          message.setOperation(operation);
          message.initValues(1).set(0, value);
        },
        trainer_id);
  }
  std::vector<std::string> ran;
  ActorWorld world;
};

TEST_F(CollectiveTest, MeetsItsGroupBeforeItSaysReady) {
  EXPECT_THAT(ran, ElementsAre("prepare"));
  EXPECT_EQ(world.last<wire::Ready>()->getRank(), 3);
}

TEST_F(CollectiveTest, RunsValueReductionsInOrderThoughAskedOutOfOrder) {
  reduce(2, 30);
  reduce(1, 20);
  EXPECT_THAT(ran, ElementsAre("prepare"));

  reduce(0, 10);

  EXPECT_THAT(ran, ElementsAre("prepare", "values 10 by sum", "values 20 by sum", "values 30 by sum"));
  const auto replies = world.heard<wire::ValuesReduced>(trainer_id);
  ASSERT_EQ(replies.size(), 3U);
  for (std::uint64_t order = 0; order < 3; ++order) {
    EXPECT_EQ(replies[order]->getOrder(), order);
    EXPECT_EQ(replies[order]->getValues()[0], 110 + 10 * static_cast<double>(order));
  }
}

TEST_F(CollectiveTest, UsesTheOperationItIsAskedFor) {
  reduce(0, 1, wire::ReduceValues::Operation::MAX);
  reduce(1, 2, wire::ReduceValues::Operation::MIN);

  EXPECT_THAT(ran, ElementsAre("prepare", "values 1 by max", "values 2 by min"));
}

TEST_F(CollectiveTest, AReductionAskedForTwiceIsABug) {
  reduce(0, 1);
  reduce(0, 1);

  EXPECT_THAT(std::string(world.last<wire::Failed>()->getText()),
              HasSubstr("reduction 0 was asked for twice"));
  EXPECT_EQ(world.heard<wire::ValuesReduced>().size(), 1U);
}

TEST_F(CollectiveTest, ClosesItsGroupWhileTheRankSleeps) {
  world.say<wire::Sleep>(
      group_id, [](wire::Sleep::Builder sleep) { sleep.setStep(4); }, trainer_id);
  EXPECT_EQ(world.last<wire::Slept>(trainer_id)->getStep(), 4U);
  EXPECT_THAT(ran, ElementsAre("prepare", "close"));

  world.say<wire::Wake>(
      group_id, [](wire::Wake::Builder wake) { wake.setStep(4); }, trainer_id);
  EXPECT_EQ(world.last<wire::Awake>(trainer_id)->getStep(), 4U);
  reduce(0, 1);

  EXPECT_THAT(ran, ElementsAre("prepare", "close", "prepare", "values 1 by sum"));
  EXPECT_EQ(world.heard<wire::Ready>().size(), 1U) << "once";
}

TEST_F(CollectiveTest, SleepingOverAReductionThatWaitsForAnotherIsABug) {
  reduce(1, 20);
  world.say<wire::Sleep>(
      group_id, [](wire::Sleep::Builder) {}, trainer_id);

  EXPECT_THAT(std::string(world.last<wire::Failed>()->getText()),
              HasSubstr("while reduction 1 is asked for"));
}

TEST_F(CollectiveTest, AnswersABucketWithThisRanksShareOfItsNorm) {
  world.say<wire::ReduceBucket>(
      group_id,
      [](wire::ReduceBucket::Builder message) {
        message.setStep(7);
        message.setBucket(2);
      },
      executor_id);

  const auto reduced = world.last<wire::BucketReduced>(executor_id);
  EXPECT_EQ(reduced->getStep(), 7U);
  EXPECT_EQ(reduced->getBucket(), 2U);
  EXPECT_EQ(reduced->getNormShare(), 2.5);
}

}  // namespace
}  // namespace d9d
