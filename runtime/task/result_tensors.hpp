#pragma once
// Results of an inference job that are vectors, as safetensors: files <rank>-<first sample>.safetensors with `samples`
// int64 [n], the numbers of the samples, `embeddings` fp32 [n, D], and of packed rows `documents` int64 [n]. No file has
// samples of both sides of a checkpoint. No torch in this header.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace d9d {

class ResultTensors {
 public:
  // The folder is made with the first file. `bytes_max`: of what waits; then a file is written.
  ResultTensors(std::filesystem::path folder, int rank, std::size_t bytes_max = std::size_t{64} << 20)
      : folder_(std::move(folder)), rank_(rank), bytes_max_(bytes_max) {}

  // Every call with the same number of values, and with a document or without.
  void add(std::int64_t sample, std::optional<std::int64_t> document, std::span<const float> vector);
  // What waits is a file then; nothing for nothing. Environment error of the disk.
  void flush();

 private:
  const std::filesystem::path folder_;
  const int rank_;
  const std::size_t bytes_max_;
  std::vector<std::int64_t> samples_, documents_;
  std::vector<float> vectors_;
};

// Removes the files of samples from `sample` on, and files that were not finished: what a job has written after the
// checkpoint that is resumed. Input error for a .safetensors file that has no such `samples`.
void drop_result_tensors_from(const std::filesystem::path& folder, std::uint64_t sample);

}  // namespace d9d
