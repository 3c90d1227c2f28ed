#pragma once
// The trace of a run's last start, read once for all parts of the page.

#include <optional>
#include <string>

#include "runtime/report/run_folder.hpp"
#include "runtime/trace/analysis.hpp"
#include "runtime/trace/record/recorder.hpp"

namespace d9d::report {

struct TracedRun {
  std::optional<trace::Recording> recording;  // nothing: `missing` says why
  trace::Analysis analysis;
  std::string missing;  // and what to do about it
};

TracedRun read_trace(const RunFolder& run);

}  // namespace d9d::report
