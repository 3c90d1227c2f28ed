#pragma once
// Results of an inference job: a line of JSON for each sample, in a file for each rank that writes any. Lines name
// their sample, because ranks share the samples and a job may go on with other ranks.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "runtime/metric/append_file.hpp"

namespace d9d {

class ResultLines {
 public:
  // <folder>/<rank>.jsonl, made with its first line.
  ResultLines(const std::filesystem::path& folder, int rank);

  // `values` gets the key "sample". Kept in memory until flush() or until it is a megabyte.
  void add(std::int64_t sample, nlohmann::ordered_json values);
  // Environment error when the disk does not take the lines.
  void flush();

 private:
  const std::filesystem::path path_;
  std::optional<AppendFile> file_;
  std::string waiting_;
};

// Removes the lines of the samples from `sample` on, and what is no whole line, of all files: what a job has written
// after the checkpoint that is resumed. A folder that does not exist has none.
void drop_results_from(const std::filesystem::path& folder, std::uint64_t sample);

}  // namespace d9d
