#pragma once
// Results of an inference job as tensors: files <rank>-<first sample>.safetensors with `sample` int64 [n], the numbers
// of the samples, and a tensor for each column. Rows of integers of several lengths are filled up with -1. No file has
// samples of both sides of a checkpoint.

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "runtime/task/result_sink.hpp"
#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

class ResultTensors final : public ResultSink {
 public:
  // The folder is made with the first file. `bytes_max`: of what waits; then a file is written.
  ResultTensors(std::filesystem::path folder, int rank, std::size_t bytes_max = std::size_t{64} << 20)
      : folder_(std::move(folder)), rank_(rank), bytes_max_(bytes_max) {}
  // Without files: everything waits for take().
  ResultTensors() : rank_(0), bytes_max_(std::numeric_limits<std::size_t>::max()) {}

  // Other columns than those of before are a bug.
  void add(const ResultRows& rows) override;
  // A file, or nothing where nothing waits.
  void flush() override;
  // What was added since the last call; empty without rows.
  TensorMap take();

 private:
  const std::filesystem::path folder_;
  const int rank_;
  const std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::vector<std::pair<std::string, std::vector<at::Tensor>>> waiting_;  // by column
};

}  // namespace d9d
