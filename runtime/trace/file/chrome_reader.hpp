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

// An input error that names the path when it is no file of ours: other JSON, cut short, of a newer version,
// or made for other tools (KinetoRank). An environment error when it cannot be read.
LoadedTrace read_chrome_trace(const std::filesystem::path& path);

// One recording of all (of several nodes, or of several stretches of time), sorted by start.
LoadedTrace merge(const std::vector<LoadedTrace>& traces);

// A file per rank for tools that know PyTorch profiler files
// (KinetoRank): `<folder>/rank<r>.json.gz`; the paths.
std::vector<std::filesystem::path> export_for_profilers(const LoadedTrace& trace,
                                                        const std::filesystem::path& folder);

}  // namespace d9d::trace
