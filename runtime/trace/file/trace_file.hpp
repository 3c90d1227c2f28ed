#pragma once
// The name of a trace: the newest of a run is `trace.json.gz`, those of its earlier starts are kept beside it as
// `trace-1.json.gz` (the oldest), `trace-2.json.gz`, ...; one of a few steps is `<label>.trace.json.gz`.

#include <filesystem>
#include <string>

namespace d9d::trace {

class TraceFile {
 public:
  TraceFile(std::filesystem::path directory, std::string label)
      : directory_(std::move(directory)), label_(std::move(label)) {}

  // Where to write it: no reader takes it for a trace yet.
  std::filesystem::path draft() const;
  // Gives the finished draft its name, and the one that has it
  // now the next number. An environment error where that fails.
  std::filesystem::path publish() const;

 private:
  const std::filesystem::path directory_;
  const std::string label_;
};

}  // namespace d9d::trace
