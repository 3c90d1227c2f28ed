#include "actors/job/folder/job_record.hpp"

#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/metric/sink/run_record.hpp"

namespace d9d {
namespace {

double seconds_now(const JobRecord& record) {
  return 1e-9 * static_cast<double>(record.clock.wall_ns());
}

template <class Write>
void write_watched(const JobRecord& record, Write write) {
  try {
    const DiskWatch::Call call(record.watch, "write", record.file.string());
    write();
  } catch (const Error& error) {
    log::warn("{}", error.what());
  }
}

}  // namespace

void add_record(CoordinatorOptions& options, const JobRecord& record) {
  options.on_training = [record](std::uint64_t step) {
    write_watched(record, [&] {
      record_start(record.file,
                   {.time = seconds_now(record), .step = step, .build = record.build, .job = record.job});
    });
  };
  options.on_end = [record](bool failed, int signal, const std::string& reason) {
    const RunOutcome otherwise = failed ? RunOutcome::failed : RunOutcome::finished;
    const RunEnd end{.outcome = signal != 0 ? RunOutcome::stopped : otherwise,
                     .reason = reason,
                     .time = seconds_now(record)};
    write_watched(record, [&] { record_end(record.file, end); });
  };
}

}  // namespace d9d
