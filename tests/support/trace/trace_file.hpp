#pragma once
// The file of a trace as a viewer sees it: slices, arrows between them, who they belong to.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace d9d::test {

struct TraceSlice {
  std::string process;  // "rank 0 (node 0)", "node 1"
  std::string track;    // "rank_executor/0", "compute stage 1"
  std::string name;
  std::string category;
  int rank = -1;
  int node = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  bool has_step = false;
  int step = -1;
  int stage = -1;
  std::string flow_in;
  std::string flow_out;
};

struct TraceArrow {
  std::int64_t left_ns = 0;
  std::int64_t came_ns = 0;
  // The slices that it binds to: at its ends, with the same flow. Null: there is none.
  const TraceSlice* from = nullptr;
  const TraceSlice* to = nullptr;
};

class TraceFile {
 public:
  explicit TraceFile(const std::filesystem::path& path);
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  const std::vector<TraceSlice>& slices() const { return slices_; }
  const std::vector<TraceArrow>& arrows() const { return arrows_; }
  // By sort index, the topmost first.
  std::vector<std::string> tracks_of(const std::string& process) const;

 private:
  struct Track {
    std::string process, name;
    int rank = -1, node = 0, sort_index = 0;
  };
  std::map<std::pair<int, int>, Track> tracks_;  // by process and thread id
  std::vector<TraceSlice> slices_;
  std::vector<TraceArrow> arrows_;
};

}  // namespace d9d::test
