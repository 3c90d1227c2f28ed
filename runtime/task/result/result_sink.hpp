#pragma once
// Where an inference task puts its results: rows that name their sample, as lines of JSON (result_lines.hpp) or as
// tensors (result_tensors.hpp). Rows name their sample because ranks share the samples and a job may go on with others.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/job/section/result_format.hpp"
#include "runtime/task/inference_task.hpp"

namespace d9d {

struct ResultRows {
  // As InferenceContext::samples; rows of -1 are left out.
  std::vector<std::int64_t> samples;
  // By key, each [rows] or [rows, N]: fp64, fp32 or integers, on any device. In [rows, N] of integers, -1 is no number.
  std::vector<std::pair<std::string, at::Tensor>> columns;
  std::vector<std::string> texts = {};  // of the key "text", which only lines have; none, or one for each row
};

class ResultSink {
 public:
  virtual ~ResultSink() = default;
  // Every call of a job with the same columns. Kept in memory until flush(), or until it is much.
  virtual void add(const ResultRows& rows) = 0;
  virtual bool takes_texts() const { return false; }
  // What waits survives the process then. Environment error of the disk.
  virtual void flush() = 0;
};

std::shared_ptr<ResultSink> make_results(const InferencePlace& place, ResultFormat format);

}  // namespace d9d
