// The trace of several real processes, checked arrow by arrow.
#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "runtime/trace/file/gzip_file.hpp"
#include "tests/support/tiny_job.hpp"
#include "tests/support/trace/trace_file.hpp"
#include "tests/support/trace/trace_rules.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Names = std::set<std::string>;
struct Sentences {
  Names hears, says;
};

Names trace_words(const std::string& cell) {
  std::istringstream in(cell);
  Names words;
  for (std::string word; in >> word;) words.insert(word);
  return words;
}

// The table of actors/README.md, which tests/tidy holds against the code: who hears and says what, by actor.
std::map<std::string, Sentences> cast_table() {
  std::map<std::string, Sentences> table;
  std::ifstream in(std::string(D9D_SOURCE_DIR) + "/actors/README.md");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("| ") || line.find('(') == std::string::npos) continue;
    std::vector<std::string> cells;
    std::istringstream rest(line.substr(1));
    for (std::string cell; std::getline(rest, cell, '|');) cells.push_back(cell);
    if (cells.size() >= 4)
      table[cells[0].substr(1, cells[0].find(' ', 1) - 1)] = {trace_words(cells[2]), trace_words(cells[3])};
  }
  return table;
}

// The actor that records on a track.
std::string actor_of(const std::string& track) {
  const std::map<std::string, std::string> roles{{"trainer", "Trainer"},
                                                 {"rank_executor", "RankExecutor"},
                                                 {"compute", "RankExecutor"},
                                                 {"loader", "Loader"},
                                                 {"metric_collector", "MetricCollector"},
                                                 {"collective", "Collective"},
                                                 {"tensor_lane", "TensorLane"},
                                                 {"node", "Node"},
                                                 {"coordinator", "Coordinator"},
                                                 {"tracker", "Tracker"},
                                                 {"event_bus", "EventBus"},
                                                 {"checkpoint_writer", "CheckpointWriter"},
                                                 {"disk", "CheckpointWriter"},
                                                 {"trace_collector", "TraceCollector"}};
  const auto found = roles.find(track.substr(0, track.find_first_of("/ ")));
  return found == roles.end() ? "Collective" : found->second;  // groups record under their use
}

// Sentences whose two actors work for one rank.
const Names& within_a_rank() {
  static const Names names{"LoadBatches",  "BatchReady",    "BeginStep",    "StepComputed",  "ApplyStep",
                           "ReduceValues", "ValuesReduced", "ReduceBucket", "BucketReduced", "CollectMetrics",
                           "MetricsTaken", "SendTensors",   "StepApplied",  "MetricState"};
  return names;
}

class Traces : public testing::Test {
 protected:
  void run(const std::vector<std::string>& ranks) {
    std::vector<std::unique_ptr<Process>> nodes;
    std::string port;
    for (const std::string& count : ranks) {
      const Words place =
          nodes.empty() ? Words{"--listen", "127.0.0.1:0"} : Words{"--join", "127.0.0.1:" + port};
      nodes.push_back(
          job_.start(mesh(2, static_cast<int>(job_ranks_ / 2)) + Words{"--ranks", count} + place));
      if (port.empty()) port = port_of(*nodes.front());
    }
    for (auto& node : nodes) ASSERT_EQ(node->wait(), 0) << node->err();
    trace_ = std::make_unique<TraceFile>(job_.run_folder("tiny") / "traces/trace.json.gz");
    expect_kept_rules("runs/tiny/traces/trace.json.gz");
  }

  void expect_kept_rules(const std::string& file) {
    trace::GzipReadBuffer buffer(job_.folder().path() / file);
    std::istream stream(&buffer);
    const auto broken = broken_trace_rules(nlohmann::json::parse(stream));
    EXPECT_TRUE(broken.empty()) << file << " breaks " << broken.size() << " rules, first: " << broken.front();
  }

  void expect_unique_flows() {
    std::map<std::string, const TraceSlice*> senders;
    for (const TraceSlice& slice : trace_->slices()) {
      if (slice.flow_out.empty()) continue;
      const auto [known, is_new] = senders.emplace(slice.flow_out, &slice);
      EXPECT_TRUE(is_new) << slice.flow_out << " on " << slice.track << " and " << known->second->track;
    }
  }

