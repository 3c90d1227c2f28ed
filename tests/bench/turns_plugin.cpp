// A plugin for overhead.py: the causal_lm task of a job of one rank that computes when it is its turn. At the begin of
// a step whose turn is over it writes a line to the pipe `reports` and reads one from the pipe `turns`: how many steps
// it may take now. So two jobs that differ in one setting take turns of some steps each, in the same minutes.
#include <fmt/format.h>

#include <array>
#include <boost/describe/class.hpp>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <stdexcept>

#include "runtime/base/config/decode.hpp"
#include "runtime/plugin/registry.hpp"
#include "runtime/task/causal_lm_task.hpp"
#include "runtime/task/rank_events.hpp"

namespace bench {

struct TurnsKeys {
  std::int64_t turns = 0, reports = 0;
};
BOOST_DESCRIBE_STRUCT(TurnsKeys, (), (turns, reports))
constexpr auto keys_of(d9d::config::Tag<TurnsKeys>) {
  using namespace d9d::config;
  return std::array{
      Key{"turns", "", "descriptor of a pipe: a number of steps a line", required},
      Key{"reports", "", "descriptor of a pipe: a line at the end and the begin of each turn", required}};
}

namespace {

class Turns final : public d9d::TrainTask {
 public:
  explicit Turns(TurnsKeys keys) : keys_(keys) {}

  d9d::ForwardInputs build_forward_inputs(const d9d::MicrobatchContext& context) const override {
    return inner_.build_forward_inputs(context);
  }
  d9d::Loss compute_loss(const d9d::LossContext& context) const override {
    return inner_.compute_loss(context);
  }
  void register_events(d9d::RankEvents& all) override {
    all.on<d9d::events::StepPre>("turns", [this](const d9d::events::StepPre& event) { step(event.step); });
  }

 private:
  void step(std::uint64_t step) {
    if (left_-- > 0) return;
    if (turns_ == nullptr) {
      turns_ = fdopen(static_cast<int>(keys_.turns), "r");
      reports_ = fdopen(static_cast<int>(keys_.reports), "w");
      if (turns_ == nullptr || reports_ == nullptr) throw std::runtime_error("no pipes");
    }
    report("end", step);
    char line[32] = {};
    // The driver is gone: the rest of the job without turns.
    left_ = std::fgets(line, sizeof line, turns_) == nullptr ? std::numeric_limits<long>::max()
                                                             : std::strtol(line, nullptr, 10) - 1;
    report("begin", step);
  }
  // Nanoseconds of the clock and of the processor, all threads of the process.
  void report(const char* what, std::uint64_t step) {
    fmt::print(reports_, "{} {} {} {}\n", what, step, now(CLOCK_MONOTONIC), now(CLOCK_PROCESS_CPUTIME_ID));
    std::fflush(reports_);
  }
  static std::int64_t now(clockid_t clock) {
    std::timespec time{};
    clock_gettime(clock, &time);
    return std::int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
  }

  const TurnsKeys keys_;
  const d9d::CausalLmTask inner_;
  long left_ = 0;
  // Opened with the first step, because tasks are made and thrown away before. Open until the process ends.
  std::FILE* turns_ = nullptr;
  std::FILE* reports_ = nullptr;
};

}  // namespace
}  // namespace bench

extern "C" void d9d_register(d9d::Registry& registry) {
  registry.add_task("turns", [](const d9d::config::Section& section) {
    return std::make_shared<bench::Turns>(d9d::config::decode<bench::TurnsKeys>(section));
  });
}
