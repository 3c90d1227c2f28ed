#include "runtime/trace/kernel_report.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/trace/sweep.hpp"

namespace d9d::trace {
namespace {

enum KernelLayer : std::size_t { observed_step, running, kernel_layers };

struct Stretch {
  std::int64_t begin = 0, end = 0;
  void take(const Span& span) {
    begin = end == 0 ? span.start_ns : std::min(begin, span.start_ns);
    end = std::max(end, span.end_ns);
  }
};

}  // namespace

std::int64_t KernelReport::total() const {
  std::int64_t all = 0;
  for (const KernelTotal& kernel : kernels) all += kernel.total;
  return all;
}

KernelReport report_kernels(const Recording& recording) {
  std::map<std::uint32_t, KernelTotal> by_name;
  std::map<int, std::map<int, Stretch>> steps;  // by rank, by step
  std::map<int, Sweep<kernel_layers>> ranks;
  for (const Span& span : recording.spans) {
    if (span.category != Category::kernel) continue;
    KernelTotal& kernel = by_name[span.name];
    const std::int64_t length = span.end_ns - span.start_ns;
    ++kernel.count;
    kernel.total += length;
    kernel.max = std::max(kernel.max, length);
    const int rank = recording.actors.at(span.actor).rank;
    ranks[rank].add(running, span.start_ns, span.end_ns);
    if (span.step >= 0) steps[rank][span.step].take(span);
  }
  KernelReport report;
  for (auto& [rank, sweep] : ranks) {
    for (const auto& [step, stretch] : steps[rank]) sweep.add(observed_step, stretch.begin, stretch.end);
    sweep.walk([&](const auto& open, std::int64_t length) {
      if (open[observed_step] == 0) return;
      report.observed += length;
      if (open[running] > 0) report.busy += length;
    });
  }
  for (auto& [name, kernel] : by_name) {
    kernel.name = recording.names.at(name);
    report.kernels.push_back(std::move(kernel));
  }
  std::stable_sort(report.kernels.begin(), report.kernels.end(),
                   [](const KernelTotal& a, const KernelTotal& b) { return a.total > b.total; });
  return report;
}

}  // namespace d9d::trace
