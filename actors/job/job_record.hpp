#pragma once
// Writes in run.jsonl what becomes of a job: when its training begins, and how it ends.

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

// A disk that does not take a line warns and changes nothing else. Clock and watch outlive the coordinator.
void add_record(CoordinatorOptions& options, const JobRecord& record);

}  // namespace d9d
