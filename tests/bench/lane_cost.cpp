#include "tests/bench/lane_cost.hpp"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "runtime/base/clock.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/device_time.hpp"
#include "runtime/devices/delayed/machine.hpp"
#include "runtime/pipeline/lane/compute_lanes.hpp"
#include "runtime/pipeline/lane/stage_streams.hpp"
#include "runtime/pipeline/run_instruction.hpp"

namespace d9d {
namespace {

void sleep_ms(double milliseconds) {
  const auto ns = static_cast<std::int64_t>(1e6 * milliseconds);
  timespec left{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
  }
}

template <class Call>
double seconds_of(Call&& call) {
  const SystemClock clock;
  const std::int64_t begin = clock.now_ns();
  call();
  return 1e-9 * static_cast<double>(clock.now_ns() - begin);
}

double median_of(int repeats, const std::function<double()>& measure) {
  std::vector<double> values;
  for (int i = 0; i < repeats; ++i) values.push_back(measure());
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

nlohmann::json measure_lanes(double milliseconds, int rounds, int repeats) {
  ComputeLanes lanes;
  const auto action = [&](const Action&) {
    for (int i = 0; i < rounds; ++i) {
      sleep_ms(milliseconds);  // computes: has the turn
      const ComputeLanes::YieldWhileWaiting waits(lanes);
      sleep_ms(milliseconds);  // waits for other ranks
    }
    return ActionResult{};
  };
  const Instruction both = parse_instruction("0F3|3B1");
  const auto wall = [&](ComputeLanes* used) {
    return 1e3 * median_of(repeats, [&] { return seconds_of([&] { run_instruction(both, used, action); }); });
  };
  constexpr int num_changes = 100'000;
  const auto changes = [&](int count) {
    return [&lanes, count] {
      for (int i = 0; i < count; ++i) const ComputeLanes::YieldWhileWaiting waits(lanes);
    };
  };
  const double alone = median_of(repeats, [&] { return seconds_of(changes(num_changes)); });
  const double empty = median_of(repeats, [&] { return seconds_of([&] { lanes.run([] {}, [] {}); }); });
  const double together = median_of(repeats, [&] {
    return seconds_of([&] { lanes.run(changes(num_changes / 20), changes(num_changes / 20)); });
  });
  return {{"ms_compute_of_both", 2 * rounds * milliseconds},
          {"ms_collectives_of_both", 2 * rounds * milliseconds},
          {"ms_one_after_the_other", wall(nullptr)},
          {"ms_on_two_lanes", wall(&lanes)},
          {"ns_per_collective_alone", 1e9 * alone / num_changes},
          {"us_per_composed_instruction", 1e6 * empty},
          {"us_per_collective_beside_another_lane", 1e6 * together / (num_changes / 10)}};
}

nlohmann::json measure_streams(double milliseconds, int rounds) {
  const auto device = delayed_device(0);
  const auto piece_ns = static_cast<std::int64_t>(1e6 * milliseconds);
  delayed::plant(
      {.cost = [piece_ns](const delayed::Given& given) { return given.op[0] == '\0' ? 0 : piece_ns; },
       .host_ns = [] { return std::int64_t{1}; }});
  delayed::Machine& machine = delayed::machine(0);
  const StageStreams streams(device, {0, 3});
  ComputeLanes lanes;
  const auto give = [&](StreamRole role, const char* name) {
    machine.enqueue(static_cast<int>(role), {name, {}}, [] {});
  };
  const auto took = [&](bool forked, ComputeLanes* used) {
    const Event begun = device->record_time(StreamRole::compute);
    const Instruction both = parse_instruction("0F3|3B1");
    const auto action = [&](const Action& part) {
      const StreamScope scope(*device, forked ? streams.stream_of(part.stage) : StreamRole::compute);
      for (int i = 0; i < rounds; ++i) {
        give(device->current_stream(), "compute");
        device->wait(StreamRole::communicate, device->record());
        give(StreamRole::communicate, "collective");
        device->wait(device->record(StreamRole::communicate));
        const ComputeLanes::YieldWhileWaiting next(lanes);
      }
      return ActionResult{};
    };
    {
      std::optional<StageStreams::Fork> fork;
      if (forked) fork.emplace(streams, both);
      run_instruction(both, used, action);
    }
    const Event done = device->record_time(StreamRole::compute);
    done.wait("a measurement");
    return 1e-6 * static_cast<double>(done.reached_ns() - begun.reached_ns());
  };
  const nlohmann::json result = {{"ms_compute_of_both", 2 * rounds * milliseconds},
                                 {"ms_collectives_of_both", 2 * rounds * milliseconds},
                                 {"ms_on_one_stream", took(false, nullptr)},
                                 {"ms_on_two_streams", took(true, nullptr)},
                                 {"ms_on_two_streams_in_turns", took(true, &lanes)}};
  delayed::plant({});
  return result;
}

}  // namespace d9d
