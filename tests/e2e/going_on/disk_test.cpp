// What the disk does to a job, and what a job does to what is on the disk.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/npy_file.hpp"
#include "tests/support/process/file_size_limit.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

class DiskOfAJob : public testing::Test {
 protected:
  DiskOfAJob() { job_.rewrite("{period_steps: last_step}", "{period_steps: 5}"); }

  fs::path run_folder() const { return job_.run_folder("tiny"); }
  fs::path checkpoint(int step) const {
    return run_folder() / "checkpoints" / ("save-" + std::to_string(step));
  }
  static std::vector<std::string> names_in(const fs::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  void flip_a_byte_of(int step) const {
    std::fstream shard(checkpoint(step) / "rank-00000.safetensors",
                       std::ios::in | std::ios::out | std::ios::binary);
    shard.seekg(-100, std::ios::end);
    const char byte = static_cast<char>(shard.get());
    shard.seekp(-100, std::ios::end);
    shard.put(static_cast<char>(byte ^ 1));
  }
  // The same start as a user whom the modes of files bind.
  Outcome run_bound_by_modes(const Words& words) {
    Process process({.words = Words{D9D_BINARY_DIR "/d9d-node", "job.yaml"} + words,
                     .folder = job_.folder().path(),
                     .name = "bound",
                     .obeys_modes = true});
    const int code = process.wait();
    return {code, process.out(), process.err()};
  }
  void expect_refused_at_the_start(const Words& words, const std::vector<std::string>& parts) {
    const Outcome outcome = job_.run(words);
    EXPECT_EQ(outcome.code, 1) << outcome.err;
    for (const std::string& part : parts) EXPECT_THAT(outcome.err, HasSubstr(part));
    EXPECT_FALSE(fs::exists(run_folder())) << "nothing was trained, and nothing is left";
  }
  void set_steps(int before, int after) {
    job_.rewrite("{total_steps: " + std::to_string(before) + "}",
                 "{total_steps: " + std::to_string(after) + "}");
  }

  TinyJob job_;
};

TEST_F(DiskOfAJob, CheckpointsThatCannotBeReadStopTheStartAndNothingIsTouched) {
  ASSERT_EQ(job_.run({}).code, 0);
  const std::string metrics = text_of_file(run_folder() / "metrics.jsonl");
  const auto names = names_in(run_folder() / "checkpoints");
  for (const int step : {5, 10, 15, 20}) fs::permissions(checkpoint(step), fs::perms::none);

  EXPECT_THAT(run_bound_by_modes({}), fails(AllOf(HasSubstr("save-20 cannot be read"),
                                                  HasSubstr("Permission denied"), HasSubstr("--fresh"))));
  EXPECT_EQ(names_in(run_folder() / "checkpoints"), names);
  EXPECT_EQ(text_of_file(run_folder() / "metrics.jsonl"), metrics);

  for (const int step : {5, 10, 15, 20}) fs::permissions(checkpoint(step), fs::perms::owner_all);
  EXPECT_EQ(run_bound_by_modes({}).code, 0) << "and they are as good as before";
}

TEST_F(DiskOfAJob, OnlyFreshBeginsAnewOverDamagedCheckpointsAndKeepsThem) {
  set_steps(20, 10);
  ASSERT_EQ(job_.run({}).code, 0);
  const std::string metrics = text_of_file(run_folder() / "metrics.jsonl");
  for (const int step : {5, 10}) flip_a_byte_of(step);

  EXPECT_THAT(job_.run({}), fails(AllOf(HasSubstr("2 checkpoints in "), HasSubstr("but none can be used"),
                                        HasSubstr("checksum mismatch"), HasSubstr("--fresh"))));
  EXPECT_EQ(text_of_file(run_folder() / "metrics.jsonl"), metrics);

  EXPECT_THAT(job_.run({"--fresh"}), says("kept as old-1.*"));
  EXPECT_THAT(names_in(run_folder() / "checkpoints"),
              ElementsAre("old-1.save-10", "old-1.save-5", "save-10", "save-5"));
  EXPECT_EQ(text_of_file(run_folder() / "old-1.metrics.jsonl"), metrics);
  EXPECT_EQ(job_.losses("tiny").size(), 10);
}

TEST_F(DiskOfAJob, FreshBeginsAnewOverCheckpointsThatCannotBeRead) {
  set_steps(20, 5);
  ASSERT_EQ(job_.run({}).code, 0);
  fs::permissions(checkpoint(5), fs::perms::none);

  EXPECT_THAT(run_bound_by_modes({"--fresh"}), ends_well());
  EXPECT_THAT(names_in(run_folder() / "checkpoints"), ElementsAre("old-1.save-5", "save-5"));
  fs::permissions(run_folder() / "checkpoints/old-1.save-5", fs::perms::owner_all);
}

TEST_F(DiskOfAJob, RotationKeepsTheGoodOnesBesideDamagedAndForeignFolders) {
  job_.rewrite("{period_steps: 5}", "{period_steps: 5, num_to_keep: 1}");
  set_steps(20, 10);
  ASSERT_EQ(job_.run({}).code, 0);
  fs::create_directories(run_folder() / "checkpoints/save-99");
  set_steps(10, 15);

  EXPECT_THAT(job_.run({}), says("that is step 10 and not step 99"));
  EXPECT_THAT(names_in(run_folder() / "checkpoints"), ElementsAre("save-15", "save-99"));
}

TEST_F(DiskOfAJob, FoldersThatCannotBeWrittenAreFoundBeforeTheFirstStep) {
  job_.folder().write("file", "not a folder");

  expect_refused_at_the_start(set("output_dir", "file/run"), {"output_dir is file/run", "Not a directory"});
  expect_refused_at_the_start(set("trainer.checkpointing.save_dir", "file/checkpoints"),
                              {"trainer.checkpointing.save_dir is file/checkpoints/tiny", "Not a directory"});
  expect_refused_at_the_start(set("export_to", "file"), {"export_to is file", "Not a directory"});
  expect_refused_at_the_start(set("export_to", "file/exported"), {"export_to is file/exported"});
}

TEST_F(DiskOfAJob, ASecondJobInTheSameFolderHearsWhoHasIt) {
  set_steps(20, 100000);
  const auto first = job_.start({});
  first->wait_until("its lock", [&] { return fs::exists(run_folder() / "job.lock"); });

  const Outcome second = job_.run(set("optimizer.lr", "0.1"));

  EXPECT_EQ(second.code, 1) << second.err;
  const auto holder = nlohmann::json::parse(text_of_file(run_folder() / "job.lock"));
  EXPECT_THAT(second.err, AllOf(HasSubstr("runs/tiny is in use by another job: run tiny, process " +
                                          std::to_string(first->pid()) + " on host " +
                                          holder.at("host").get<std::string>()),
                                HasSubstr("trainer.run.name or output_dir")));
  EXPECT_TRUE(first->running());
}

TEST_F(DiskOfAJob, ASaveDirIsLockedTooAndFreeAgainAfterAFailure) {
  set_steps(20, 100000);
  const Words shared = set("trainer.checkpointing.save_dir", "shared");
  const auto first = job_.start(shared);
  first->wait_until("its lock", [&] { return fs::exists(job_.folder() / "shared/tiny/job.lock"); });

  EXPECT_THAT(job_.run(shared + set("output_dir", "elsewhere")),
              fails("shared/tiny is in use by another job"));
  EXPECT_FALSE(fs::exists(job_.folder() / "elsewhere/job.lock")) << "given back by the one that failed";
}

TEST_F(DiskOfAJob, TheLockOfAKilledJobIsTakenOverAndThatIsSaid) {
  const auto killed = job_.start({});
  killed->wait_until("its lock", [&] { return fs::exists(run_folder() / "job.lock"); });
  const std::string pid = std::to_string(killed->pid());
  killed->kill();

  EXPECT_THAT(
      job_.run({}),
      says(AllOf(HasSubstr("runs/tiny/job.lock was left by a job that is gone (run tiny, process " + pid),
                 HasSubstr("taking it over"))));
  EXPECT_FALSE(fs::exists(run_folder() / "job.lock"));
}

TEST_F(DiskOfAJob, AFolderThatIsNotSharedBetweenTheNodesStopsTheJobAtItsStart) {
  const TemporaryFolder elsewhere;
  elsewhere.write("job.yaml", job_.text());
  const Words half = mesh(1, 2) + Words{"--ranks", "1"};
  const auto first = job_.start(half + Words{"--listen", "127.0.0.1:0"});
  Process second({.words = Words{D9D_BINARY_DIR "/d9d-node", "job.yaml"} + half +
                           Words{"--join", "127.0.0.1:" + port_of(*first)},
                  .folder = elsewhere.path()});

  EXPECT_EQ(first->wait(), 1) << first->err();
  EXPECT_EQ(second.wait(), 1) << second.err();
  EXPECT_THAT(first->err(),
              AllOf(HasSubstr((elsewhere / "runs/tiny/checkpoints").string() + " on node 1 (host "),
                    HasSubstr("is not the one of node 0")));
  EXPECT_FALSE(fs::exists(elsewhere / "runs")) << "and nothing was made there";
}

TEST_F(DiskOfAJob, AGivenSaveDirHoldsAFolderOfTheRun) {
  set_steps(20, 5);
  const Words into = set("trainer.checkpointing.save_dir", "kept");
  ASSERT_EQ(job_.run(into).code, 0);

  EXPECT_TRUE(fs::exists(job_.folder() / "kept/tiny/save-5/manifest.json"));
  EXPECT_FALSE(fs::exists(run_folder() / "checkpoints"));

  // As earlier versions left it.
  fs::rename(job_.folder() / "kept/tiny/save-5", job_.folder() / "kept/save-5");
  const Outcome told = job_.run(into);
  const Outcome other = job_.run(into + named("other"));

  EXPECT_THAT(told, fails(AllOf(HasSubstr("kept holds the checkpoints of run tiny"),
                                HasSubstr("mv kept/save-* kept/tiny/"), HasSubstr("--fresh"))));
  EXPECT_EQ(other.code, 0) << "they are none of its checkpoints: " << other.err;
}

TEST_F(DiskOfAJob, ASaveDirThatIsNotMountedIsNoFreshStart) {
  set_steps(20, 5);
  const Words into = set("trainer.checkpointing.save_dir", "mount");
  ASSERT_EQ(job_.run(into).code, 0);
  const std::string metrics = text_of_file(run_folder() / "metrics.jsonl");
  fs::rename(job_.folder() / "mount", job_.folder() / "elsewhere");

  EXPECT_THAT(job_.run(into),
              fails(AllOf(HasSubstr("the last checkpoint of this run was "), HasSubstr("mount/tiny/save-5"),
                          HasSubstr("mounted"), HasSubstr("--fresh"))));
  EXPECT_EQ(text_of_file(run_folder() / "metrics.jsonl"), metrics);
  EXPECT_EQ(job_.run(into + Words{"--fresh"}).code, 0);
}

TEST_F(DiskOfAJob, ASaveDirThatIsGivenOrLeftOutSinceIsNoFreshStart) {
  set_steps(20, 5);
  const Words kept = set("trainer.checkpointing.save_dir", "kept") + named("kept");
  ASSERT_EQ(job_.run({}).code, 0);
  ASSERT_EQ(job_.run(kept).code, 0);
  const std::string metrics = text_of_file(run_folder() / "metrics.jsonl");

  EXPECT_THAT(job_.run(set("trainer.checkpointing.save_dir", "since")),
              fails(AllOf(HasSubstr("the last checkpoint of this run was runs/tiny/checkpoints/save-5"),
                          HasSubstr("none now in since/tiny"), HasSubstr("--fresh"))));
  EXPECT_THAT(job_.run(named("kept")), fails(AllOf(HasSubstr("kept/kept/save-5, and there is none now in "
                                                             "runs/kept/checkpoints"),
                                                   HasSubstr("--fresh"))));
  EXPECT_EQ(text_of_file(run_folder() / "metrics.jsonl"), metrics);
  EXPECT_THAT(job_.call({"checkpoint", "list", "runs/kept"}), prints("kept/kept\n"));
}

TEST_F(DiskOfAJob, ARestartKeepsTheTracesOfEarlierStartsAndOneWithoutWorkWritesNone) {
  set_steps(20, 5);
  ASSERT_EQ(job_.run({}).code, 0);
  const std::string first = text_of_file(run_folder() / "traces/trace.json.gz");
  set_steps(5, 10);
  ASSERT_EQ(job_.run({}).code, 0);
  const std::string second = text_of_file(run_folder() / "traces/trace.json.gz");
  ASSERT_EQ(job_.run({}).code, 0);

  EXPECT_THAT(names_in(run_folder() / "traces"), ElementsAre("trace-1.json.gz", "trace.json.gz"));
  EXPECT_EQ(text_of_file(run_folder() / "traces/trace-1.json.gz"), first);
  EXPECT_EQ(text_of_file(run_folder() / "traces/trace.json.gz"), second);
}

TEST_F(DiskOfAJob, AFailedRunLeavesItsTrace) {
  set_steps(20, 100);
  const Outcome failed = job_.run(set("optimizer.lr", "1e30") + set("lr_scheduler", "null"));

  EXPECT_EQ(failed.code, 1) << failed.err;
  EXPECT_THAT(job_.call({"trace", "runs/tiny/traces/trace.json.gz"}), prints(" on 1 rank: mean"));
}

TEST_F(DiskOfAJob, OneOfTwoProcessesThatIsKilledLeavesTheTraceOfTheOther) {
  set_steps(20, 100000);
  const auto [first, second] = job_.start_two(2, mesh(1, 2));
  first->wait_until("a checkpoint", [&] { return !job_.checkpoints("tiny").empty(); });
  second->kill();

  EXPECT_EQ(first->wait(), 1);
  EXPECT_THAT(job_.call({"trace", "runs/tiny/traces/trace.json.gz"}), ends_well());
}

// Files cannot grow: the same to the job as a disk that is full, and taken back at will.
TEST_F(DiskOfAJob, TrainingGoesOnWhileTheDiskIsFullAndNothingIsLostWhenThereIsRoomAgain) {
  set_steps(20, 400);
  job_.rewrite("{provider: \"null\"}", "{provider: tensorboard}");
  const auto process = job_.start({});
  process->wait_until("a checkpoint", [&] { return !job_.checkpoints("tiny").empty(); });
  ASSERT_TRUE(limit_file_size(process->pid(), 20'000));
  process->wait_for_error_text("metrics.jsonl: File too large");
  process->wait_for_error_text("was given up");
  ASSERT_TRUE(limit_file_size(process->pid(), RLIM_INFINITY));

  EXPECT_EQ(process->wait(), 0) << process->err();
  const std::string said = process->err();
  EXPECT_THAT(said, AllOf(HasSubstr("Training goes on"), HasSubstr("metrics.jsonl is written again")));
  const auto losses = job_.losses("tiny");
  EXPECT_EQ(losses.size(), 400);
  EXPECT_EQ(job_.checkpoints("tiny").back(), 400);
  EXPECT_THAT(said, Not(HasSubstr("never written")));
}

TEST_F(DiskOfAJob, AJobWhoseLastCheckpointFoundNoRoomHasFailedButTrainedToItsEnd) {
  job_.rewrite("{period_steps: 5}", "{period_steps: last_step}");
  set_steps(20, 200);
  const auto process = job_.start({});
  process->wait_until("a step", [&] { return fs::exists(run_folder() / "metrics.jsonl"); });
  ASSERT_TRUE(limit_file_size(process->pid(), 100'000));

  EXPECT_EQ(process->wait(), 1);
  EXPECT_THAT(process->err(), AllOf(HasSubstr("its last checkpoint could not be written (step 200: "),
                                    HasSubstr("there is none")));
  EXPECT_EQ(job_.losses("tiny").size(), 200);
}

TEST_F(DiskOfAJob, AnExportOrAScoreWithoutRoomLeavesNothing) {
  set_steps(20, 5);
  ASSERT_EQ(job_.run({}).code, 0);
  ASSERT_EQ(job_.call({"export", "runs/tiny/checkpoints", "model"}).code, 0);
  const auto without_room = [&](const std::string& words) {
    Process shell({.words = {"/bin/sh", "-c", "ulimit -f 8; exec " D9D_BINARY_DIR "/d9d-node " + words},
                   .folder = job_.folder().path(),
                   .name = "shell"});
    EXPECT_EQ(shell.wait(), 1) << shell.err();
    EXPECT_THAT(shell.err(), HasSubstr("File too large"));
  };
  job_.folder().write("data.npy", npy_file(8, 32, [](int row, int column) { return row + column; }));

  without_room("export runs/tiny/checkpoints full");
  without_room("export runs/tiny/checkpoints model");

  without_room("score model --tokens data.npy --logits --out scores.safetensors");

  EXPECT_FALSE(fs::exists(job_.folder() / "full"));
  for (const std::string& name : names_in(job_.folder().path())) EXPECT_THAT(name, Not(HasSubstr("scores")));
  EXPECT_THAT(names_in(job_.folder() / "model"), testing::IsSupersetOf({"config.json", "model.safetensors"}));
  for (const std::string& name : names_in(job_.folder() / "model"))
    EXPECT_THAT(name, AllOf(Not(HasSubstr("tmp")), Not(HasSubstr("d9d"))));
}

// A pipe in place of the file that nobody reads: to open it takes for ever.
TEST_F(DiskOfAJob, ADiskThatHangsEndsTheJobWithOneReportInTime) {
  fs::create_directories(run_folder());
  ASSERT_EQ(::mkfifo((run_folder() / "metrics.jsonl").c_str(), 0644), 0);

  EXPECT_THAT(job_.run(set("node.disk_timeout", "2")),
              fails(AllOf(HasSubstr("the disk hangs: the call to open runs/tiny/metrics.jsonl"),
                          HasSubstr("node.disk_timeout"))));
}

}  // namespace
}  // namespace d9d::test
