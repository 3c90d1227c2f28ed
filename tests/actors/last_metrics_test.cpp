// The end of a job loses no metric: they are reduced beside training, and may come after everything else.
#include <gtest/gtest.h>

#include "actors/metric_collector.hpp"
#include "actors/tracker.hpp"
#include "messages/lists.hpp"
#include "runtime/metric/aggregation.hpp"
#include "tests/actors/coordinator_fixture.hpp"

namespace d9d {
namespace {

using test::ActorWorld;
using test::coordinator_id;

constexpr ActorId tracker_id{Role::tracker, 0};
constexpr ActorId metrics_id{Role::metric_collector, 0};
constexpr ActorId group_id{Role::collective, 1};
constexpr ActorId trainer_id{Role::trainer, 0};
constexpr ActorId executor_id{Role::rank_executor, 0};

// What the tracker wrote, while it was open.
class Page final : public TrackerRun {
 public:
  explicit Page(std::map<std::string, double>& values) : values_(values) {}
  void write(const Point& point, const TrackerValue& value) override {
    values_[point.name + "@" + std::to_string(point.step)] = std::get<Scalar>(value).value;
  }
  void end_step(std::int64_t /*step*/) override {}
  void hparams(const nlohmann::json& /*hparams*/) override {}
  void flush() override {}
  void close() override {}

 private:
  std::map<std::string, double>& values_;
};

// A group of one rank: the sum over all is what was asked.
class Alone final : public Actor {
 public:
  using Actor::Actor;
  void behavior(Handlers& handlers) override { handlers.on(this, &Alone::reduce_values); }
  void reduce_values(wire::ReduceValues::Reader message) {
    tell<wire::ValuesReduced>(sender(), [&](wire::ValuesReduced::Builder reduced) {
      reduced.setOrder(message.getOrder());
      reduced.setValues(message.getValues());
    });
  }
};

// The parent of all, which stops the tracker when the job is over.
class Parent final : public Actor {
 public:
  using Actor::Actor;
  void behavior(Handlers& handlers) override { handlers.on(this, &Parent::stop_node); }
  void stop_node(wire::StopNode::Reader /*message*/) { tell<wire::Stop>(tracker_id); }
};

class LastMetrics : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  void play(std::uint64_t resumed_step) {
    world.play<Parent>(ActorWorld::parent_id);
    world.play<Alone>(group_id);
    world.play<Tracker>(tracker_id, TrackerOptions{.open_runs =
                                                       [this] {
                                                         std::vector<std::unique_ptr<TrackerRun>> runs;
                                                         runs.push_back(std::make_unique<Page>(page));
                                                         return runs;
                                                       },
                                                   .resumed_step = resumed_step});
    world.play<MetricCollector>(
        metrics_id, MetricCollectorOptions{.rank = 0, .collective = group_id, .create = [](Compose& metrics) {
                                             metrics.add("accuracy", std::make_unique<WeightedMean>());
                                           }});
    world.play<Coordinator>(coordinator_id, CoordinatorOptions{.world_size = 1, .find_resume_point = [] {
                                                                 return ResumePoint();
                                                               }});
    world.say<wire::Join>(
        coordinator_id, [](wire::Join::Builder join) { join.setRanks(1); }, {Role::node, 9}, world.ear());
    world.say<wire::NodeReady>(coordinator_id, [](wire::NodeReady::Builder ready) { ready.setNodeIndex(0); },
                               {Role::node, 0});
  }
  // What is said of a step where its metrics are due.
  void step(std::uint64_t number) {
    world.post<wire::StepFinished>(
        tracker_id,
        [&](wire::StepFinished::Builder finished) {
          finished.setStep(number);
          finished.setMetricsFollow(true);
        },
        trainer_id);
    world.post<wire::MetricsTaken>(
        metrics_id,
        [&](wire::MetricsTaken::Builder taken) {
          taken.setStep(number);
          fill_list(taken.initState(2), std::vector<double>{3, 4});
        },
        executor_id);
  }
  void finished(std::uint64_t number) {
    world.post<wire::RankFinished>(
        coordinator_id, [&](wire::RankFinished::Builder done) { done.setStep(number); }, {Role::trainer, 0});
  }

  std::map<std::string, double> page;
  ActorWorld world{GetParam()};
};

TEST_P(LastMetrics, AreWrittenBeforeTheTrackerStopsWhateverOvertakesWhat) {
  play(0);

  step(1);
  step(2);
  finished(2);
  world.run();

  EXPECT_FALSE(world.lives(tracker_id)) << "the job has to end";
  EXPECT_EQ(page.count("metrics/accuracy@1"), 1U);
  EXPECT_EQ(page.count("metrics/accuracy@2"), 1U);
  EXPECT_EQ(page.count("loss@2"), 1U);
}

TEST_P(LastMetrics, OfAJobWithNothingLeftToTrainAreNotWaitedFor) {
  play(7);

  finished(5);
  world.run();

  EXPECT_FALSE(world.lives(tracker_id));
}

INSTANTIATE_TEST_SUITE_P(Seeds, LastMetrics, ::testing::Range<std::uint64_t>(1, 200));

}  // namespace
}  // namespace d9d
