// One command that starts several processes of its host (node.processes).
#include <gmock/gmock.h>

#include <csignal>
#include <fstream>
#include <regex>

#include "tests/support/certificates.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::chrono::seconds all_end_within{60};  // the grace, and a busy machine
const std::string endless = "1000000";

Words processes(const std::string& count) {
  return set("node.processes", count);
}

bool is_alive(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(status, text);
  const std::size_t name_end = text.rfind(") ");
  return name_end != std::string::npos && text[name_end + 2] != 'Z';
}

class Workers : public testing::Test {
 protected:
  // What the command says when it starts them.
  static std::vector<pid_t> started(Process& command, std::size_t count) {
    std::vector<pid_t> pids;
    command.wait_until("that all workers start", [&] {
      pids.clear();
      static const std::regex line(R"(worker \d+ of \d+ \(.*; process (\d+)\) starts)");
      const std::string err = command.err();
      for (std::sregex_iterator at(err.begin(), err.end(), line), end; at != end; ++at)
        pids.push_back(std::stoi((*at)[1]));
      return pids.size() == count;
    });
    return pids;
  }
  static void expect_gone(const std::vector<pid_t>& pids) {
    for (const pid_t pid : pids) EXPECT_FALSE(is_alive(pid)) << pid;
  }
  // A job of two ranks that goes on until it is stopped.
  std::unique_ptr<Process> start_endless(const Words& words = {}) {
    return job_.start(mesh(2, 1) + processes("2") + set("trainer.schedule.total_steps", endless) + words);
  }

  TinyJob job_;
};

TEST_F(Workers, ComputeTheSameBitsAsOneProcessAndAsTwoCommands) {
  ASSERT_EQ(job_.run(mesh(2, 2) + named("one")).code, 0);
  const auto [first, second] = job_.start_two(4, mesh(2, 2) + named("two"));
  ASSERT_EQ(first->wait(), 0) << first->err();
  ASSERT_EQ(second->wait(), 0) << second->err();

  for (const char* count : {"2", "4"}) {
    const Outcome outcome = job_.run(mesh(2, 2) + named(count) + processes(count));

    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(job_.exact_curve(count), job_.exact_curve("one"));
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("worker 1 of " + std::string(count)), HasSubstr("step 20/20"),
                                   Not(HasSubstr("error"))));
  }
  EXPECT_EQ(job_.exact_curve("two"), job_.exact_curve("one"));
}

TEST_F(Workers, OfSeveralHostsAreNodesOfOneJob) {
  const Words half = mesh(2, 2) + Words{"--ranks", "2"} + processes("2");
  const auto first = job_.start(half + Words{"--listen", "127.0.0.1:0"});
  const auto second = job_.start(half + Words{"--join", "127.0.0.1:" + port_of(*first)});

  EXPECT_EQ(first->wait(), 0) << first->err();
  EXPECT_EQ(second->wait(), 0) << second->err();
  EXPECT_THAT(first->err(), HasSubstr("worker 1 of 2 (rank 1; process "));
  EXPECT_THAT(second->err(), AllOf(HasSubstr("worker 1 of 2 (1 rank; process "), Not(HasSubstr("step "))));
  ASSERT_EQ(job_.run(mesh(2, 2) + named("one")).code, 0);
  EXPECT_EQ(job_.exact_curve("tiny"), job_.exact_curve("one"));
}

TEST_F(Workers, FinishTheStepAndSaveAfterSigterm) {
  const auto command = start_endless();
  job_.wait_for_steps(*command, 3);
  const std::vector<pid_t> pids = started(*command, 2);
  command->signal(SIGTERM);

  EXPECT_EQ(command->wait(all_end_within), 128 + SIGTERM) << command->err();
  EXPECT_EQ(job_.checkpoints("tiny").size(), 1U);
  EXPECT_THAT(command->err(), AllOf(HasSubstr("stopped by SIGTERM after step "), Not(HasSubstr("error"))));
  expect_gone(pids);
}

