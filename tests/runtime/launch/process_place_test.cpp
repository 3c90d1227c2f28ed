#include "runtime/launch/process_place.hpp"

#include <gmock/gmock.h>

#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

JobConfig job_of(int ranks, std::int64_t processes) {
  JobConfig job;
  job.mesh.data_parallel_replicate = ranks;
  job.node.processes = ProcessCount{.count = processes};
  return job;
}

JobConfig on_cuda(JobConfig job) {
  job.node.device = DeviceKind::cuda;
  return job;
}

// In a network that the user trusts.
JobConfig trusting(JobConfig job) {
  job.node.insecure = true;
  return job;
}

std::string error_of(const JobConfig& job, const RunOptions& options = {}, int devices = 0) {
  return test::error_of([&] { processes_of(job, options, devices); }, ErrorKind::input);
}

TEST(ProcessPlace, IsTheCommandItselfUnlessTheJobSaysOtherwise) {
  JobConfig job = on_cuda(job_of(4, 1));
  EXPECT_EQ(processes_of(job, {}, 8), 1);
  job = job_of(4, 1);
  job.node.processes.reset();
  EXPECT_EQ(processes_of(job, {}, 8), 1) << "no rank has a GPU";
}

TEST(ProcessPlace, IsOneForEachRankThatHasAGpu) {
  JobConfig job = on_cuda(job_of(4, 1));
  job.node.processes.reset();

  EXPECT_EQ(processes_of(job, {}, 8), 4);
  EXPECT_EQ(processes_of(job, {}, 3), 1) << "ranks share a GPU";
  EXPECT_EQ(processes_of(job, {.join = "127.0.0.1:1"}, 8), 1) << "what other hosts leave is not known yet";
  EXPECT_EQ(processes_of(job, {.ranks = 1}, 8), 1);
  EXPECT_EQ(processes_of(job, {.share = {.launched = {1, 2}}}, 4), 1) << "a launcher has shared the GPUs";
  EXPECT_THAT(
      error_of(trusting(job), {.listen = "0.0.0.0:5000", .ranks = 2}, 8),
      HasSubstr("each rank has a GPU and gets a process of its own (node.processes: null), and node 0"));
  job.node.collectives = CollectivesKind::local;
  EXPECT_EQ(processes_of(job, {}, 8), 1);
  job.node.collectives.reset();
  job.trainer.pipelining.order = CursorOrder::dynamic;
  EXPECT_EQ(processes_of(job, {}, 8), 1) << "NCCL takes all ranks in one order";
}

TEST(ProcessPlace, SharesTheRanksOfTheHostEqually) {
  const JobConfig job = job_of(8, 4);

  EXPECT_EQ(processes_of(job, {}, 0), 4);
  EXPECT_EQ(processes_of(job, {.join = "127.0.0.1:1", .ranks = 4}, 0), 4);
  const std::vector<ProcessPlace> places = places_of_command(job, {}, 4);
  ASSERT_EQ(places.size(), 4U);
  EXPECT_EQ(places[3].text(), "ranks 6, 7");
  EXPECT_EQ(places[3].share.worker, (Share{3, 4}));
}

TEST(ProcessPlace, KnowsItsRanksOnALaterHostOnlyWhereAllHostsAreEqual) {
  RunOptions second{.join = "127.0.0.1:1", .ranks = 4, .node_index = 1, .num_nodes = 2};
  EXPECT_EQ(places_of_command(job_of(8, 2), second, 2)[1].text(), "ranks 6, 7");

  second.num_nodes.reset();
  EXPECT_EQ(places_of_command(job_of(8, 2), second, 2)[1].text(), "2 ranks");
  EXPECT_EQ(places_of_command(job_of(8, 2), {.listen = "127.0.0.1:1", .ranks = 4}, 2)[1].text(), "ranks 2, 3")
      << "of node 0's host";
}

TEST(ProcessPlace, PerDeviceIsAsManyAsThereAreDevicesForRanks) {
  JobConfig job = on_cuda(job_of(4, 1));
  job.node.processes->per_device = true;

  EXPECT_EQ(processes_of(job, {}, 8), 4);
  EXPECT_EQ(processes_of(job, {}, 2), 2);
  EXPECT_EQ(processes_of(job, {}, 1), 1);
  EXPECT_EQ(processes_of(job, {.share = {.launched = {0, 2}}}, 4), 2);
  job.node.devices = 1;
  EXPECT_EQ(processes_of(job, {}, 8), 1);
}

TEST(ProcessPlace, RefusesSharesThatAreNoneWithTheRemedy) {
  EXPECT_THAT(error_of(job_of(4, 3)),
              HasSubstr("node.processes is 3, and 3 processes cannot share the 4 ranks of this host equally: "
                        "set node.processes to 2"));
  EXPECT_THAT(error_of(job_of(4, 8)), HasSubstr("this host has 4 ranks: set node.processes to 4"));
  EXPECT_THAT(error_of(job_of(4, 2), {.join = "127.0.0.1:1"}),
              HasSubstr("nothing says how many ranks this host has: set node.ranks (or --ranks), or NNODES"));
  EXPECT_THAT(error_of(on_cuda(job_of(4, 4)), {}, 2),
              AllOf(HasSubstr("node.processes is 4, and there are 2 GPUs"),
                    HasSubstr("set node.processes to 2 or to per_device")));
}

