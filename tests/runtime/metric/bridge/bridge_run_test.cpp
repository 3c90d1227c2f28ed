#include "runtime/metric/bridge/bridge_run.hpp"

#include <gmock/gmock.h>
#include <poll.h>

#include <fstream>
#include <functional>

#include "runtime/metric/sink/run_record.hpp"
#include "tests/runtime/metric/sink/sink_fixture.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/json_lines.hpp"

namespace d9d {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Over a client that writes down how it is called (tests/support/clients).
class BridgeRunTest : public SinkFolder {
 protected:
  void SetUp() override {
    ::setenv("PYTHONPATH", D9D_SOURCE_DIR "/tests/support/clients", 1);
    ::setenv("FAKE_CLIENT_LOG", (folder_ / "calls").c_str(), 1);
  }
  void TearDown() override {
    for (const char* name : {"PYTHONPATH", "FAKE_CLIENT_LOG", "FAKE_CLIENT_FAILS", "FAKE_CLIENT_FAILS_WHILE",
                             "FAKE_CLIENT_EXITS", "D9D_PYTHON"})
      ::unsetenv(name);
  }
  BridgeOptions options() const {
    return {.provider = "wandb",
            .settings = {{"project", "p"},
                         {"entity", nullptr},
                         {"group", "g"},
                         {"tags", {"a", "b"}},
                         {"mode", "offline"},
                         {"dir", nullptr}},
            .folder = folder_ / "trackers",
            .record = folder_ / run_record_name,
            .run = "tiny",
            .description = "a note"};
  }
  void end(RunOutcome outcome) {
    record_end(folder_ / run_record_name, {.outcome = outcome, .reason = "", .time = 1});
  }
  std::vector<json> calls() const { return test::json_lines(folder_ / "calls"); }
};

TEST_F(BridgeRunTest, TheClientGetsSettingsNumbersAndTheEnd) {
  BridgeRun run(options());
  run.hparams({{"optimizer", {{"lr", 0.5}}}});
  run.write({"loss", 1, {}}, Scalar{2.5});
  run.write({"time", 1, {}}, Scalar{.value = 1e9, .is_time = true});
  run.end_step(1);
  run.write({"loss", 2, {}}, Scalar{1.25});
  run.write({"experts", 2, {}}, Histogram{{3, 4}});
  run.write({"samples", 2, {}}, TextRecord{"a < b"});
  end(RunOutcome::finished);
  run.close();

  const std::vector<json> seen = calls();
  ASSERT_EQ(seen.size(), 4U);
  EXPECT_EQ(seen[0]["project"], "p");
  EXPECT_EQ(seen[0]["name"], "tiny");
  EXPECT_EQ(seen[0]["notes"], "a note");
  EXPECT_EQ(seen[0]["tags"], json({"a", "b"}));
  EXPECT_EQ(seen[0]["config"], (json{{"optimizer/lr", 0.5}}));
  EXPECT_TRUE(seen[0]["id"].is_null());
  EXPECT_EQ(seen[0]["dir"], (folder_ / "trackers").string());
  EXPECT_EQ(seen[1], (json{{"call", "log"}, {"step", 1}, {"values", {{"loss", 2.5}}}}));
  EXPECT_EQ(seen[2], (json{{"call", "log"},
                           {"step", 2},
                           {"values",
                            {{"loss", 1.25},
                             {"experts", {{"counts", {3.0, 4.0}}, {"edges", {0.0, 1.0, 2.0}}}},
                             {"samples", {{"html", "<pre>a &lt; b</pre>"}}}}}}));
  EXPECT_EQ(seen[3], (json{{"call", "finish"}, {"exit_code", 0}}));
}

TEST_F(BridgeRunTest, AResumedRunIsTheSameOneAndRepeatsNothing) {
  {
    BridgeRun run(options());
    run.hparams({});
    for (int step = 1; step <= 4; ++step) run.write({"loss", step, {}}, Scalar{1.0 * step});
    run.write({"metrics/accuracy", 2, {}}, Scalar{0.5});
    end(RunOutcome::failed);
  }
  BridgeRun run(options());
  run.hparams({});
  for (int step = 3; step <= 5; ++step) run.write({"loss", step, {}}, Scalar{1.0 * step});
  run.write({"metrics/accuracy", 4, {}}, Scalar{0.75});
  end(RunOutcome::stopped);
  run.close();

  const std::vector<json> seen = calls();
  ASSERT_EQ(seen.size(), 10U);
  EXPECT_EQ(seen[5], (json{{"call", "finish"}, {"exit_code", 1}}));
  EXPECT_EQ(seen[6]["id"], "the-first-id");
  EXPECT_EQ(seen[6]["resume"], "allow");
  EXPECT_EQ(seen[7], (json{{"call", "log"}, {"step", 4}, {"values", {{"metrics/accuracy", 0.75}}}}));
  EXPECT_EQ(seen[8]["step"], 5);
  EXPECT_EQ(seen[9], (json{{"call", "finish"}, {"exit_code", 0}}));
}

TEST_F(BridgeRunTest, AClientThatFailsIsSaidAtTheEnd) {
  ::setenv("FAKE_CLIENT_FAILS", "1", 1);
  BridgeRun run(options());
  run.hparams({});
  run.write({"loss", 1, {}}, Scalar{2.5});
  testing::internal::CaptureStderr();
  run.close();

  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("wandb did not get all numbers"), HasSubstr("wandb.log")));
  EXPECT_THAT(content(folder_ / "trackers" / "wandb.log"), HasSubstr("the service is gone"));
}