TEST_F(Workers, GoOnFromACheckpointOfAnotherNumberOfThem) {
  job_.rewrite("{period_steps: last_step}", "{period_steps: 5}");
  const Words four = mesh(2, 2);
  ASSERT_EQ(job_.run(four + named("whole")).code, 0);
  const auto command = job_.start(four + processes("4"));
  job_.wait_for_steps(*command, 6);
  command->signal(SIGTERM);
  command->wait(all_end_within);

  ASSERT_THAT(job_.run(four + processes("2")), ends_well());
  EXPECT_EQ(job_.exact_curve("tiny"), job_.exact_curve("whole"));
}

// `d9d-node <(make_job)` and `make_job | d9d-node -`: what can be read once is read once.
TEST_F(Workers, AJobFileThatIsAPipeIsReadByTheCommandAlone) {
  for (const std::string file : {"-", "/dev/fd/0"}) {
    const auto command =
        job_.start_within({"/bin/bash", "-c", "cat \"$1\" | \"$0\" " + file + " \"${@:2}\""},
                          mesh(1, 2) + processes("2") + named(file == "-" ? "dash" : "pipe"));

    EXPECT_EQ(command->wait(), 0) << command->err();
  }
  EXPECT_EQ(job_.exact_curve("dash"), job_.exact_curve("pipe"));
  EXPECT_FALSE(job_.exact_curve("dash").empty());
}

TEST_F(Workers, TwoInterruptsLeaveAtOnce) {
  const auto command = start_endless(set("plugins", "[" D9D_BINARY_DIR "/tests/e2e/libd9d_evil_plugin.so]") +
                                     set("task", "{name: evil, mode: stuck}"));
  const std::vector<pid_t> pids = started(*command, 2);
  command->wait_for_error_text("stuck");
  command->signal(SIGINT);
  command->wait_for_error_text("stopping after this step");
  command->wait_until("the second signal is taken", [&] {
    command->signal(SIGINT);
    return command->err().find("leaving without finishing") != std::string::npos;
  });

  EXPECT_EQ(command->wait(), 128 + SIGINT) << command->err();
  EXPECT_TRUE(job_.checkpoints("tiny").empty());
  expect_gone(pids);
}

TEST_F(Workers, AKilledOneEndsTheJobAndIsNamed) {
  for (const std::size_t victim : {1U, 0U}) {
    const std::string run = "without" + std::to_string(victim);
    const auto command = start_endless(named(run) + set("node.heartbeat_ms", "1000"));
    const std::vector<pid_t> pids = started(*command, 2);
    job_.wait_for_steps(*command, 3, run);
    ::kill(pids[victim], SIGKILL);

    EXPECT_EQ(command->wait(all_end_within), 128 + SIGKILL) << command->err();
    const std::string name = "worker " + std::to_string(victim) + " of 2 (rank " + std::to_string(victim) +
                             "; process " + std::to_string(pids[victim]) + ") was killed by SIGKILL";
    EXPECT_THAT(command->err(), AllOf(HasSubstr(name), HasSubstr("is gone")));
    expect_gone(pids);
  }
}

TEST_F(Workers, DoNotOutliveTheirCommand) {
  const auto command = start_endless();
  const std::vector<pid_t> pids = started(*command, 2);
  job_.wait_for_steps(*command, 3);
  command->kill();

  const auto late = std::chrono::steady_clock::now() + all_end_within;
  while ((is_alive(pids[0]) || is_alive(pids[1])) && std::chrono::steady_clock::now() < late) {
  }
  expect_gone(pids);
  EXPECT_EQ(job_.checkpoints("tiny").size(), 1U) << "their death is a SIGTERM: nothing is lost";
}

TEST_F(Workers, SayOnceWhatIsWrongWithTheJob) {
  const Outcome outcome = job_.run(mesh(2, 1) + processes("2") + set("plugins", "[nowhere.so]"));

  EXPECT_EQ(outcome.code, 2);
  for (const char* line : {"cannot load the plugin nowhere.so", "warning: --set plugins", " starts"}) {
    const std::size_t first = outcome.err.find(line);
    EXPECT_NE(first, std::string::npos) << line;
    EXPECT_EQ(first, outcome.err.rfind(line)) << line;
  }
  EXPECT_FALSE(std::filesystem::exists(job_.run_folder("tiny")));
}

