#include "runtime/trace/clock_alignment.hpp"

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"

namespace d9d::trace {
namespace {

// Nodes whose clocks are ahead of node 0's by what the test says; they tell each other messages.
class Job {
 public:
  explicit Job(std::vector<std::int64_t> ahead) : ahead_(std::move(ahead)) {
    for (std::size_t node = 0; node < ahead_.size(); ++node) {
      parts.push_back({static_cast<int>(node), 0, {}});
    }
  }
  // True times. `formed`: flow ids know their node.
  void message(std::size_t from, std::size_t to, std::int64_t sent, std::int64_t handled,
               bool formed = true) {
    const std::uint64_t flow =
        flow_id(flow_prefix(formed ? static_cast<int>(from) : unknown_node, 77 + from), 1, ++serial_);
    record(from, {.start_ns = sent + ahead_[from] - 5, .end_ns = sent + ahead_[from] + 5, .flow_out = flow});
    record(to, {.enqueue_ns = sent + ahead_[from],
                .start_ns = handled + ahead_[to],
                .end_ns = handled + ahead_[to] + 10,
                .flow_in = flow,
                .sent_elsewhere = true});
  }
  // How far the true time of node's clock is off after the alignment.
  std::int64_t error_of(std::size_t node) const { return parts[node].offset_ns + ahead_[node]; }
  const Span& last_of(std::size_t node) const { return parts[node].recording.spans.back(); }
  // Every message left before it came, by the aligned clocks.
  bool none_goes_back() const {
    for (const NodeRecording& part : parts) {
      for (const Span& span : part.recording.spans) {
        if (span.flow_in != 0 && span.enqueue_ns > span.start_ns) return false;
        if (span.sent_elsewhere) return false;
      }
    }
    return true;
  }

  std::vector<NodeRecording> parts;

 private:
  void record(std::size_t node, const Span& span) { parts[node].recording.spans.push_back(span); }
  std::vector<std::int64_t> ahead_;
  std::uint64_t serial_ = 0;
};

TEST(ClockAlignment, MovesAWrongMeasurementIntoTheBoundsOfTheMessages) {
  Job job({0, 1'000'000});
  job.parts[1].offset_ns = -1'000'000 + 38'000;  // half a bad round trip off
  job.message(0, 1, 100'000, 100'900);
  job.message(1, 0, 200'000, 200'700);

  const std::int64_t error = align_clocks(job.parts);

  EXPECT_EQ(job.error_of(1), 700) << "no further than the nearest bound";
  EXPECT_EQ(error, 800) << "half of 900 + 700";
  EXPECT_TRUE(job.none_goes_back());
}

TEST(ClockAlignment, KeepsAMeasurementWithinTheBounds) {
  Job job({0, -500});
  job.parts[1].offset_ns = 510;
  job.message(0, 1, 1'000, 1'900);
  job.message(1, 0, 2'000, 2'700);

  align_clocks(job.parts);

  EXPECT_EQ(job.parts[1].offset_ns, 510);
}

TEST(ClockAlignment, GivesTheTimeOnTheWayByTheClockOfTheReceiver) {
  Job job({0, 1'000'000});
  job.parts[1].offset_ns = -1'000'000;
  job.message(0, 1, 5'000, 5'300);
  job.message(1, 0, 6'000, 6'400);

  align_clocks(job.parts);

  EXPECT_EQ(job.last_of(0).start_ns - job.last_of(0).enqueue_ns, 400);
}

TEST(ClockAlignment, UsesMessagesFromBeforeTheJobHadFormed) {
  Job job({0, 9'000});
  job.message(1, 0, 100, 150, false);
  job.message(0, 1, 200, 260);

  align_clocks(job.parts);

  EXPECT_LE(std::abs(job.error_of(1)), 60);
  EXPECT_TRUE(job.none_goes_back());
}

TEST(ClockAlignment, OfAMessageWhoseSenderIsNotInTheTraceNothingIsKnown) {
  Job job({0, 9'000});
  job.message(1, 0, 100, 150, false);
  job.parts.pop_back();

  align_clocks(job.parts);

  EXPECT_EQ(job.last_of(0).enqueue_ns, 0);
  EXPECT_FALSE(job.last_of(0).sent_elsewhere);
}

TEST(ClockAlignment, OfManyNodesLeavesNoMessageThatGoesBackInTime) {
  const RandomStream random(11, "clocks");
  const std::vector<std::int64_t> ahead{0, 400'000, -7'000'000, 123, 999'999'999};
  Job job(ahead);
  for (std::size_t node = 1; node < ahead.size(); ++node) {
    job.parts[node].offset_ns = -ahead[node] + static_cast<std::int64_t>(random.below(node, 80'000)) - 40'000;
  }
  for (std::uint64_t i = 0; i < 500; ++i) {
    const std::size_t from = random.below(4 * i, 5), to = (from + 1 + random.below(4 * i + 1, 4)) % 5;
    const auto sent = static_cast<std::int64_t>(i) * 10'000;
    job.message(from, to, sent, sent + 20 + static_cast<std::int64_t>(random.below(4 * i + 2, 30'000)));
  }

  const std::int64_t error = align_clocks(job.parts);

  EXPECT_TRUE(job.none_goes_back());
  for (std::size_t node = 1; node < ahead.size(); ++node) EXPECT_LE(std::abs(job.error_of(node)), 2 * error);
}

TEST(ClockAlignment, OfClocksThatDriftMeetsInTheMiddleAndSaysHowFarItIsOff) {
  Job job({0, 0});
  job.message(0, 1, 1'000, 1'010);
  job.message(1, 0, 2'000, 2'010);
  // Much later the other clock runs 400 ahead.
  Job later({0, 400});
  later.message(0, 1, 900'000, 900'010);
  later.message(1, 0, 901'000, 901'010);
  for (std::size_t node : {0U, 1U}) {
    for (Span span : later.parts[node].recording.spans) {
      span.flow_in += span.flow_in == 0 ? 0 : 100;
      span.flow_out += span.flow_out == 0 ? 0 : 100;
      job.parts[node].recording.spans.push_back(span);
    }
  }

  const std::int64_t error = align_clocks(job.parts);

  EXPECT_NEAR(static_cast<double>(job.parts[1].offset_ns), -200.0, 11.0);
  EXPECT_GE(error, 190);
  EXPECT_TRUE(job.none_goes_back()) << "what cannot be is cut to nothing";
}

}  // namespace
}  // namespace d9d::trace
