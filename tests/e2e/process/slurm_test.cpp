// examples/slurm/job.sbatch over hosts of a test, with a stand-in for srun, scancel and scontrol.
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>

#include "tests/support/process/network_namespaces.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;

std::string joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

class Slurm : public testing::Test {
 protected:
  void SetUp() override {
    if (!NetworkNamespaces::possible()) GTEST_SKIP() << "network namespaces need root";
    hosts_.emplace(2);
    hosts_->connect({{0, "10.78.0.1/24"}, {1, "10.78.0.2/24"}});
    for (const int host : {0, 1}) hosts_->add_names(host, "10.78.0.1 gpu01\n10.78.0.2 gpu02\n");
    for (const char* command : {"srun", "scancel", "scontrol"}) {
      std::filesystem::create_symlink(D9D_SOURCE_DIR "/tests/support/process/srun_stand_in.sh",
                                      job_.folder() / command);
    }
  }

  // As sbatch starts it on the first host: two hosts, two tasks each.
  std::unique_ptr<Process> start_script(const Words& words) {
    const std::string folder = job_.folder().path();
    return std::make_unique<Process>(
        ProcessOptions{.words = Words{"/bin/bash", D9D_SOURCE_DIR "/examples/slurm/job.sbatch", "job.yaml"} +
                                mesh(2, 2) + set("node.insecure", "true") + words,
                       .folder = folder,
                       .name = "script",
                       .environment = {{"PATH", folder + ":" + std::getenv("PATH")},
                                       {"D9D_NODE", D9D_BINARY_DIR "/d9d-node"},
                                       {"D9D_STAND_IN", folder},
                                       {"D9D_HOST_0", joined(hosts_->on(0))},
                                       {"D9D_HOST_1", joined(hosts_->on(1))},
                                       {"SLURM_JOB_ID", std::to_string(::getpid())},
                                       {"SLURM_JOB_NODELIST", "gpu[01-02]"},
                                       {"SLURM_NNODES", "2"},
                                       {"SLURM_NTASKS", "4"}}});
  }
  std::string said_by(int task) const {
    return text_of_file(job_.folder() / ("task" + std::to_string(task) + ".err"));
  }

  TinyJob job_;
  std::optional<NetworkNamespaces> hosts_;
};

TEST_F(Slurm, TasksOfTwoHostsTrainAsOneProcessDoes) {
  const auto script = start_script({});

  ASSERT_EQ(script->wait(), 0) << script->err() << said_by(0) << said_by(3);
  EXPECT_THAT(said_by(0), HasSubstr("listening on 10.78.0.1:"));
  for (const int task : {1, 2, 3}) {
    EXPECT_THAT(said_by(task), HasSubstr("joining the job at gpu01:"));
  }
  const Outcome alone = job_.run(mesh(2, 2) + named("alone"));
  ASSERT_EQ(alone.code, 0) << alone.err;
  EXPECT_EQ(job_.losses("tiny"), job_.losses("alone"));
}

TEST_F(Slurm, AJobWhoseTimeIsUpWritesACheckpointIsQueuedAgainAndGoesOn) {
  const Words endless = set("trainer.schedule.total_steps", "1000000");
  const auto start_and_let_the_time_be_up = [&](const std::string& sign) {
    const auto script = start_script(endless);
    script->wait_until(sign, [&] { return said_by(0).find(sign) != std::string::npos; });
    script->signal(SIGUSR2);
    EXPECT_EQ(script->wait(), 128 + SIGTERM) << script->err() << said_by(0) << said_by(3);
  };

  start_and_let_the_time_be_up("step 1/1000000");
  const std::vector<int> first = job_.checkpoints("tiny");
  ASSERT_EQ(first.size(), 1U);
  start_and_let_the_time_be_up("resuming from runs/tiny/checkpoints/save-" + std::to_string(first[0]));

  const std::string request = "requeue " + std::to_string(::getpid()) + "\n";
  EXPECT_EQ(text_of_file(job_.folder() / "requests"), request + request);
}

}  // namespace
}  // namespace d9d::test
