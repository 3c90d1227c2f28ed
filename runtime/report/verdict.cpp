#include "runtime/report/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/count.hpp"
#include "runtime/report/chart/axis.hpp"
#include "runtime/report/chart/durations.hpp"

namespace d9d::report {
namespace {

Fate fate_without_record(const RunFolder& run) {
  const auto total = total_steps(run);
  return total && last_step(run) >= *total ? Fate::finished : Fate::ended;
}

Fate fate_of(const RunFolder& run) {
  if (run.is_running) return Fate::running;
  if (run.starts.empty()) return fate_without_record(run);
  const std::optional<RunEnd>& end = run.starts.back().end;
  if (!end) return Fate::ended;
  switch (end->outcome) {
    case RunOutcome::finished:
      return Fate::finished;
    case RunOutcome::stopped:
      return Fate::stopped;
    case RunOutcome::failed:
      return Fate::failed;
  }
  return Fate::ended;
}

std::string word_of(Fate fate) {
  constexpr const char* names[] = {"Finished", "Stopped", "Failed", "Running", "Ended"};
  return names[static_cast<int>(fate)];
}

std::string reason_of(const RunFolder& run, Fate fate) {
  if (fate == Fate::failed || fate == Fate::stopped) return run.starts.back().end->reason;
  // Of a job that an actor or evaluation.stop_after ended it says why.
  if (fate == Fate::finished && !run.starts.empty() && run.starts.back().end &&
      run.starts.back().end->reason != "done")
    return run.starts.back().end->reason;
  if (fate != Fate::ended) return {};
  if (run.starts.empty())
    return "The folder has no run.jsonl with its end: it was written by an earlier version, or training "
           "never began.";
  return "The last start has left no word of its end: it was killed, its host went away, or it still runs on "
         "another host.";
}

std::string steps_text(const RunFolder& run) {
  const std::uint64_t last = last_step(run);
  const auto total = total_steps(run);
  if (!total) return counted(last, "step");
  return fmt::format("{} of {}", last, counted(*total, "step"));
}

std::string resumes_text(const RunFolder& run) {
  const auto steps = resumed_after(run);
  if (steps.empty()) return {};
  std::string text = steps.size() == 1 ? ", resumed once (after step"
                                       : fmt::format(", resumed {} times (after steps", steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) text += fmt::format("{} {}", i == 0 ? "" : ",", steps[i]);
  return text + ")";
}

}  // namespace

std::uint64_t last_step(const RunFolder& run) {
  double last = 0;
  for (const Curve& curve : run.curves.all) last = std::max(last, curve.steps.back());
  return static_cast<std::uint64_t>(std::max(0.0, last));
}

std::optional<std::uint64_t> total_steps(const RunFolder& run) {
  const config::Json total = run.key("/trainer/schedule/total_steps");
  if (!total.is_number_unsigned() && !(total.is_number_integer() && total > 0)) return {};
  return total.get<std::uint64_t>();
}

Curve elapsed_time(const RunFolder& run) {
  const Curve* steps = run.curves.find("step_seconds");
  if (steps == nullptr) return {};
  Curve elapsed{"time", steps->steps, {}};
  double sum = 0;
  for (const double seconds : steps->values) {
    if (std::isfinite(seconds)) sum += seconds;
    elapsed.values.push_back(sum);
  }
  return elapsed;
}

std::vector<std::uint64_t> resumed_after(const RunFolder& run) {
  std::vector<std::uint64_t> steps;
  for (const RunStart& start : run.starts) {
    if (start.step > 0) steps.push_back(start.step);
  }
  return steps;
}

Verdict verdict_of(const RunFolder& run) {
  Verdict verdict{.fate = fate_of(run), .word = {}, .detail = steps_text(run), .reason = {}};
  verdict.word = word_of(verdict.fate);
  verdict.reason = reason_of(run, verdict.fate);
  if (const Curve* tokens = run.curves.find("tokens_total"))
    verdict.detail += fmt::format(", {} tokens", short_number(tokens->values.back()));
  if (const Curve elapsed = elapsed_time(run); !elapsed.values.empty())
    verdict.detail += fmt::format(", {} of training", duration_text(elapsed.values.back()));
  verdict.detail += resumes_text(run);
  return verdict;
}

}  // namespace d9d::report
