// What actors ask of the job: all ranks do it after the same step, before its checkpoint.
#include <csignal>

#include "messages/lists.hpp"
#include "tests/actors/loop/trainer_fixture.hpp"

namespace d9d {
namespace {

using namespace test;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class TrainerRequestsTest : public TrainerTest {
 protected:
  TrainerRequestsTest() {
    options.total_steps = 9;
    options.prefetch_steps = 0;
    training.roll_backs.count_max = 3;
    training.checkpoint_dir = [](std::uint64_t step) { return "save-" + std::to_string(step); };
    due = {1};
  }
  void reduced_with(double roll_back, double texts) {
    TrainerTest::reduced_with({.roll_back = roll_back, .texts = texts});
  }
  void save_first_step() {
    start();
    step(1);
    metric_state(1);
    committed(1);
  }
  void roll_back(std::uint64_t before) {
    world.say<wire::RollBack>(
        trainer_id, [&](wire::RollBack::Builder message) { message.setBefore(before); }, guard_id);
  }
};

TEST_F(TrainerRequestsTest, TheStateOfACheckpointReplacesThatOfTheStepAndIsSavedAgain) {
  save_first_step();
  batch(2);
  roll_back(2);
  computed(2);
  EXPECT_EQ(asked_wishes().roll_back, 2) << "one more than the step";

  reduced_with(2, 0);
  const auto restore = world.last<wire::RestoreState>(executor_id);
  EXPECT_EQ(std::string(restore->getDirectory()), "save-1");
  batch(3);
  EXPECT_EQ(begun(), 2U) << "the next step waits";
  applied(2);
  world.say<wire::StateRestored>(
      trainer_id, [](wire::StateRestored::Builder message) { message.setStep(2); }, executor_id);

  EXPECT_EQ(snapshots(), 2U);
  metric_state(2);
  EXPECT_THAT(std::string(world.last<wire::CheckpointState>(coordinator_id)->getState()),
              HasSubstr(R"("skipped_steps":1,"roll_backs":1)"));
  EXPECT_THAT(events(), Contains("train.rolled_back"));
}

TEST_F(TrainerRequestsTest, ARollBackThatIsOneTooManyEndsTheJob) {
  training.roll_backs.count_max = 0;
  save_first_step();
  roll_back(2);

  EXPECT_THAT(failure(), HasSubstr("roll_backs_max"));
}

TEST_F(TrainerRequestsTest, TextsAreMadeAfterTheStepOnWhichAllAgree) {
  options.world_size = 2;
  save_first_step();
  ask_for_texts();
  const auto passed = world.last<wire::GenerateTexts>(ActorId{Role::trainer, 1});
  EXPECT_EQ(passed->getNumber(), 1U);
  EXPECT_EQ(passed->getAsker(), guard_id.packed());

  batch(2);
  computed(2);
  reduced_with(0, 1);

  const auto made = world.last<wire::GenerateTexts>(executor_id);
  EXPECT_EQ(made->getStep(), 2U);
  EXPECT_EQ(made->getPrompts()[0].getIds()[1], 9);
  batch(3);
  EXPECT_EQ(begun(), 2U);
  world.say<wire::StepComputed>(
      trainer_id,
      [](wire::StepComputed::Builder message) {
        message.setStep(2);
        fill_pass(message.initPass(), {PassKind::TEXTS, 1});
      },
      executor_id);
  EXPECT_EQ(begun(), 3U);
}

TEST_F(TrainerRequestsTest, AnotherRankWaitsForTheRequestThatAllAgreeOn) {
  options.rank = 1;
  start();
  batch(1);
  computed(1);
  reduced_with(0, 1);
  EXPECT_TRUE(world.heard<wire::GenerateTexts>(executor_id).empty());

  world.say<wire::GenerateTexts>(trainer_id, [](wire::GenerateTexts::Builder message) {
    fill_request(message, {.prompts = {{5}}, .options = {}});
    message.setNumber(1);
    message.setAsker(guard_id.packed());
  });

  EXPECT_EQ(world.heard<wire::GenerateTexts>(executor_id).size(), 1U);
}

class TrainerRolloutsTest : public TrainerRequestsTest {
 protected:
  TrainerRolloutsTest() { options.prefetch_steps = 1; }
  void ask(std::uint64_t step, std::uint64_t after) {
    world.say<wire::WriteRollouts>(
        trainer_id,
        [&](wire::WriteRollouts::Builder message) {
          const TextRequest request{.prompts = {{5, 9}}, .options = {}, .first = step};
          fill_rollouts(message, request, request.prompts);
          message.setStep(step);
          message.setAfter(after);
        },
        loader_id);
  }
  void written(std::uint64_t step, std::uint64_t after) {
    world.say<wire::StepComputed>(
        trainer_id,
        [&](wire::StepComputed::Builder message) {
          message.setStep(after);
          fill_pass(message.initPass(), {PassKind::ROLLOUTS, static_cast<std::uint32_t>(step)});
        },
        executor_id);
  }
  Steps passed_on() {
    Steps steps;
    for (const auto& write : world.heard<wire::WriteRollouts>(executor_id)) steps.push_back(write->getStep());
    return steps;
  }
  std::size_t cancelled() {
    std::size_t count = 0;
    for (const auto& message : world.heard<wire::RolloutsWritten>(loader_id))
      count += message->getCancelled();
    return count;
  }
};

TEST_F(TrainerRolloutsTest, AreWrittenAfterTheirStepAndBeforeTheNextOneBegins) {
  due = {};
  start();
  ask(1, 0);
  const auto write = world.last<wire::WriteRollouts>(executor_id);
  EXPECT_EQ(write->getFirst(), 1U);
  EXPECT_EQ(write->getAfter(), 0U);
  EXPECT_EQ(write->getPrompts()[0].getIds()[1], 9);
  batch(1);
  EXPECT_EQ(begun(), 0U) << "the batch may come before the answer";
  written(1, 0);
  EXPECT_EQ(begun(), 1U);
  ask(2, 1);
  EXPECT_EQ(passed_on(), (Steps{1})) << "the step is in work";

  computed(1);
  reduced();

  EXPECT_EQ(passed_on(), (Steps{1, 2}));
  written(2, 1);
  applied(1);
  batch(2);
  EXPECT_EQ(begun(), 2U);
}

TEST_F(TrainerRolloutsTest, OfSeveralStepsAreWrittenInTheirOrder) {
  start();
  ask(1, 0);
  ask(2, 0);
  EXPECT_EQ(passed_on(), (Steps{1}));
  written(1, 0);
  EXPECT_EQ(passed_on(), (Steps{1, 2}));
}

TEST_F(TrainerRolloutsTest, WaitForACheckpointThatIsDueWhileAnotherIsWritten) {
  due = {1, 2};
  start();
  step(1);
  step(2);
  ask(3, 2);
  EXPECT_EQ(snapshots(), 1U);
  EXPECT_TRUE(passed_on().empty()) << "weights are copied between passes";

  metric_state(1);
  committed(1);

  EXPECT_EQ(snapshots(), 2U);
  EXPECT_EQ(passed_on(), (Steps{3}));
}

TEST_F(TrainerRolloutsTest, AreCancelledWhenTheJobEndsSoThatTheLoaderDoesNotWaitForEver) {
  due = {};
  start();
  batch(1);
  ask(2, 1);
  signalled(SIGTERM);
  computed(1);
  RankWishes wishes = asked_wishes();
  TrainerTest::reduced_with(wishes);

  EXPECT_EQ(cancelled(), 1U);
  EXPECT_TRUE(passed_on().empty());
  EXPECT_FALSE(finished()) << "the Loader may be in users' code";
  ask(3, 2);
  EXPECT_EQ(cancelled(), 2U) << "asked for in the meantime";
}

TEST_F(TrainerRolloutsTest, OfAStepThatIsOverAreABug) {
  due = {};
  start();
  step(1);
  step(2);
  ask(2, 1);

  EXPECT_THAT(failure(), HasSubstr("rollouts after step 1 are asked for in step 3"));
}

class TrainerActorsTest : public TrainerRequestsTest {
 protected:
  TrainerActorsTest() {
    options.users.actor_names = {"plateau"};
    AddressBook& book = world.world().book;
    book.enter(guard_id, book.find(guard_id));  // an actor of this node
  }
  void start_with(bool decides, bool keeps) {
    start();
    world.say<wire::Listeners>(trainer_id,
                               [&](wire::Listeners::Builder message) {
                                 message.initNames(1).set(0, "*");
                                 if (decides) message.initDeciding(1).set(0, guard_id.packed());
                                 if (keeps) message.initKeeping(1).set(0, guard_id.packed());
                               },
                               {Role::event_bus, 0});
  }
  void agreed(double ends, double lr_changes = 0, double lr_factor = 0) {
    TrainerTest::reduced_with({.ends = ends, .lr_changes = lr_changes, .lr_factor = lr_factor});
  }
  void end_job(const char* reason) {
    world.say<wire::EndJob>(
        trainer_id, [&](wire::EndJob::Builder message) { message.setReason(reason); }, guard_id);
  }
  void scale(double factor) {
    world.say<wire::ScaleLearningRate>(
        trainer_id, [&](wire::ScaleLearningRate::Builder message) { message.setFactor(factor); }, guard_id);
  }
  void followed(std::uint64_t events) {
    world.say<wire::EventsFollowed>(
        trainer_id, [&](wire::EventsFollowed::Builder message) { message.setEvents(events); }, guard_id);
  }
  std::size_t reductions() { return world.heard<wire::ReduceValues>(group_id).size(); }
  std::string state_saved() { return world.last<wire::CheckpointState>(coordinator_id)->getState(); }
};

// LOOP-81. The Tracker says nothing of step 2, as one whose disk or service is slow.
TEST_F(TrainerActorsTest, AStepWaitsForTrackersThatAreTooFarBehind) {
  options.shown.max_pending_steps = 2;
  const auto shown = [&](std::uint64_t step) {
    world.say<wire::StepShown>(trainer_id, [&](wire::StepShown::Builder message) { message.setStep(step); },
                               {Role::tracker, 0});
  };
  start();
  step(1);
  metric_state(1);
  committed(1);
  step(2);
  EXPECT_EQ(reductions(), 2U) << "one step behind is fine";
  batch(3);
  computed(3);
  EXPECT_EQ(reductions(), 2U) << "the numbers of step 1 are not shown";

  shown(1);
  EXPECT_EQ(reductions(), 3U);
  reduced();
  applied(3);
  shown(3);
  step(4);
  batch(5);
  computed(5);
  EXPECT_EQ(reductions(), 5U);
}

TEST_F(TrainerActorsTest, TheDeadlineOfAStepNamesTheTrackersThatItWaitsFor) {
  options.shown.max_pending_steps = 1;
  start();
  step(1);
  metric_state(1);
  committed(1);
  batch(2);
  computed(2);

  world.after(options.deadlines.step + std::chrono::seconds(1));

  EXPECT_THAT(failure(), HasSubstr("waiting for its trackers (trainer.logging.max_pending_steps)"));
}

// LOOP-30
TEST_F(TrainerActorsTest, ACallbackEndsTheJobAsAnActorDoes) {
  start_with(false, false);
  batch(1);
  options.users.events->end_job("the task", "a target was reached");
  options.users.events->end_job("the model", "another reason");
  computed(1);
  EXPECT_EQ(asked_wishes().ends, 1);
  agreed(1);
  applied(1);

  metric_state(1);
  EXPECT_THAT(state_saved(), HasSubstr(R"("ended":"the task on rank 0: a target was reached")"));
}

TEST_F(TrainerActorsTest, ACallbackOfAnotherRankAsksRank0) {
  const ActorId id{Role::trainer, 1};
  options.rank = 1;
  options.users.events = std::make_shared<RankEvents>(1, false);
  options.users.events->end_job("the task", "a target was reached");
  world.play<Trainer>(id, TrainerOptions{options, training});
  world.say<wire::StartTraining>(id, [](wire::StartTraining::Builder start) { start.setFirstStep(1); });
  world.say<wire::BatchReady>(id, [](wire::BatchReady::Builder ready) { ready.setStep(1); });
  world.say<wire::StepComputed>(id, [](wire::StepComputed::Builder computed) { computed.setStep(1); });

  EXPECT_EQ(asked_wishes().ends, 0) << "rank 0 alone asks all ranks";
  EXPECT_EQ(std::string(world.last<wire::EndJob>(trainer_id)->getReason()),
            "the task on rank 1: a target was reached");
}

TEST_F(TrainerActorsTest, AnActorEndsTheJobAfterTheStepOnWhichAllAgree) {
  start_with(false, false);
  batch(1);
  end_job("it is good enough");
  end_job("another reason");
  computed(1);
  EXPECT_EQ(asked_wishes().ends, 1);
  agreed(1);
  applied(1);

  EXPECT_EQ(snapshots(), 1U);
  metric_state(1);
  EXPECT_THAT(state_saved(), HasSubstr(R"("ended":"plateau: it is good enough")"));
  committed(1);
  EXPECT_TRUE(finished());
  const auto end = world.last<wire::RankFinished>();
  EXPECT_EQ(end->getStep(), 1U);
  EXPECT_EQ(end->getSignal(), 0U);
  EXPECT_EQ(std::string(end->getEnded()), "plateau: it is good enough");
  EXPECT_EQ(finalized, 1);
}

TEST_F(TrainerActorsTest, ARunThatWasEndedTrainsNothingMore) {
  options.before.step = 4;
  options.before.ended = "plateau: it is good enough";
  start(5);

  EXPECT_EQ(asked_for(), Steps{});
  EXPECT_TRUE(finished());
  EXPECT_EQ(std::string(world.last<wire::RankFinished>()->getEnded()), "plateau: it is good enough");
  EXPECT_EQ(world.last<wire::RankFinished>()->getStep(), 4U);
}

TEST_F(TrainerActorsTest, AFactorOfTheLearningRateIsThatOfTheNextStepAndOfItsCheckpoint) {
  due = {2};
  start_with(false, false);
  batch(1);
  scale(0.25);
  scale(0.5);
  computed(1);
  EXPECT_EQ(asked_wishes().lr_changes, 1);
  EXPECT_EQ(asked_wishes().lr_factor, 0.5);
  agreed(0, 1, 0.5);
  EXPECT_DOUBLE_EQ(world.last<wire::ApplyStep>(executor_id)->getLrMultiplier(), 0.1)
      << "step 1 keeps its own";
  applied(1);
  batch(2);
  computed(2);
  EXPECT_EQ(asked_wishes().lr_changes, 0) << "said once";
  agreed(0);

  EXPECT_DOUBLE_EQ(world.last<wire::ApplyStep>(executor_id)->getLrMultiplier(), 0.2 * 0.5);
  EXPECT_DOUBLE_EQ(world.last<wire::ApplyStep>(executor_id)->getLearningRate(), 2 * 0.2 * 0.5);
  EXPECT_DOUBLE_EQ(world.last<wire::StepFinished>()->getLearningRate(), 2 * 0.2 * 0.5);
  applied(2);
  metric_state(2);
  EXPECT_THAT(state_saved(), HasSubstr(R"("lr_factor":0.5)"));
}

TEST_F(TrainerActorsTest, AResumedJobGoesOnWithTheFactorOfItsCheckpoint) {
  training.lr_factor = 0.5;
  start_with(false, false);
  step(1);

  EXPECT_DOUBLE_EQ(world.last<wire::ApplyStep>(executor_id)->getLrMultiplier(), 0.1 * 0.5);
}

TEST_F(TrainerActorsTest, AStepIsAddedUpWhenActorsThatDecideHaveHeardOfTheOneBefore) {
  due = {};
  start_with(true, false);
  step(1);
  EXPECT_EQ(reductions(), 1U) << "nothing has been to hear of";
  batch(2);
  computed(2);
  EXPECT_EQ(reductions(), 1U);
  world.after(std::chrono::seconds(50));
  EXPECT_EQ(failure(), "");

  scale(0.5);
  followed(1);

  EXPECT_EQ(reductions(), 2U);
  EXPECT_EQ(asked_wishes().lr_factor, 0.5);
}

TEST_F(TrainerActorsTest, AnActorThatDoesNotComeBackIsSaidToBeWaitedFor) {
  due = {};
  start_with(true, false);
  step(1);
  batch(2);
  computed(2);
  world.after(std::chrono::seconds(250));

  EXPECT_THAT(failure(), HasSubstr("it is waiting for what the job's actors make of the step before"));
}

TEST_F(TrainerActorsTest, ACheckpointHasTheStateOfTheActorsThatKeepOne) {
  start_with(false, true);
  step(1);
  metric_state(1);
  EXPECT_EQ(world.last<wire::KeepState>(ActorId{Role::event_bus, 0})->getStep(), 1U);
  EXPECT_TRUE(world.heard<wire::CheckpointState>().empty());

  world.say<wire::StateKept>(
      trainer_id,
      [](wire::StateKept::Builder message) {
        message.setStep(1);
        message.setActor(guard_id.packed());
        message.setState("[0.1,2]");
      },
      guard_id);

  EXPECT_THAT(state_saved(), HasSubstr(R"("actors":[{"name":"plateau","state":[0.1,2]}])"));
}

TEST_F(TrainerActorsTest, ACheckpointThatWaitsForAnActorNamesIt) {
  options.saves.commit_timeout = std::chrono::minutes(20);
  world.world().activities.label(guard_id, "plateau");
  start_with(false, true);
  step(1);
  metric_state(1);

  world.after(std::chrono::minutes(20));

  EXPECT_THAT(failure(), HasSubstr("the checkpoint of step 1 has no state of user/0 (plateau) after 1200 s "
                                   "(trainer.timeout.checkpoint_timeout)"));
}

// The actor's own state knows already what it has asked for.
TEST_F(TrainerActorsTest, ACheckpointKeepsWhatTheNextStepWouldAgreeOn) {
  start_with(true, true);
  step(1);
  metric_state(1);
  scale(0.25);
  end_job("good enough");
  world.say<wire::StateKept>(
      trainer_id,
      [](wire::StateKept::Builder message) {
        message.setStep(1);
        message.setActor(guard_id.packed());
        message.setState("{}");
      },
      guard_id);

  EXPECT_THAT(state_saved(), HasSubstr(R"("lr_factor_wanted":0.25)"));
  EXPECT_THAT(state_saved(), HasSubstr(R"("end_wanted":"plateau: good enough")"));
  EXPECT_THAT(state_saved(), Not(HasSubstr(R"("lr_factor":)")));
}

TEST_F(TrainerActorsTest, AResumedJobAgreesInItsFirstStepOnWhatWasAskedForBefore) {
  training.lr_factor = 0.5;
  training.lr_factor_wanted = 0.25;
  options.before.end_wanted = "plateau: good enough";
  start_with(false, false);
  batch(1);
  computed(1);

  EXPECT_EQ(asked_wishes().ends, 1);
  EXPECT_EQ(asked_wishes().lr_factor, 0.25);
  agreed(1, 1, 0.25);
  EXPECT_DOUBLE_EQ(world.last<wire::ApplyStep>(executor_id)->getLrMultiplier(), 0.1 * 0.5);
}

}  // namespace
}  // namespace d9d
