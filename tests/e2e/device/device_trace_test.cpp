// The trace of a job on a delayed device: what the device did and when, beside what its host gave it.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/tiny_job.hpp"
#include "tests/support/trace/trace_file.hpp"

namespace d9d::test {
namespace {

constexpr int num_steps = 20, num_microbatches = 4;
const std::string trace_of_job = "runs/tiny/traces/trace.json.gz";

class DeviceTrace : public testing::Test {
 protected:
  void run(const Words& words, const std::string& costs, const std::string& trace = trace_of_job) {
    const auto process = job_.start(set("node.device", "delayed") + words, {{"D9D_DELAYED_COSTS", costs}});
    ASSERT_EQ(process->wait(), 0) << process->err();
    trace_ = std::make_unique<TraceFile>(job_.folder().path() / trace);
    const Outcome told = job_.call({"trace", trace, "--json"});
    ASSERT_EQ(told.code, 0) << told.err;
    told_ = nlohmann::json::parse(told.out);
  }

  std::vector<TraceSlice> slices(const std::string& track, const std::string& category, int rank) const {
    std::vector<TraceSlice> found;
    for (const TraceSlice& slice : trace_->slices())
      if (slice.track == track && slice.category == category && slice.rank == rank) found.push_back(slice);
    std::sort(found.begin(), found.end(),
              [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
    return found;
  }

  // Actions of a kind ("F") take what was planted, and longer where the device waits for its host, by as much as the
  // machine is busy (DeviceTime has the exact times, with a host whose clock is planted).
  static void expect_no_shorter(const std::vector<TraceSlice>& slices, const std::string& kind,
                                double planted_ns) {
    for (const TraceSlice& slice : slices) {
      if (slice.name.find(kind) != 1) continue;
      EXPECT_GE(static_cast<double>(slice.end_ns - slice.start_ns), 0.999 * planted_ns) << slice.name;
    }
  }

  // What `trace` prints of a rank is all of its steps.
  void expect_whole(const nlohmann::json& rank) const {
    std::int64_t steps = 0, parts = 0;
    for (const TraceSlice& slice : trace_->slices())
      if (slice.category == "step" && slice.rank == rank["rank"]) steps += slice.end_ns - slice.start_ns;
    for (const auto& [name, ns] : rank["time_ns"].items())
      if (name != "total") parts += ns.get<std::int64_t>();
    EXPECT_EQ(parts, steps);
  }

  TinyJob job_;
  std::unique_ptr<TraceFile> trace_;
  nlohmann::json told_;
};

TEST_F(DeviceTrace, ShowsActionsWhenTheDeviceDidThemWithArrowsFromTheirLaunches) {
  run(mesh(2, 1), "F=10,B=20");

  for (int rank = 0; rank < 2; ++rank) {
    const auto done = slices("device compute", "compute", rank);
    std::multiset<std::string> actions;
    std::int64_t before = 0;
    for (const TraceSlice& slice : done) {
      EXPECT_GE(slice.start_ns, before) << slice.name << ": one after the other";
      before = slice.end_ns;
      EXPECT_NE(slice.flow_in, "");
      if (slice.name != "optimizer") actions.insert(slice.name);
    }
    EXPECT_EQ(actions.size(), std::size_t{2 * num_steps * num_microbatches});
    EXPECT_EQ(actions.count(std::to_string(rank) + "F0"), std::size_t{num_steps});
    expect_no_shorter(done, "F", 10e6);
    expect_no_shorter(done, "B", 20e6);
    EXPECT_TRUE(slices("compute stage " + std::to_string(rank), "compute", rank).empty());
    const auto launches = slices("compute stage " + std::to_string(rank), "launch", rank);
    EXPECT_EQ(launches.size(), actions.size());
  }
  std::size_t arrows = 0;
  for (const TraceArrow& arrow : trace_->arrows()) {
    if (arrow.to == nullptr || arrow.to->track != "device compute") continue;
    ++arrows;
    ASSERT_NE(arrow.from, nullptr);
    EXPECT_EQ(arrow.from->category, "launch");
    const std::string& name = arrow.to->name;
    EXPECT_EQ(name.substr(0, name.find("copy for ") == 0 ? 9 : 0) + arrow.from->name, name);
    EXPECT_EQ(arrow.from->rank, arrow.to->rank);
    EXPECT_EQ(arrow.from->step, arrow.to->step);
    EXPECT_LE(arrow.from->start_ns, arrow.to->start_ns);
  }
  EXPECT_GE(arrows, std::size_t{2 * 2 * num_steps * num_microbatches});

  ASSERT_EQ(told_["ranks"].size(), 2U);
  for (const auto& rank : told_["ranks"]) {
    expect_whole(rank);
    double device = 0;
    for (const TraceSlice& slice : slices("device compute", "compute", rank["rank"]))
      device += static_cast<double>(slice.end_ns - slice.start_ns);
    EXPECT_NEAR(rank["time_ns"]["compute"].get<double>(), device, 0.01 * device);
    EXPECT_GT(rank["time_ns"]["bubble"].get<double>(), 0) << "of a pipeline";
    EXPECT_EQ(rank["time_ns"]["other"], 0) << "what the host does is not the device's time";
  }
}

// Of the profiling window, and of no other step.
TEST_F(DeviceTrace, ShowsKernelsInsideTheActionsOfAProfiledStep) {
  run(mesh(2, 1) + set("trainer.profiling", "{period_steps: 10, warmup_steps: 0, active_steps: 2}"),
      "compute=0.1", "runs/tiny/traces/step_10.trace.json.gz");

  std::set<std::string> names;
  std::size_t count = 0, inside_actions = 0;
  for (int rank = 0; rank < 2; ++rank) {
    const auto actions = slices("device compute", "compute", rank);
    for (const TraceSlice& kernel : slices("device kernels compute", "kernel", rank)) {
      EXPECT_TRUE(kernel.step == 9 || kernel.step == 10) << kernel.step;
      ++count;
      names.insert(kernel.name);
      if (kernel.stage < 0) continue;  // the update's and losses'
      ++inside_actions;
      const bool inside = std::any_of(actions.begin(), actions.end(), [&](const TraceSlice& action) {
        return action.start_ns <= kernel.start_ns && kernel.end_ns <= action.end_ns;
      });
      EXPECT_TRUE(inside) << kernel.name;
    }
  }
  EXPECT_GT(inside_actions, std::size_t{2 * num_microbatches});
  EXPECT_GT(count, inside_actions);
  EXPECT_TRUE(names.contains("matmul")) << ::testing::PrintToString(names);
  const auto& kernels = told_["kernels"];
  EXPECT_GT(kernels["busy_ns"], 0);
  EXPECT_LE(kernels["busy_ns"], kernels["observed_ns"]);
  EXPECT_GE(kernels["kernels"].size(), names.size());
}

// Units of layers are gathered beside the compute of those before.
TEST_F(DeviceTrace, CountsCommunicationThatComputeHidesAndTheRest) {
  run(set("mesh.data_parallel_shard", "2"), "compute=1,communicate=3");

  for (const auto& rank : told_["ranks"]) {
    expect_whole(rank);
    const double all = rank["communication_ns"], exposed = rank["time_ns"]["exposed_communication"];
    EXPECT_GT(exposed, 0);
    EXPECT_LT(exposed, 0.99 * all) << "some is hidden";
    EXPECT_FALSE(slices("device communicate", "collective", rank["rank"]).empty());
    EXPECT_FALSE(slices("device compute", "stall", rank["rank"]).empty());
  }
}

}  // namespace
}  // namespace d9d::test
