#pragma once
// The job of job_text.hpp without a number of steps, on texts; and one that infers.

#include "tests/runtime/job/job_text.hpp"

namespace d9d::testing_job {

inline JobConfig of_data(std::int64_t batch, const std::vector<std::string>& more = {}) {
  std::vector<std::string> overrides{
      "trainer.batching={global_batch_size: " + std::to_string(batch) + ", microbatch_size: 1}", "mesh={}",
      "trainer.pipelining=null", "trainer.schedule.total_steps=null",
      "data={source: text, files: [a.txt], tokenizer: t.json, sequence_length: 4}"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return load(overrides).job;
}

// The state of a checkpoint whose job had this batch size.
inline std::string state_of(std::int64_t batch, const std::string& more = {}) {
  return "{\"job\":{\"trainer\":{\"batching\":{\"global_batch_size\":" + std::to_string(batch) + "}}}" +
         more + "}";
}

}  // namespace d9d::testing_job
