#pragma once
// What a process of a job has before its ranks are cast: the job of job_text.hpp, without a model, a task and data.

#include <string>
#include <vector>

#include "actors/job/process_services.hpp"
#include "runtime/net/gate.hpp"
#include "runtime/state/disk/disk.hpp"
#include "tests/runtime/job/job_text.hpp"

namespace d9d {

struct ProcessOfATest {
  explicit ProcessOfATest(const std::vector<std::string>& overrides = {})
      : loaded(testing_job::load(overrides)) {}

  LoadedJob loaded;
  SystemClock clock;
  World world{.clock = clock};
  PosixDisk disk;
  ActorRegistry no_actors;
  net::Gate gate;
  ProcessServices services{.loaded = loaded,
                           .world = world,
                           .disk = disk,
                           .model = nullptr,
                           .user_actors = no_actors,
                           .make_task = {},
                           .gate = gate,
                           .source = nullptr};
};

}  // namespace d9d