  void expect_true_arrows() {
    const auto table = cast_table();
    ASSERT_GE(table.size(), 12U);
    for (const TraceArrow& arrow : trace_->arrows()) {
      ASSERT_LE(arrow.left_ns, arrow.came_ns);
      ASSERT_NE(arrow.to, nullptr);
      ASSERT_NE(arrow.from, nullptr) << arrow.to->track << " " << arrow.to->name;
      const std::string sentence = arrow.from->track + " -> " + arrow.to->track + ": " + arrow.to->name;
      const std::string& message = arrow.to->name;
      ASSERT_TRUE(table.contains(actor_of(arrow.from->track))) << sentence;
      EXPECT_TRUE(table.at(actor_of(arrow.from->track)).says.contains(message)) << sentence;
      EXPECT_TRUE(message == "Stop" || table.at(actor_of(arrow.to->track)).hears.contains(message))
          << sentence;
      EXPECT_NE(std::pair(arrow.from->process, arrow.from->track),
                std::pair(arrow.to->process, arrow.to->track))
          << sentence;
      EXPECT_TRUE(!within_a_rank().contains(message) || arrow.from->rank == arrow.to->rank) << sentence;
      if (message == "TensorsAnnounced") {
        EXPECT_EQ(arrow.from->track.substr(0, arrow.from->track.find('.')),
                  arrow.to->track.substr(0, arrow.to->track.find('.')));
        EXPECT_EQ(arrow.from->step, arrow.to->step) << sentence;
      }
    }
  }

  std::size_t arrows_of(const std::string& message) {
    std::size_t count = 0;
    for (const TraceArrow& arrow : trace_->arrows()) count += arrow.to->name == message ? 1U : 0U;
    return count;
  }

  void expect_steps() {
    std::map<int, std::pair<std::int64_t, std::int64_t>> trained;  // by rank: from the first step to the last
    for (const TraceSlice& slice : trace_->slices()) {
      ASSERT_TRUE(slice.has_step) << slice.track << " " << slice.name;
      EXPECT_TRUE(slice.step >= 1 || slice.step == -1) << slice.track << " " << slice.name;
      if (slice.category != "step") continue;
      const auto [span, is_new] = trained.try_emplace(slice.rank, slice.start_ns, slice.end_ns);
      span->second = {std::min(span->second.first, slice.start_ns),
                      std::max(span->second.second, slice.end_ns)};
    }
    EXPECT_EQ(trained.size(), job_ranks_);
    for (const TraceSlice& slice : trace_->slices()) {
      const auto span = trained.find(slice.rank);
      if (span == trained.end() || slice.start_ns <= span->second.first ||
          slice.end_ns >= span->second.second)
        continue;
      EXPECT_GE(slice.step, 1) << slice.track << " " << slice.name << " within the steps of rank "
                               << slice.rank;
    }
  }

  TinyJob job_;
  std::size_t job_ranks_ = 0;
  std::unique_ptr<TraceFile> trace_;
};

TEST_F(Traces, OfTwoProcessesAreTrueArrowByArrow) {
  job_ranks_ = 2;
  run({"1", "1"});

  expect_unique_flows();
  expect_true_arrows();
  expect_steps();
  EXPECT_EQ(arrows_of("TensorsAnnounced"), 20U * 4 * 2) << "20 steps of 4 microbatches, there and back";
  EXPECT_EQ(arrows_of("Join"), 2U) << "said before the job had formed";
  EXPECT_GE(arrows_of("Ready"), 8U) << "said while actors start";
  EXPECT_GE(arrows_of("ClockReply"), 16U);
  EXPECT_EQ(arrows_of("Tick"), 0U);
}

TEST_F(Traces, OfThreeProcessesAreTrueArrowByArrow) {
  job_ranks_ = 4;
  run({"2", "1", "1"});

  expect_unique_flows();
  expect_true_arrows();
  expect_steps();
}

TEST_F(Traces, NameProcessesAndOrderTheirTracks) {
  job_ranks_ = 2;
  run({"1", "1"});

  std::set<std::string> processes;
  for (const TraceSlice& slice : trace_->slices()) processes.insert(slice.process);
  EXPECT_THAT(processes, testing::ElementsAre("node 0", "node 1", "rank 0 (node 0)", "rank 1 (node 1)"));
  const std::vector<std::string> tracks = trace_->tracks_of("rank 0 (node 0)");
  ASSERT_GE(tracks.size(), 4U);
  EXPECT_EQ(std::vector(tracks.begin(), tracks.begin() + 4),
            (std::vector<std::string>{"steps", "trainer/0", "compute stage 0", "compute optimizer"}));
}

