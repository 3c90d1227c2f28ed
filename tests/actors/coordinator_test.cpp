// Membership, the start and the end of a job.
#include "tests/actors/coordinator_fixture.hpp"

namespace d9d {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using namespace test;

TEST_F(CoordinatorTest, RefusesAnotherBuildAndNamesBoth) {
  play();
  join(100, 1, -1, [](wire::Join::Builder join) { join.setBuild("0.9"); });

  EXPECT_THAT(refusal(), HasSubstr("another build of d9d: 1.0 here, 0.9 there"));
}

TEST_F(CoordinatorTest, RefusesAnotherJobFileAndNamesTheKeysThatDiffer) {
  options.job_keys = R"({"optimizer":{"lr":0.1,"name":"adamw"},"task":"causal_lm"})";
  play();
  join(100, 1, -1, [](wire::Join::Builder join) {
    join.setJobHash("xyz");
    join.setKeys(R"({"optimizer":{"lr":0.3,"name":"adamw"},"task":"causal_lm"})");
  });
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("in optimizer.lr (0.1 at node 0, 0.3 there). All sections but `node`"),
                    ::testing::EndsWith("and node.device too")));

  join(101, 1, -1, [](wire::Join::Builder join) {
    join.setJobHash("xyz");
    join.setKeys(std::string(100'000, '['));
  });
  EXPECT_THAT(refusal(), HasSubstr("its hash (abc at node 0, xyz there)"));
}

TEST_F(CoordinatorTest, RefusesOtherInputsAndNamesTheFile) {
  const auto inputs = [](const char* bytes) {
    return std::string(R"({"data":[{"name":"d.jsonl","bytes":)") + bytes + R"(,"xxh3":"00000000000000aa"}]})";
  };
  options.inputs = inputs("880");
  play();
  join(100, 1, -1, [&](wire::Join::Builder join) { join.setInputs(inputs("400")); });
  EXPECT_THAT(refusal(), HasSubstr("data: d.jsonl has 880 bytes at node 0, 400 there. Copy it"));

  join(101, 3, -1, [&](wire::Join::Builder join) { join.setInputs(inputs("880")); });
  EXPECT_THAT(world.heard<wire::Welcome>(), ::testing::SizeIs(1));
}

TEST_F(CoordinatorTest, TellsWhoHasJoinedTheSecretOfMembersAndTakesWhatItSaysFromThereOn) {
  const auto mine = world.world().connections.open(false), refused = world.world().connections.open(false);
  play();
  const auto join_on = [&](std::uint64_t connection, const char* build, std::uint64_t incarnation) {
    Frame frame =
        encode<wire::Join>({.sender = {Role::node, incarnation}, .receiver = coordinator_id, .sequence = 1},
                           [&](wire::Join::Builder join) {
                             join.setRanks(3);
                             join.setNodeIndex(-1);
                             join.setBuild(build);
                             join.setJobHash("abc");
                             join.setIncarnation(incarnation);
                           });
    frame.stamp_connection(connection);
    world.deliver(frame, world.ear());
    world.run();
  };

  join_on(refused->number(), "0.9", 100);
  join_on(mine->number(), "1.0", 101);

  EXPECT_FALSE(refused->is_member());
  EXPECT_TRUE(mine->is_member());
  EXPECT_EQ(std::string(world.last<wire::Welcome>()->getSecret()), "of members");
}

TEST_F(CoordinatorTest, RefusesMoreRanksThanAreLeft) {
  play();
  join(100, 2);
  join(101, 2);
  EXPECT_THAT(refusal(), HasSubstr("offers 2 ranks but the mesh of 3 has only 1 left"));

  join(102, 4'000'000'000U);
  EXPECT_THAT(refusal(), HasSubstr("offers 4000000000 ranks"));

  join(103, 1);
  EXPECT_EQ(world.heard<wire::Welcome>().size(), 2U) << "the refused ones took nothing";
}

TEST_F(CoordinatorTest, RefusesWhoComesWhenAllRanksAreTaken) {
  form();
  join(105, 1);

  EXPECT_THAT(refusal(), HasSubstr("all of them are taken"));
}

TEST_F(CoordinatorTest, ANodeThatJoinsTwiceCountsOnce) {
  play();
  join(100, 2);
  join(100, 2);

  EXPECT_TRUE(world.heard<wire::Welcome>().empty());
  EXPECT_EQ(refusal(), "");
}

TEST_F(CoordinatorTest, ANodeThatOffersNoNumberTakesWhatIsLeft) {
  play();
  join(100, 1);
  join(101, 0);

  EXPECT_EQ(world.last<wire::Welcome>()->getNodes()[1].getRanks(), 2U);
}

TEST_F(CoordinatorTest, NodesAreOrderedByWishThenByArrival) {
  play();
  join(100, 0, -1, [](wire::Join::Builder join) { join.setRanks(1); });
  join(101, 1, -1);
  EXPECT_TRUE(world.heard<wire::Welcome>().empty());
  join(102, 1, 1);

  const auto welcome = world.last<wire::Welcome>();
  std::vector<std::string> hosts;
  for (const auto node : welcome->getNodes()) hosts.emplace_back(node.getHost());
  EXPECT_THAT(hosts, ElementsAre("host-100", "host-102", "host-101"));
  EXPECT_THAT(world.watched, Each(Gt(0))) << "itself is not watched";
  EXPECT_THAT(world.watched, IsSupersetOf({1, 2}));
}

TEST_F(CoordinatorTest, ProcessesOfOneCommandStayTogetherInTheirOrder) {
  options.world_size = 6;
  play();
  const auto of = [](std::uint64_t command, std::uint32_t place) {
    return [=](wire::Join::Builder join) {
      join.setCommand(command);
      join.setPlace(place);
    };
  };
  join(100, 1, 0, of(7, 0));
  join(102, 1, -1, of(9, 1));
  join(103, 1);
  join(105, 1, -1, of(9, 0));
  join(104, 1, 0, of(7, 1));
  join(106, 1, 1);

  std::vector<std::string> hosts;
  for (const auto node : world.last<wire::Welcome>()->getNodes()) hosts.emplace_back(node.getHost());
  EXPECT_THAT(hosts, ElementsAre("host-100", "host-104", "host-106", "host-105", "host-102", "host-103"));
}

TEST_F(CoordinatorTest, TwoNodesThatVanishAtOnceBeforeTheJobFormsLeaveTheOthers) {
  options.world_size = 4;
  play();
  join(100, 1);
  join(101, 1);
  join(102, 1);
  gone(1);
  gone(2);

  join(103, 3);

  const auto welcome = world.last<wire::Welcome>();
  ASSERT_EQ(welcome->getNodes().size(), 2U);
  EXPECT_EQ(std::string(welcome->getNodes()[0].getHost()), "host-100");
  EXPECT_EQ(std::string(welcome->getNodes()[1].getHost()), "host-103");
}

TEST_F(CoordinatorTest, ANodeThatVanishesBeforeTheJobFormsLeavesThoseThatCameAfterIt) {
  options.world_size = 4;
  play();
  for (const std::uint32_t incarnation : {100, 101, 102}) join(incarnation, 1);
  gone(1);

  join(103, 2);

  const auto welcome = world.last<wire::Welcome>();
  ASSERT_EQ(welcome->getNodes().size(), 3U);
  EXPECT_EQ(std::string(welcome->getNodes()[1].getHost()), "host-102");
}

TEST_F(CoordinatorTest, WelcomeTellsEveryNodeTheSameDecisions) {
  resume = {.directory = "save-4", .step = 4, .state = "{}", .next_sample = 32, .entries = 6};
  play();
  join(100, 2);
  join(101, 1);

  const auto all = world.heard<wire::Welcome>();
  ASSERT_EQ(all.size(), 2U);
  for (std::uint32_t node = 0; node < 2; ++node) {
    EXPECT_EQ(all[node]->getNodeIndex(), node);
    EXPECT_EQ(all[node]->getEpoch(), 1U);
    EXPECT_EQ(std::string(all[node]->getResumeFrom()), "save-4");
    EXPECT_EQ(all[node]->getResumeStep(), 4U);
    EXPECT_EQ(all[node]->getResumeSample(), 32U);
    EXPECT_EQ(std::string(all[node]->getTag()), "tag");
  }
}

TEST_F(CoordinatorTest, TrainingStartsWhenAllNodesAreReady) {
  resume = {.directory = "save-4", .step = 4, .entries = 6};
  play();
  join(100, 2);
  join(101, 1);
  ready(1, 4);
  ready(1, 4);
  EXPECT_TRUE(world.heard<wire::StartTraining>().empty());

  ready(0, 2);

  const auto starts = world.heard<wire::StartTraining>();
  ASSERT_EQ(starts.size(), 2U);
  EXPECT_EQ(starts[1].to(), (ActorId{Role::node, 1}));
  EXPECT_EQ(starts[1]->getFirstStep(), 5U);
}

TEST_F(CoordinatorTest, TheLastNodeThatIsReadyAfterAFailureStartsNothing) {
  play();
  join(100, 2);
  join(101, 1);
  ready(0);
  world.say<wire::Failed>(coordinator_id,
                          [](wire::Failed::Builder failed) { failed.setKind(wire::Failed::Kind::BUG); });
  ASSERT_EQ(stops().size(), 1U);

  ready(1);

  EXPECT_TRUE(world.heard<wire::StartTraining>().empty());
}

TEST_F(CoordinatorTest, ACheckpointThatIsNotTakenWholeIsTheInputsFault) {
  resume = {.directory = "save-4", .step = 4, .entries = 7};
  play();
  join(100, 3);
  ready(0, 6);

  ASSERT_EQ(stops().size(), 1U);
  EXPECT_TRUE(stops()[0]->getInputError());
  EXPECT_THAT(std::string(stops()[0]->getReason()), HasSubstr("save-4 holds 7 tensors"));
}

TEST_F(CoordinatorTest, GivesUpWhenNotAllJoinInTime) {
  play();
  join(100, 2);
  world.after(std::chrono::seconds(30));

  ASSERT_EQ(stops().size(), 1U);
  EXPECT_TRUE(stops()[0]->getFailed());
  EXPECT_THAT(std::string(stops()[0]->getReason()),
              AllOf(HasSubstr("after 30 s"), HasSubstr("only 2 of 3 ranks are here"),
                    HasSubstr("node.join_timeout")));
}

TEST_F(CoordinatorTest, SaysInTheEndWhomItRefusedAndWhy) {
  play();
  join(100, 1);
  join(101, 2, -1, [](wire::Join::Builder join) { join.setJobHash("xyz"); });
  join(102, 2, -1, [](wire::Join::Builder join) { join.setBuild("0.9"); });
  world.after(std::chrono::seconds(30));

  EXPECT_THAT(std::string(stops().at(0)->getReason()),
              AllOf(HasSubstr("only 1 of 3 ranks are here"), HasSubstr("2 were refused"),
                    HasSubstr("at host-102: it runs another build")));
}

TEST_F(CoordinatorTest, SaysNowAndThenThatItStillWaits) {
  options.join_timeout = std::chrono::seconds(100);
  play();
  join(100, 1);
  ::testing::internal::CaptureStderr();
  world.after(std::chrono::seconds(31));
  const std::string first = ::testing::internal::GetCapturedStderr();
  ::testing::internal::CaptureStderr();
  world.after(std::chrono::seconds(30));
  const std::string second = ::testing::internal::GetCapturedStderr();

  EXPECT_THAT(first, HasSubstr("still waiting for nodes: only 1 of 3 ranks are here"));
  EXPECT_THAT(second, HasSubstr("still waiting for nodes"));
}

TEST_F(CoordinatorTest, RefusesANodeThatGivesTheAddressOfAnother) {
  play();
  join(100, 1);
  join(101, 1, -1, [](wire::Join::Builder join) {
    join.setHost("host-100");
    join.setPort(100);
  });

  EXPECT_THAT(refusal(), AllOf(HasSubstr("host-100:100"), HasSubstr("node.advertise")));
}

TEST_F(CoordinatorTest, RefusesANodeOnLoopbackAmongNodesOfOtherHosts) {
  const auto from = [](const char* host) { return [host](wire::Join::Builder join) { join.setHost(host); }; };
  play();
  join(100, 1, -1, from(""));
  join(101, 1, -1, from("10.0.0.2"));
  join(102, 1, -1, from("127.0.0.1"));

  EXPECT_THAT(refusal(), AllOf(HasSubstr("127.0.0.1"), HasSubstr("10.0.0.2"), HasSubstr("--join")));
}

TEST_F(CoordinatorTest, TellsItsParentWhenNobodyEverJoined) {
  play();
  world.after(std::chrono::seconds(30));

  EXPECT_THAT(std::string(world.last<wire::StopNode>(ActorWorld::parent_id)->getReason()),
              HasSubstr("only 0 of 3"));
}

TEST_F(CoordinatorTest, TheJoinDeadlineRingsInVainOnceFormed) {
  form();
  world.after(std::chrono::hours(1));

  EXPECT_TRUE(stops().empty());
}

TEST_F(CoordinatorTest, AFailureEndsTheJobExactlyOnceAndNamesActorRankAndStep) {
  form();
  const auto fail = [](wire::Failed::Builder failed) {
    failed.setKind(wire::Failed::Kind::BUG);
    failed.setActor("rank_executor/2");
    failed.setRank(2);
    failed.setStep(9);
    failed.setMessage("BeginStep");
    failed.setText("boom");
  };
  world.say<wire::Failed>(coordinator_id, fail);
  world.say<wire::Failed>(coordinator_id, fail);
  gone(1);

  ASSERT_EQ(stops().size(), 2U) << "one for each node";
  EXPECT_EQ(stops()[0].to(), (ActorId{Role::node, 1}));
  EXPECT_EQ(stops()[1].to(), ActorWorld::parent_id) << "node 0 ends last";
  EXPECT_TRUE(stops()[0]->getFailed());
  EXPECT_FALSE(stops()[0]->getInputError());
  EXPECT_EQ(std::string(stops()[1]->getReason()),
            "bug: boom. In the rank executor of rank 2, step 9, in rank_executor/2 while handling BeginStep. "
            "No checkpoint was "
            "committed: started again the job begins with step 1");
}

TEST_F(CoordinatorTest, AnErrorOfTheInputBeginsWithTheCauseAndSaysNoMore) {
  play();
  join(100, 3);
  ::testing::internal::CaptureStderr();
  world.say<wire::Failed>(coordinator_id, [](wire::Failed::Builder failed) {
    failed.setKind(wire::Failed::Kind::INPUT);
    failed.setActor("checkpoint_writer/1");
    failed.setRank(-1);
    failed.setMessage("(start)");
    failed.setText("text/none.json: no such file");
  });
  const std::string printed = ::testing::internal::GetCapturedStderr();

  const std::string reason =
      "text/none.json: no such file. In the checkpoint writer of node 1, before the first step.";
  EXPECT_EQ(std::string(stops().at(0)->getReason()), reason);
  EXPECT_THAT(printed, HasSubstr("error " + reason)) << "nothing stands before it";
}

TEST_F(CoordinatorTest, SaysFromWhereTheNextStartGoesOn) {
  form();
  save(2);
  gone(1);

  EXPECT_THAT(std::string(stops().at(0)->getReason()),
              HasSubstr("Start the job again: it goes on from save-2"));
}

TEST_F(CoordinatorTest, MessagesThatMissTheLeavingAreNoNews) {
  form();
  ::testing::internal::CaptureStderr();
  finish_all();
  world.world().book.set_node_of([](ActorId) { return -1; });
  save(2);
  const std::string printed = ::testing::internal::GetCapturedStderr();

  EXPECT_GT(world.world().undelivered.load(), 0U);
  EXPECT_THAT(printed, Not(HasSubstr("dropped")));
}

TEST_F(CoordinatorTest, AFailureOfTheInputBeforeTrainingIsAnInputError) {
  play();
  join(100, 3);
  world.say<wire::Failed>(coordinator_id,
                          [](wire::Failed::Builder failed) { failed.setKind(wire::Failed::Kind::INPUT); });

  EXPECT_TRUE(stops().at(0)->getInputError());
}

TEST_F(CoordinatorTest, ANodeThatIsGoneEndsTheJobExactlyOnce) {
  form();
  gone(1);
  gone(1);

  ASSERT_EQ(stops().size(), 1U) << "who is gone is not told";
  EXPECT_THAT(std::string(stops()[0]->getReason()), HasSubstr("node 1 (host-101) is gone: it disconnected."));
}

TEST_F(CoordinatorTest, EndsWhenEveryRankIsFinished) {
  form();
  finish(0);
  finish(1);
  finish(1);
  EXPECT_TRUE(stops().empty());

  finish(2);
  tracker(0);
  ASSERT_EQ(stops().size(), 1U);
  EXPECT_FALSE(stops()[0]->getFailed());

  gone(1);
  EXPECT_EQ(stops().size(), 2U) << "node 0 ends when the others have left";
}

TEST_F(CoordinatorTest, EndsOnlyWhenTheTrackerHasTheNumbersOfTheLastStep) {
  form();
  for (const int rank : {0, 1, 2}) finish(rank);
  EXPECT_TRUE(stops().empty());
  EXPECT_EQ(world.heard<wire::FlushTracker>(ActorId{Role::tracker, 0}).size(), 1U);

  tracker(0);

  EXPECT_EQ(stops().size(), 1U);
  EXPECT_TRUE(commits.empty()) << "that was no checkpoint";
}

TEST_F(CoordinatorTest, ATrackerThatNeverAnswersDoesNotKeepTheJobFromEnding) {
  form();
  for (const int rank : {0, 1, 2}) finish(rank);
  world.after(std::chrono::seconds(20));

  ASSERT_EQ(stops().size(), 1U);
  EXPECT_FALSE(stops()[0]->getFailed());
}

TEST_F(CoordinatorTest, ANodeThatDoesNotLeaveDoesNotKeepTheFirstOne) {
  form();
  finish_all();
  world.after(std::chrono::seconds(5));

  ASSERT_EQ(stops().size(), 2U);
  EXPECT_EQ(stops()[1].to(), ActorWorld::parent_id);
}

TEST_F(CoordinatorTest, ABrokenConnectionWaitsForTheNewsOfTheNodeThatIsGone) {
  form();
  const auto broken = [](wire::Failed::Builder failed) {
    failed.setKind(wire::Failed::Kind::ENVIRONMENT);
    failed.setText("connection closed by peer");
  };
  world.say<wire::Failed>(coordinator_id, broken);
  EXPECT_TRUE(stops().empty());

  gone(1);

  EXPECT_THAT(std::string(stops().at(0)->getReason()), HasSubstr("node 1 (host-101) is gone"));
}

TEST_F(CoordinatorTest, ABrokenConnectionIsTheReasonWhenNobodyIsGone) {
  form();
  world.say<wire::Failed>(coordinator_id, [](wire::Failed::Builder failed) {
    failed.setKind(wire::Failed::Kind::ENVIRONMENT);
    failed.setText("connection closed by peer");
  });
  world.after(std::chrono::seconds(1));

  EXPECT_THAT(std::string(stops().at(0)->getReason()), HasSubstr("connection closed by peer"));
}

TEST_F(CoordinatorTest, TheRanksOfANodeThatLeavesBeforeTheStartAreFreeAgain) {
  options.world_size = 4;
  play();
  join(100, 2);
  join(101, 1);
  gone(1);
  EXPECT_TRUE(stops().empty());

  join(102, 2);

  EXPECT_EQ(world.heard<wire::Welcome>().size(), 2U);
  EXPECT_EQ(refusal(), "");
}

}  // namespace
}  // namespace d9d
