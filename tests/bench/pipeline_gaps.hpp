#pragma once
// How long actions waited although everything they needed was there.

#include <cstdint>
#include <vector>

#include "runtime/pipeline/program/topology.hpp"
#include "tests/bench/fake_pipeline.hpp"

namespace d9d {

// An action may begin when the one before it on its rank has ended and so have those
// on other stages whose output it needs. Its gap is how much later it began: what
// the actors took. Nanoseconds, one per action but the first of a rank that needs
// nothing; `message` ones waited for another rank last, `local` ones for their own.
struct PipelineGaps {
  std::vector<std::int64_t> message;
  std::vector<std::int64_t> local;
};
void add_gaps(const SleepLog::Step& step, const Topology& topology, PipelineGaps& gaps);

}  // namespace d9d
