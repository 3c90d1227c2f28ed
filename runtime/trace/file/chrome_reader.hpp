#pragma once
// Reads the files of ChromeWriter back into spans.

#include <filesystem>
#include <vector>

#include "runtime/trace/file/chrome_writer.hpp"
#include "runtime/trace/record/recorder.hpp"

namespace d9d::trace {

struct LoadedTrace {
  TraceInfo info;
  std::int64_t offset_error_ns = 0;
  // Times are those of node 0's clock. Counters have an actor without a name.
  Recording recording;
};

// Reads a trace. Input error that names the path: the file is not one of ours (other JSON,
// cut short, of a newer version, or made for other tools: KinetoRank). Environment error:
// it cannot be read.
LoadedTrace read_chrome_trace(const std::filesystem::path& path);

// Joins traces (of several nodes, or of several stretches of time) into one
// recording, sorted by start.
LoadedTrace merge(const std::vector<LoadedTrace>& traces);

// Writes a file per rank for tools that read PyTorch profiler files (KinetoRank),
// `<folder>/rank<r>.json.gz`, and returns the paths.
std::vector<std::filesystem::path> export_for_profilers(const LoadedTrace& trace,
                                                        const std::filesystem::path& folder);

}  // namespace d9d::trace
