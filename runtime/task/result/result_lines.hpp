#pragma once
// Results of an inference job as lines of JSON: one for each row, in a file for each rank that writes any.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "runtime/data/sample_source.hpp"
#include "runtime/metric/sink/append_file.hpp"
#include "runtime/task/result/result_sink.hpp"

namespace d9d {

class ResultLines final : public ResultSink {
 public:
  // <folder>/<rank>.jsonl, made with its first line. What waits is written when it is a megabyte.
  ResultLines(const std::filesystem::path& folder, int rank,
              std::shared_ptr<const SampleSource> source = nullptr);

  // {"sample", "file" and "line" (from 1) or "row" (from 0) of what it was made of, the columns, "text"}; lists where
  // that is several rows, none where `source` does not know them. Numbers that are not finite are null.
  void add(const ResultRows& rows) override;
  bool takes_texts() const override { return true; }
  void flush() override;

 private:
  const std::filesystem::path path_;
  const std::shared_ptr<const SampleSource> source_;
  std::optional<AppendFile> file_;
  std::string waiting_;
};

}  // namespace d9d
