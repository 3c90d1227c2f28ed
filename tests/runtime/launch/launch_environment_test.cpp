#include "runtime/launch/launch_environment.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

JobConfig job_of(int ranks) {
  JobConfig job;
  job.mesh.data_parallel_replicate = ranks;
  return job;
}

RunOptions place(const Variables& variables, const JobConfig& job = job_of(8),
                 const RunOptions& options = {}) {
  return with_environment(options, job, variables);
}

std::string error_of(const Variables& variables, const JobConfig& job = job_of(8)) {
  return test::error_of([&] { place(variables, job); }, ErrorKind::input);
}

Variables operator+(Variables a, const Variables& b) {
  for (const auto& [name, value] : b) a[name] = value;
  return a;
}

// Task `task` of four on two hosts, as srun starts it.
Variables srun(const char* task, const char* host = "0") {
  return {{"SLURM_JOB_ID", "4711"},
          {"SLURM_STEP_ID", "0"},
          {"SLURM_JOB_NODELIST", "gpu[07-08]"},
          {"SLURM_NNODES", "2"},
          {"SLURM_NTASKS", "4"},
          {"SLURM_PROCID", task},
          {"SLURM_NODEID", host},
          {"SLURM_LOCALID", task == std::string("1") || task == std::string("3") ? "1" : "0"}};
}

const Variables second_node{
    {"NODE_RANK", "1"}, {"NNODES", "2"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}};

TEST(LaunchEnvironment, IsOneProcessWhenNothingIsSaid) {
  const RunOptions options = place({{"PATH", "/bin"}, {"RANK", "3"}, {"SLURM_NTASKS", "4"}});

  EXPECT_FALSE(options.join || options.listen || options.ranks);
  EXPECT_THAT(options.notes, IsEmpty());
}

TEST(LaunchEnvironment, TakesTheUsualVariablesOfEachNode) {
  const RunOptions second = place(second_node);
  EXPECT_EQ(second.join, "10.0.0.1:29500");
  EXPECT_EQ(second.node_index, 1);
  EXPECT_EQ(second.ranks, 4);

  const RunOptions first = place(second_node + Variables{{"NODE_RANK", "0"}});
  EXPECT_EQ(first.listen, "10.0.0.1:29500");
  EXPECT_FALSE(first.join);
}

TEST(LaunchEnvironment, NeedsNothingByHandUnderSrun) {
  const RunOptions first = place(srun("0"));
  const RunOptions fourth = place(srun("3", "1"));

  ASSERT_TRUE(first.listen && fourth.join);
  EXPECT_EQ(*first.listen, *fourth.join);
  EXPECT_THAT(*first.listen, HasSubstr("gpu07:"));
  EXPECT_EQ(first.address_from, "SLURM_JOB_NODELIST");
  EXPECT_EQ(fourth.node_index, 3);
  EXPECT_EQ(fourth.ranks, 2);
  EXPECT_EQ(fourth.share.launched, (Share{1, 2})) << "they share the host's cores";
  EXPECT_THAT(fourth.notes, IsEmpty());
}

TEST(LaunchEnvironment, SaysWhichOfItsHostsProcessesThisIs) {
  const Variables torchrun{{"RANK", "5"},       {"WORLD_SIZE", "8"},       {"GROUP_WORLD_SIZE", "2"},
                           {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "4"}, {"MASTER_ADDR", "10.0.0.1"},
                           {"MASTER_PORT", "1"}};
  EXPECT_EQ(place(torchrun).share.launched, (Share{1, 4}));
  EXPECT_EQ(place(srun("2", "1")).share.launched, (Share{0, 2}));

  EXPECT_FALSE(place(srun("2", "1")).share.devices_bound);
  EXPECT_TRUE(place(srun("2", "1") + Variables{{"SLURM_GPUS_PER_TASK", "1"}}).share.devices_bound);
}

TEST(LaunchEnvironment, GivesEachStepOfEachJobAPortBelowThoseOfTheSystem) {
  const auto port = [](const Variables& change) {
    const std::string address = *place(srun("1") + change).join;
    return std::stoi(address.substr(address.find(':') + 1));
  };

  for (const char* job : {"4711", "4712", "99"}) {
    EXPECT_GE(port({{"SLURM_JOB_ID", job}}), 20000);
    EXPECT_LT(port({{"SLURM_JOB_ID", job}}), 32000);
  }
  EXPECT_NE(port({}), port({{"SLURM_JOB_ID", "4712"}}));
  EXPECT_NE(port({}), port({{"SLURM_STEP_ID", "1"}}));
  EXPECT_EQ(port({{"MASTER_PORT", "1234"}}), 1234) << "a given one counts";
}