TEST_F(Traces, TableOfEdgesHasNoTimers) {
  job_ranks_ = 2;
  run({"1", "1"});

  EXPECT_THAT(
      job_.call({"trace", "runs/tiny/traces/trace.json.gz", "--top", "1000"}),
      prints(AllOf(HasSubstr("20 steps on 2 ranks"), HasSubstr("TensorsAnnounced"), Not(HasSubstr("Tick")))));
}

// Of a running job, on all its nodes; training goes on.
TEST_F(Traces, ASignalWritesTheLastStepsOfAllNodes) {
  job_.rewrite("{total_steps: 20}", "{total_steps: 1000000}");
  job_.rewrite("{period_steps: last_step}", "{period_steps: 1000000}");
  const auto [first, second] = job_.start_two(2, mesh(2, 1));
  const auto steps_in = [&] { return job_.losses("tiny").size(); };
  first->wait_until("5 steps", [&] { return steps_in() >= 5; });
  second->signal(SIGUSR2);
  first->wait_for_error_text("wrote the trace ");
  const std::size_t steps = steps_in();
  first->wait_until("more steps", [&] { return steps_in() > steps; });
  first->signal(SIGTERM);
  EXPECT_EQ(first->wait(), 128 + SIGTERM) << first->err();
  second->wait();

  std::vector<std::string> asked;
  for (const auto& entry : std::filesystem::directory_iterator(job_.run_folder("tiny") / "traces")) {
    if (entry.path().filename().string().starts_with("asked_1_")) asked.push_back(entry.path().string());
  }
  ASSERT_EQ(asked.size(), 1U);
  expect_kept_rules(asked.front());
  EXPECT_THAT(job_.call({"trace", asked.front()}), prints("steps on 2 ranks"));
}

// With D9D_HTA_PYTHON, a Python that has HolisticTraceAnalysis: it finds the overlap that we find.
TEST_F(Traces, HolisticTraceAnalysisFindsTheSameOverlap) {
  const char* python = std::getenv("D9D_HTA_PYTHON");
  if (python == nullptr) GTEST_SKIP() << "set D9D_HTA_PYTHON to a Python that has HolisticTraceAnalysis";
  job_ranks_ = 2;
  run({"1", "1"});
  const std::string file = "runs/tiny/traces/trace.json.gz";
  const Outcome written = job_.call({"trace", file, "--for-profilers", "profiler", "--json"});
  ASSERT_EQ(written.code, 0) << written.err;

  Process reader({.words = {python, D9D_SOURCE_DIR "/tests/e2e/record/read_hta.py", "profiler"},
                  .folder = job_.folder().path(),
                  .name = "hta"});
  ASSERT_EQ(reader.wait(), 0) << reader.err();
  const auto overlap = nlohmann::json::parse(reader.out());

  for (const auto& rank : nlohmann::json::parse(written.out)["ranks"]) {
    const double all = rank["communication_ns"];
    const double hidden = 100 * (1 - rank["time_ns"]["exposed_communication"].get<double>() / all);
    EXPECT_NEAR(overlap[std::to_string(rank["rank"].get<int>())].get<double>(), hidden, 2) << rank["rank"];
  }
}

// Every moment of the step has its cause on record: what the walk cannot explain would be idleness.
TEST_F(Traces, TheCriticalPathOfAStepIsWholeAndSeldomIdle) {
  job_ranks_ = 2;
  run({"1", "1"});
  const std::string file = "runs/tiny/traces/trace.json.gz";

  const Outcome why = job_.call({"trace", file, "--why", "--json"});
  const Outcome text = job_.call({"trace", file, "--why", "--step", "7"});
  const Outcome pair = job_.call({"trace", file, "--against", file});

  ASSERT_EQ(why.code, 0) << why.err;
  const auto slow = nlohmann::json::parse(why.out);
  double length = 0, idle = 0;
  for (const auto& part : slow["path"]["parts"]) {
    length += part["ns"].get<double>();
    if (part["kind"] == "idle") idle += part["ns"].get<double>();
  }
  EXPECT_EQ(length, slow["path"]["ns"].get<double>());
  EXPECT_LT(idle, 0.5 * length);
  EXPECT_THAT(text.out, HasSubstr("step 7 took"));
  EXPECT_THAT(pair.out, AllOf(HasSubstr("20 steps against 20 steps"), HasSubstr("1.000 x  whole step")));
}

}  // namespace
}  // namespace d9d::test