TEST(ProcessPlace, RefusesAddressesThatProcessesCannotShare) {
  JobConfig job = trusting(job_of(4, 2));
  EXPECT_THAT(error_of(job, {.join = "10.0.0.1:1", .listen = "10.0.0.2:5000", .ranks = 2}),
              HasSubstr("--listen 10.0.0.2:5000 is one port for all of them: give port 0"));
  EXPECT_THAT(error_of(job, {.listen = "0.0.0.0:5000", .ranks = 2}),
              HasSubstr("node 0 listens on all addresses of this host"));
  EXPECT_EQ(processes_of(job, {.listen = "0.0.0.0:5000"}, 0), 2) << "all ranks are on this host";

  job.node.advertise = "10.0.0.1:5000";
  EXPECT_THAT(error_of(job),
              HasSubstr("node.advertise is 10.0.0.1:5000: each process has a port of its own"));
  job.node.advertise = "10.0.0.1";
  EXPECT_EQ(processes_of(job, {.listen = "0.0.0.0:5000", .ranks = 2}, 0), 2);
}

TEST(ProcessPlace, NamesTheWayOutWhereNobodyAskedForSeveralProcesses) {
  JobConfig job = trusting(on_cuda(job_of(4, 2)));
  const RunOptions joining{.join = "10.0.0.1:1", .listen = "10.0.0.2:5000", .ranks = 2};
  const RunOptions listening{.listen = "0.0.0.0:5000", .ranks = 2};
  const auto advertised = [&] {
    JobConfig with = job;
    with.node.advertise = "10.0.0.1:5000";
    return with;
  };
  const auto expect = [&](const auto& matcher) {
    EXPECT_THAT(error_of(job, joining, 2), matcher);
    EXPECT_THAT(error_of(job, listening, 2), matcher);
    EXPECT_THAT(error_of(advertised(), {.ranks = 2}, 2), matcher);
  };

  expect(Not(HasSubstr("node.processes: 1")));
  job.node.processes.reset();
  expect(HasSubstr("; or set node.processes: 1"));
  job.node.processes = ProcessCount{};
  EXPECT_EQ(processes_of(job, listening, 2), 1);
}

TEST(ProcessPlace, OfTheFirstHostsProcessesTheFirstListensAndTheOthersJoinIt) {
  const JobConfig job = job_of(4, 2);
  const RunOptions command{.listen = "127.0.0.1:5000", .address_from = "MASTER_ADDR"};

  const RunOptions first = options_of_worker(command, job, {{0, 2}, 77}, "");
  const RunOptions second = options_of_worker(command, job, {{1, 2}, 77}, "127.0.0.1:5000");

  EXPECT_EQ(first.listen, "127.0.0.1:5000");
  EXPECT_FALSE(first.join || second.listen);
  EXPECT_EQ(second.join, "127.0.0.1:5000");
  EXPECT_EQ(second.address_from, "");
  EXPECT_EQ(second.ranks, 2);
  EXPECT_EQ(second.node_index, 0) << "beside the first";
  EXPECT_EQ(second.command, 77U);
  EXPECT_EQ(options_of_worker({}, job, {{0, 2}, 77}, "").listen, "127.0.0.1:0");
}

TEST(ProcessPlace, OfOneCommandShareItsSecretWhereItHasTheWholeJob) {
  const JobConfig job = job_of(4, 2);
  const auto secret = [&](int index, const RunOptions& options = {}) {
    return options_of_worker(options, job, {{index, 2}, 77, "random"}, "127.0.0.1:5000").secret;
  };

  for (const int index : {0, 1}) {
    EXPECT_EQ(secret(index).kind, net::SecretKind::command);
    EXPECT_EQ(secret(index).text, "random");
  }
  EXPECT_EQ(secret(0, {.ranks = 2}).kind, net::SecretKind::none) << "other hosts join and do not know it";
  EXPECT_EQ(secret(0, {.join = "10.0.0.1:1", .ranks = 2}).kind, net::SecretKind::none);
  EXPECT_EQ(secret(1, {.secret = {net::SecretKind::token, "the user's"}}).text, "the user's");
}

TEST(ProcessPlace, OnAnotherHostAllJoinWhereTheUserSays) {
  const RunOptions command{.join = "127.0.0.1:5000", .ranks = 4, .node_index = 3};

  const RunOptions second = options_of_worker(command, job_of(8, 2), {{1, 2}, 77}, "");

  EXPECT_EQ(second.join, "127.0.0.1:5000");
  EXPECT_EQ(second.ranks, 2);
  EXPECT_EQ(second.node_index, 3);
}

TEST(ProcessPlace, NeighboursReachNode0WhereOtherHostsDo) {
  EXPECT_EQ(address_for_neighbours({.listen = {{"10.0.0.1", 0}}}, "10.0.0.1", 5), "10.0.0.1:5");
  EXPECT_EQ(address_for_neighbours({.listen = {{"0.0.0.0", 0}}}, "0.0.0.0", 5), "127.0.0.1:5");
  EXPECT_EQ(address_for_neighbours({.listen = {{"::", 0}}}, "::", 5), "[::1]:5");
  EXPECT_EQ(address_for_neighbours({.listen = {{"0.0.0.0", 0}}, .advertise = {{"boss", {}}}}, "0.0.0.0", 5),
            "boss:5");
}

}  // namespace
}  // namespace d9d