TEST(LaunchEnvironment, CountsTheTasksOfTheStepAndItsHosts) {
  const RunOptions task =
      place(srun("1") + Variables{{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_STEP_NODELIST", "gpu08,gpu09"}});

  EXPECT_EQ(task.ranks, 4);
  EXPECT_THAT(*task.join, HasSubstr("gpu08:"));
}

TEST(LaunchEnvironment, StaysOnLoopbackWhenAllTasksAreOnOneHost) {
  const RunOptions task =
      place(srun("1") + Variables{{"SLURM_NNODES", "1"}, {"SLURM_JOB_NODELIST", "gpu07"}});

  EXPECT_THAT(*task.join, HasSubstr("127.0.0.1:"));
}

TEST(LaunchEnvironment, TakesABatchScriptForNoTaskAndSaysSo) {
  Variables batch = srun("0");
  batch.erase("SLURM_STEP_ID");

  const RunOptions options = place(batch);

  EXPECT_FALSE(options.listen);
  EXPECT_THAT(options.notes, ElementsAre(AllOf(HasSubstr("SLURM_NTASKS is 4"), HasSubstr("srun d9d-node"))));
}

TEST(LaunchEnvironment, TakesThePlaceOnTheHostFromSlurmWhereSrunSpeaksPmiToo) {
  const Variables pmi2{{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"PMI_FD", "7"}, {"SLURM_GPUS_PER_TASK", "1"}};
  const RunOptions fourth = place(srun("3", "1") + pmi2);

  EXPECT_EQ(fourth.share.launched, (Share{1, 2}));
  EXPECT_TRUE(fourth.share.devices_bound);
  EXPECT_EQ(fourth.node_index, 3);

  // Of an mpirun whose daemon is a task of the step, and has the same number.
  const Variables mpirun{{"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "1"}};
  EXPECT_EQ(place(srun("3", "1") + pmi2 + mpirun).share.launched, (Share{0, 1}));
}

TEST(LaunchEnvironment, KnowsMpirunInsideOfSlurm) {
  // The processes of mpirun are started by daemons that are tasks of a step of their own.
  const Variables mpi{{"OMPI_COMM_WORLD_RANK", "5"},       {"OMPI_COMM_WORLD_SIZE", "8"},
                      {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}, {"PMIX_NAMESPACE", "prte-1@1"},
                      {"SLURM_STEP_NODELIST", "gpu08"},    {"SLURM_STEP_NUM_TASKS", "1"}};
  const RunOptions sixth = place(srun("0") + mpi);

  EXPECT_EQ(sixth.node_index, 5);
  EXPECT_EQ(sixth.ranks, 1);
  EXPECT_THAT(*sixth.join, HasSubstr("gpu07:")) << "the first of the job's list, not of the daemon's step";
  EXPECT_THAT(sixth.notes, IsEmpty());

  Variables first = mpi + Variables{{"OMPI_COMM_WORLD_RANK", "0"}, {"SLURM_JOB_NODELIST", "gpu[07-08]"}};
  first.erase("SLURM_STEP_NODELIST");
  EXPECT_EQ(place(first).listen, sixth.join);
}

TEST(LaunchEnvironment, SaysWhatToSetWhereMpirunSaysNothing) {
  const Variables mpi{{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}};
  EXPECT_THAT(error_of(mpi), AllOf(HasSubstr("OMPI_COMM_WORLD_RANK is 1"), HasSubstr("set MASTER_ADDR")));
  EXPECT_THAT(error_of(mpi + Variables{{"MASTER_ADDR", "10.0.0.1"}}), HasSubstr("set MASTER_PORT"));

  const Variables one_host{{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}, {"PMIX_NAMESPACE", "ns"}};
  EXPECT_THAT(*place(mpi + one_host).join, HasSubstr("127.0.0.1:"));
}

TEST(LaunchEnvironment, KnowsThePmiOfOtherMpirunsAndPmixWithNodeRanks) {
  EXPECT_EQ(place({{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}}).ranks,
            2);

  const Variables pmix{{"PMIX_RANK", "1"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}};
  EXPECT_THAT(error_of(pmix), AllOf(HasSubstr("PMIX_RANK is 1"), HasSubstr("set NNODES")));
  JobConfig job = job_of(8);
  job.node.ranks = 4;
  EXPECT_EQ(place(pmix, job).join, "a:1");
}

TEST(LaunchEnvironment, LeavesTorchrunItsPort) {
  const Variables torchrun{{"RANK", "3"},
                           {"WORLD_SIZE", "4"},
                           {"LOCAL_RANK", "1"},
                           {"LOCAL_WORLD_SIZE", "2"},
                           {"GROUP_RANK", "1"},
                           {"GROUP_WORLD_SIZE", "2"},
                           {"MASTER_ADDR", "10.0.0.1"},
                           {"MASTER_PORT", "29400"},
                           {"TORCHELASTIC_RUN_ID", "none"},
                           {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
  const RunOptions fourth = place(torchrun);
  EXPECT_EQ(fourth.node_index, 3);
  EXPECT_EQ(fourth.ranks, 2);
  EXPECT_THAT(*fourth.join, HasSubstr("10.0.0.1:"));
  EXPECT_NE(*fourth.join, "10.0.0.1:29400");
  EXPECT_EQ(place(torchrun + Variables{{"RANK", "0"}}).listen, fourth.join);

  EXPECT_EQ(place(torchrun + Variables{{"TORCHELASTIC_USE_AGENT_STORE", "False"}}).join, "10.0.0.1:29400");
  EXPECT_THAT(*place(torchrun + Variables{{"GROUP_WORLD_SIZE", "1"}, {"MASTER_ADDR", "thishost"}}).join,
              HasSubstr("127.0.0.1:"));
}

TEST(LaunchEnvironment, NodeRankCountsMoreThanTheSchedulerAndSaysSo) {
  const RunOptions task = place(srun("1") + Variables{{"NODE_RANK", "2"}});

  EXPECT_EQ(task.node_index, 2);
  EXPECT_THAT(task.notes, ElementsAre("NODE_RANK is 2, but SLURM_PROCID is 1; NODE_RANK counts"));
}

TEST(LaunchEnvironment, TakesANodeRankThatCountsHostsForTheHost) {
  const Variables hosts{{"NODE_RANK", "1"}, {"NNODES", "2"}};
  const RunOptions third = place(srun("2", "1") + hosts);

  EXPECT_EQ(third.node_index, 2);
  EXPECT_EQ(third.ranks, 2);
  EXPECT_THAT(third.notes, IsEmpty());
}

TEST(LaunchEnvironment, CountsLessThanTheCommandLineAndSaysSo) {
  const RunOptions first = place(second_node, job_of(8), {.listen = "127.0.0.1:1"});
  EXPECT_EQ(first.listen, "127.0.0.1:1");
  EXPECT_FALSE(first.join);
  EXPECT_THAT(first.notes, ElementsAre(AllOf(HasSubstr("NODE_RANK is 1"), HasSubstr("--listen"))));

  const RunOptions joining = place(second_node, job_of(8), {.join = "a:1"});
  EXPECT_EQ(joining.join, "a:1");
  EXPECT_THAT(joining.notes, IsEmpty());
}

TEST(LaunchEnvironment, CountsLessThanTheJobFile) {
  JobConfig job = job_of(8);
  job.node.ranks = 6;
  job.node.listen = "0.0.0.0:29500";
  const RunOptions first = place(second_node + Variables{{"NODE_RANK", "0"}}, job);
  EXPECT_FALSE(first.ranks) << "node.ranks says it";
  EXPECT_FALSE(first.listen) << "node.listen says it";
  EXPECT_THAT(first.notes, IsEmpty());

  const RunOptions other = place(second_node + Variables{{"NODE_RANK", "0"}, {"MASTER_PORT", "1"}}, job);
  EXPECT_THAT(other.notes, ElementsAre(AllOf(HasSubstr("node.listen"), HasSubstr("MASTER_PORT is 1"))));

  EXPECT_EQ(place(srun("0"), job).listen, std::nullopt);
  EXPECT_EQ(place(srun("1"), job).join, "gpu07:29500") << "its port is everyone's";
  EXPECT_FALSE(place(srun("1"), job).listen) << "two of a host cannot take the same";
}

TEST(LaunchEnvironment, WritesAnAddressOfIPv6InBrackets) {
  EXPECT_EQ(place(second_node + Variables{{"MASTER_ADDR", "fd00::1"}}).join, "[fd00::1]:29500");
  EXPECT_EQ(place(second_node + Variables{{"MASTER_ADDR", "[fd00::1]"}}).join, "[fd00::1]:29500");
}

JobConfig trusting(int ranks) {
  JobConfig job = job_of(ranks);
  job.node.insecure = true;
  return job;
}

// What kubeflow's training operator sets in the pods of a PyTorchJob (envvar.go: the master is its own localhost).
TEST(LaunchEnvironment, ThePodsOfAPyTorchJobFindEachOther) {
  const Variables pod{{"MASTER_PORT", "23456"}, {"WORLD_SIZE", "2"}, {"PYTHONUNBUFFERED", "1"}};
  const Variables master = pod + Variables{{"MASTER_ADDR", "localhost"}, {"RANK", "0"}};
  const Variables worker = pod + Variables{{"MASTER_ADDR", "tiny-master-0"}, {"RANK", "1"}};

  EXPECT_EQ(place(master, trusting(8)).listen, "0.0.0.0:23456");
  EXPECT_THAT(place(master, trusting(8)).notes, IsEmpty());
  EXPECT_EQ(place(worker, trusting(8)).join, "tiny-master-0:23456");

  const RunOptions unprotected = place(master);
  EXPECT_EQ(unprotected.listen, "localhost:23456");
  EXPECT_THAT(unprotected.notes,
              ElementsAre(AllOf(HasSubstr("MASTER_ADDR is localhost"), HasSubstr("node.tls"))));
  const RunOptions here = place(master + Variables{{"LOCAL_SIZE", "2"}, {"LOCAL_RANK", "0"}}, trusting(8));
  EXPECT_EQ(here.listen, "localhost:23456") << "all of them are on this host";
}

TEST(LaunchEnvironment, RankZeroNeedsNoAddress) {
  const Variables first{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "29500"}};

  EXPECT_EQ(place(first, trusting(8)).listen, "0.0.0.0:29500");
  EXPECT_THAT(place(first).notes, ElementsAre(HasSubstr("RANK is 0, and MASTER_ADDR is not set")));
  EXPECT_THAT(error_of(first + Variables{{"RANK", "1"}}), HasSubstr("set MASTER_ADDR"));
}

TEST(LaunchEnvironment, CountsTheProcessesOfAHostByEitherName) {
  const Variables third{
      {"RANK", "2"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}};
  for (const char* name : {"LOCAL_WORLD_SIZE", "LOCAL_SIZE"}) {
    const HostShare share = place(third + Variables{{name, "4"}}).share;
    EXPECT_EQ(share.launched, (Share{2, 4})) << name;
  }
}

// Kubeflow's trainer (v2) starts one command a pod and tells torchrun by its own variables.
TEST(LaunchEnvironment, TakesThePlaceOfTorchrun) {
  const Variables pod{{"PET_NNODES", "2"},
                      {"PET_NPROC_PER_NODE", "1"},
                      {"PET_NODE_RANK", "1"},
                      {"PET_MASTER_ADDR", "tiny-node-0-0.tiny"},
                      {"PET_MASTER_PORT", "29400"}};
  EXPECT_EQ(place(pod).join, "tiny-node-0-0.tiny:29400");
  EXPECT_EQ(place(pod).num_nodes, 2);

  const RunOptions within =
      place(pod + Variables{{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}});
  EXPECT_EQ(within.join, "a:1") << "torchrun has started it";
  EXPECT_EQ(within.node_index, 3);
}

TEST(LaunchEnvironment, NamesTheVariableThatItRead) {
  for (const auto& [name, value, message] : std::vector<std::array<const char*, 3>>{
           {"NODE_RANK", "first", "NODE_RANK is \"first\", expected a whole number"},
           {"NODE_RANK", "2", "NODE_RANK is 2, but NNODES is 2: processes are counted from 0"},
           {"NNODES", "many", "NNODES is \"many\""},
           {"NNODES", "3", "NNODES is 3, but the mesh has 8 ranks"},
           {"NNODES", "", "NODE_RANK is 1, but nothing says how many nodes there are"},
           {"MASTER_PORT", "295000", "MASTER_PORT is \"295000\", expected a whole number from 1 to 65535"},
           {"MASTER_PORT", "", "NODE_RANK is 1, but nothing says on which port"},
           {"MASTER_ADDR", "", "NODE_RANK is 1, but nothing says where node 0 is; set MASTER_ADDR"}}) {
    EXPECT_THAT(error_of(second_node + Variables{{name, value}}), HasSubstr(message)) << name;
  }
  EXPECT_THAT(error_of(srun("4")), HasSubstr("SLURM_PROCID is \"4\", expected a whole number from 0 to 3"));
  EXPECT_THAT(error_of(srun("1"), job_of(6)),
              AllOf(HasSubstr("SLURM_NTASKS is 4, but the mesh has 6 ranks"), HasSubstr("node.ranks")));
  EXPECT_THAT(error_of(srun("1") + Variables{{"SLURM_JOB_NODELIST", "gpu[1-"}}),
              HasSubstr("SLURM_JOB_NODELIST is \"gpu[1-\""));
}

TEST(LaunchEnvironment, SaysThatNnodesAloneChangesNothing) {
  EXPECT_THAT(place({{"NNODES", "2"}}).notes,
              ElementsAre(AllOf(HasSubstr("NNODES is 2"), HasSubstr("NODE_RANK is not set"))));
}

}  // namespace
}  // namespace d9d
