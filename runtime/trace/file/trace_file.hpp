#pragma once
// Names trace files. The newest trace of a run is `trace.json.gz`; those of its earlier starts are
// `trace-1.json.gz` (the oldest), `trace-2.json.gz`, ... in the same folder. A trace of a few
// steps is `<label>.trace.json.gz`.

#include <filesystem>
#include <string>

namespace d9d::trace {

class TraceFile {
 public:
  TraceFile(std::filesystem::path directory, std::string label)
      : directory_(std::move(directory)), label_(std::move(label)) {}

  // The path to write to; no reader takes it for a trace yet.
  std::filesystem::path draft() const;
  // Renames the finished draft to its final name. A file that has this name now gets the next
  // number. Environment error: that fails.
  std::filesystem::path publish() const;

 private:
  const std::filesystem::path directory_;
  const std::string label_;
};

}  // namespace d9d::trace