TEST_F(Workers, HaveDevicesOfTheirOwnAndTrainToTheBitsOfTheCpu) {
  for (const Words& shape : {mesh(2, 2), mesh(2, 1), mesh(1, 2)}) {
    job_.run(shape + processes("2") + named("cpu") + Words{"--fresh"});
    for (const char* const count : {"2", "per_device"}) {
      ASSERT_THAT(job_.run(shape + processes(count) + set("node.device", "delayed") +
                           set("node.collectives", "nccl") + named("delayed") + Words{"--fresh"}),
                  says(" on delayed device"));
      EXPECT_EQ(job_.exact_curve("delayed"), job_.exact_curve("cpu"));
    }
  }
}

TEST_F(Workers, WithDevicesTrainUnderTlsWhereverNode0Listens) {
  const net::TlsFiles files = Authority(job_.folder().path(), "job").issue("node");
  const Words under_tls = mesh(1, 2) + processes("2") +
                          set("node.tls", "{ca: " + files.ca + ", certificate: " + files.certificate +
                                              ", key: " + files.key + "}");
  job_.run(under_tls + named("cpu"));

  for (const char* const address : {"127.0.0.1:0", "0.0.0.0:0"}) {
    ASSERT_THAT(job_.run(under_tls + set("node.listen", address) + set("node.device", "delayed") +
                         set("node.collectives", "nccl") + named("delayed") + Words{"--fresh"}),
                ends_well());
    EXPECT_EQ(job_.exact_curve("delayed"), job_.exact_curve("cpu"));
  }
}

TEST_F(Workers, OfAJobOfTheirOwnLetNoStrangerIn) {
  const auto command = start_endless();
  const std::string port = port_of(*command);
  const auto stranger = job_.start(mesh(2, 1) + set("trainer.schedule.total_steps", endless) +
                                   Words{"--ranks", "1"} + Words{"--join", "127.0.0.1:" + port});

  EXPECT_EQ(stranger->wait(), 1);
  EXPECT_THAT(stranger->err(), HasSubstr("by one command, and it was not started by that one"));
  job_.wait_for_steps(*command, 1);
  command->signal(SIGTERM);
  EXPECT_EQ(command->wait(all_end_within), 128 + SIGTERM) << command->err();
}

TEST_F(Workers, AreRefusedWhereTheyCannotShareTheRanks) {
  for (const auto& [count, reason] : std::vector<std::pair<std::string, std::string>>{
           {"3", "node.processes is 3, and 3 processes cannot share the 4 ranks"},
           {"8", "node.processes is 8, and this host has 4 ranks"},
           {"per_device", "the ranks compute on the CPU"},
           {"0", "write a number > 0 or per_device"}}) {
    for (const Words& command : {Words{"check", "job.yaml"}, Words{"job.yaml"}}) {
      EXPECT_THAT(job_.call(command + mesh(2, 2) + processes(count)), is_refused(reason)) << count;
    }
  }
  EXPECT_FALSE(std::filesystem::exists(job_.run_folder("tiny")));
}

TEST_F(Workers, AreShownByCheck) {
  EXPECT_THAT(
      job_.call(Words{"check", "job.yaml"} + mesh(2, 2) + processes("2")),
      prints(AllOf(HasSubstr("processes worker 0 of 2: ranks 0, 1\n"),
                   HasSubstr("          worker 1 of 2: ranks 2, 3\n"), HasSubstr("4 ranks on 2 nodes"))));
}

TEST_F(Workers, SleepAndWakeByTheCommandAndByTheRunsFolder) {
  const auto command = start_endless();
  job_.wait_for_steps(*command, 3);
  EXPECT_EQ(job_.call({"sleep", "runs/tiny"}).code, 0);
  command->wait_for_error_text("asleep");
  command->signal(SIGCONT);
  command->wait_for_error_text("awake");
  command->signal(SIGUSR1);
  command->wait_until("a checkpoint", [&] { return !job_.checkpoints("tiny").empty(); });
  command->signal(SIGTERM);

  EXPECT_EQ(command->wait(all_end_within), 128 + SIGTERM) << command->err();
}

}  // namespace
}  // namespace d9d::test
