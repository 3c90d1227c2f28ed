#include "runtime/state/tensor_file/slice_read.hpp"

#include <cstring>
#include <numeric>
#include <vector>

namespace d9d {
namespace {

constexpr std::uint64_t direct_bytes = 64 << 10;  // runs at least this long go straight to their place
constexpr std::uint64_t gap_bytes = 16 << 10;
constexpr std::uint64_t window_bytes = 1 << 20;

struct Run {
  std::uint64_t offset;  // in the file
  std::byte* into;
};

// Collects short runs of equal length and reads them with one call for each window.
class ShortRuns {
 public:
  ShortRuns(const ReadFile& file, std::uint64_t run_bytes) : file_(file), run_bytes_(run_bytes) {}

  void add(Run run) {
    if (!runs_.empty()) {
      const bool near = run.offset - (runs_.back().offset + run_bytes_) <= gap_bytes;
      const bool fits = run.offset + run_bytes_ - runs_.front().offset <= window_bytes;
      if (!near || !fits) flush();
    }
    runs_.push_back(run);
  }

  void flush() {
    if (runs_.empty()) return;
    const auto begin = runs_.front().offset;
    staging_.resize(runs_.back().offset + run_bytes_ - begin);
    file_.read(begin, staging_.data(), staging_.size());
    for (const auto& run : runs_) std::memcpy(run.into, staging_.data() + (run.offset - begin), run_bytes_);
    runs_.clear();
  }

 private:
  const ReadFile& file_;
  std::uint64_t run_bytes_;
  std::vector<Run> runs_;
  std::vector<std::byte> staging_;
};

// Bytes from one index of each dim to the next.
std::vector<std::int64_t> strides_of(const Shape& shape, std::int64_t element_bytes) {
  std::vector<std::int64_t> strides(shape.size(), element_bytes);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

}  // namespace

void read_slice(const ReadFile& file, std::uint64_t offset, const Shape& shape, std::int64_t element_bytes,
                const Slice& slice, std::byte* into) {
  if (is_empty(slice)) return;
  const std::vector<std::int64_t> strides = strides_of(shape, element_bytes);
  // Dims after `inner` are whole, so one index of the dims before it is one contiguous run.
  std::size_t inner = shape.size();
  std::int64_t run = element_bytes;  // bytes of a run
  for (bool whole = true; whole && inner > 0;) {
    --inner;
    const auto extent = slice.end[inner] - slice.begin[inner];
    run = strides[inner] * extent;
    whole = extent == shape[inner];
  }
  std::int64_t at = std::inner_product(strides.begin(), strides.end(), slice.begin.begin(),
                                       static_cast<std::int64_t>(offset));
  const auto run_bytes = static_cast<std::uint64_t>(run);
  ShortRuns short_runs(file, run_bytes);
  std::vector<std::int64_t> index(inner, 0);
  for (bool more = true; more; into += run) {
    if (run_bytes >= direct_bytes || inner == 0)
      file.read(static_cast<std::uint64_t>(at), into, run_bytes);
    else
      short_runs.add({static_cast<std::uint64_t>(at), into});
    more = false;
    for (std::size_t d = inner; d-- > 0;) {
      at += strides[d];
      if (++index[d] < slice.end[d] - slice.begin[d]) {
        more = true;
        break;
      }
      at -= strides[d] * index[d];
      index[d] = 0;
    }
  }
  short_runs.flush();
}

}  // namespace d9d
