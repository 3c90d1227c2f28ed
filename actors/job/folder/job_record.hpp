#pragma once
// Writes into run.jsonl when the training of a job begins and how the job ends.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "actors/coordinator_options.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/state/disk/disk_watch.hpp"

namespace d9d {

struct JobRecord {
  std::filesystem::path file;
  std::string build;
  nlohmann::ordered_json job;  // its keys, without secrets
  const Clock& clock;
  DiskWatch& watch;  // the file does not go through a Disk: it grows at its end
};

// Makes the Coordinator write both lines. If a line cannot be written, it warns and goes on. Clock and
// watch outlive the Coordinator.
void add_record(CoordinatorOptions& options, const JobRecord& record);

}  // namespace d9d
