#include "runtime/report/traced_run.hpp"

#include <fmt/format.h>

#include "runtime/base/error.hpp"
#include "runtime/trace/file/chrome_reader.hpp"

namespace d9d::report {
namespace {

std::string why_there_is_none(const RunFolder& run) {
  if (run.key("/node/trace") == false)
    return "There is no trace: the job has node.trace: false. Without that key every job records one.";
  if (run.is_running) return "There is no trace yet: it is written when the job ends.";
  return "There is no trace: the run was killed before it could write one, or the file was moved. A job with "
         "node.trace: true (as without the key) writes traces/trace.json.gz when it ends, also when it "
         "fails.";
}

}  // namespace

TracedRun read_trace(const RunFolder& run) {
  if (!run.trace) return {.recording = {}, .analysis = {}, .missing = why_there_is_none(run)};
  try {
    TracedRun traced{
        .recording = trace::read_chrome_trace(*run.trace).recording, .analysis = {}, .missing = {}};
    traced.analysis = trace::analyze(*traced.recording);
    return traced;
  } catch (const Error& error) {
    return {.recording = {},
            .analysis = {},
            .missing = fmt::format("The trace cannot be read: {}", error.what())};
  }
}

}  // namespace d9d::report