TEST_F(BridgeRunTest, AClientThatFailsIsSaidAtItsFirstFailureAndWhenItWorksAgain) {
  ::setenv("FAKE_CLIENT_FAILS_WHILE", (folder_ / "gone").c_str(), 1);
  std::ofstream(folder_ / "gone") << "x";
  testing::internal::CaptureStderr();
  BridgeRun run(options());
  run.hparams({});
  run.write({"loss", 1, {}}, Scalar{2.5});
  const auto steps_until = [&](const std::function<bool()>& seen) {
    for (int step = 2; step < 100'000 && !seen(); ++step) {
      ::poll(nullptr, 0, 5);
      run.end_step(step);
    }
  };
  const auto problem = folder_ / "trackers" / "wandb.problem";
  steps_until([&] { return std::filesystem::exists(problem); });
  run.end_step(100'000);
  const std::string first = testing::internal::GetCapturedStderr();
  testing::internal::CaptureStderr();
  std::filesystem::remove(folder_ / "gone");
  steps_until([&] { return !std::filesystem::exists(problem); });
  run.end_step(100'001);

  EXPECT_THAT(first, AllOf(HasSubstr("wandb does not take the numbers: ConnectionError: the service is gone"),
                           HasSubstr("wandb.log")));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("wandb takes the numbers again"));
  ASSERT_EQ(calls().size(), 2U);
  EXPECT_EQ(calls()[1], (json{{"call", "log"}, {"step", 1}, {"values", {{"loss", 2.5}}}}));
}

TEST_F(BridgeRunTest, AClientThatEndsTheBridgeIsSaidAtOnce) {
  ::setenv("FAKE_CLIENT_EXITS", "1", 1);
  testing::internal::CaptureStderr();
  BridgeRun run(options());
  run.hparams({});
  std::string said;
  for (int step = 1; step < 100'000 && said.find("gets no more numbers") == std::string::npos; ++step) {
    ::poll(nullptr, 0, 5);
    run.end_step(step);
    said += testing::internal::GetCapturedStderr();
    testing::internal::CaptureStderr();
  }
  run.close();

  EXPECT_THAT(said, HasSubstr("its bridge ended with code 3"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), Not(HasSubstr("ended with code"))) << "it is said once";
}

TEST_F(BridgeRunTest, AMissingClientIsRefusedWithTheWayToInstallIt) {
  require_client("wandb");
  EXPECT_THAT(test::error_of([] { require_client("no_such_client"); }, ErrorKind::input),
              AllOf(HasSubstr("python3 -m pip install no_such_client"), HasSubstr("D9D_PYTHON")));
  ::setenv("D9D_PYTHON", "/no/python", 1);
  EXPECT_THAT(test::error_of([] { require_client("wandb"); }, ErrorKind::input),
              AllOf(HasSubstr("/no/python does not have"), HasSubstr("cannot start /no/python")));
}

}  // namespace
}  // namespace d9d
