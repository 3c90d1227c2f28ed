#pragma once
// What a process of a job has before its ranks are cast: the job of job_text.hpp, its plan, no model, task and data.

#include <string>
#include <vector>

#include "actors/job/process/process_services.hpp"
#include "runtime/net/gate.hpp"
#include "runtime/state/disk/disk.hpp"
#include "tests/runtime/job/job_text.hpp"

namespace d9d {

struct ProcessOfATest {
  explicit ProcessOfATest(const std::vector<std::string>& overrides = {})
      : loaded(testing_job::load(overrides)) {
    prepared.schedule = loaded.job.trainer.pipelining.schedule;
    prepared.plan = plan_job(loaded, prepared.schedule);
  }

  LoadedJob loaded;
  PreparedJob prepared;
  SystemClock clock;
  World world{.clock = clock};
  PosixDisk disk;
  net::Gate gate;
  ProcessServices services{
      .loaded = loaded, .prepared = prepared, .world = world, .disk = disk, .gate = gate};
};

}  // namespace d9d
