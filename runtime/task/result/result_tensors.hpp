#pragma once
// Results of an inference job as tensors: files <rank>-<first sample>.safetensors with `sample` int64 [n], the numbers
// of the samples, and a tensor for each column. Rows of integers of several lengths are filled up with -1. No file has
// samples of both sides of a checkpoint. Where the source knows the rows of its files, `source_file` and `source_row`
// int64 [n, R] are those that each sample was made of: the number of the file in the list of the metadata
// `source_files` ([{"file", "rows_from"}], JSON), whose rows count from 0 and whose lines from 1.

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/sample_source.hpp"
#include "runtime/task/result/result_sink.hpp"
#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

class ResultTensors final : public ResultSink {
 public:
  static constexpr std::size_t usual_bytes = std::size_t{64} << 20;
  // The folder is made with the first file. `bytes_max`: of what waits; then a file is written.
  ResultTensors(std::filesystem::path folder, int rank, std::size_t bytes_max = usual_bytes,
                std::shared_ptr<const SampleSource> source = nullptr)
      : folder_(std::move(folder)), rank_(rank), bytes_max_(bytes_max), source_(std::move(source)) {}
  // Without files: everything waits for take().
  ResultTensors() : rank_(0), bytes_max_(std::numeric_limits<std::size_t>::max()) {}

  // Other columns than those of before are a bug.
  void add(const ResultRows& rows) override;
  // A file, or nothing where nothing waits.
  void flush() override;
  // What was added since the last call; empty without rows.
  TensorMap take();

 private:
  // The columns of the rows of files; none where no row is known.
  std::vector<std::pair<std::string, at::Tensor>> places_of(const std::vector<std::int64_t>& samples);
  std::int64_t number_of_file(const RowPlace& place);
  std::map<std::string, std::string> metadata() const;

  const std::filesystem::path folder_;
  const int rank_;
  const std::size_t bytes_max_;
  const std::shared_ptr<const SampleSource> source_;  // null: unknown
  // Decided by the first samples, because all files of a job have the same columns.
  enum class Places { undecided, unknown, known };
  Places first_places_ = Places::undecided;
  std::vector<std::pair<std::string, bool>> files_;  // of all places so far, and whether lines are counted
  std::size_t bytes_ = 0;
  std::vector<std::pair<std::string, std::vector<at::Tensor>>> waiting_;  // by column
};

}  // namespace d9d
