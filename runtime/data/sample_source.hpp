#pragma once
// Where samples come from. A sample is a pure function of its global index, so the state of a run's data is
// one number and does not depend on how many ranks read (W-28, W-31).

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/file/row_place.hpp"

namespace d9d {

constexpr std::int64_t ignored_label = -100;

struct Sample {
  std::vector<std::int64_t> input_ids;  // [S]
  std::vector<std::int64_t> labels;     // [S], already shifted; ignored_label where there is none
  // Of samples with several documents [S]: the position at which each token's document begins. Empty: one.
  std::vector<std::int64_t> document_starts = {};
  // More of a plugin's sample, by name: a score, the pixels of an image. Tensors fp32 [B, n] of the batch.
  std::map<std::string, std::vector<float>> numbers = {};
  // Of samples that are filled up [S]: false where a position holds no token. Empty: all hold one. Labels tell nothing of
  // it: the question of a chat has none and is made of tokens.
  std::vector<bool> token_mask = {};
  bool operator==(const Sample&) const = default;
};

// How far scan_ids() goes: to whichever comes first.
struct ScanLimits {
  std::uint64_t bytes_max = std::uint64_t{1} << 30;
  std::chrono::milliseconds time_max{5000};
};
struct Scanned {
  std::uint64_t samples = 0;  // from the first one on, or what `unit` says
  std::uint64_t all = 0;      // there are so many
  const char* unit = "sample";
};

// Immutable once built; any number of threads may read.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  // Samples of one epoch; nothing: the source is endless.
  virtual std::optional<std::uint64_t> num_samples() const = 0;
  // Length S of every sample; with a collation of a plugin's (collation.hpp) the most that one has.
  virtual std::int64_t sequence_length() const = 0;
  // Ids are below this, where the source knows.
  virtual std::optional<std::int64_t> vocab_size() const { return std::nullopt; }
  // Any index: after num_samples() the next epoch begins. Errors of the data itself are input errors.
  virtual Sample at(std::uint64_t index) const = 0;
  // What a sorted order (data.order.sorted) sorts by: the sample's length without what fills it up. Nothing: the
  // source does not know it for this sample, which counts as sequence_length().
  virtual std::optional<std::int64_t> sort_key(std::uint64_t /*index*/) const { return std::nullopt; }
  // The rows of files that a sample was made of, in order; empty where the source does not know them. Names of files
  // live as long as the source.
  virtual std::vector<RowPlace> places_of(std::uint64_t /*index*/) const { return {}; }
  // Looks for ids that the model does not have, in samples that were not read yet; the error is that of at().
  // Nothing: the source cannot hold such ids.
  virtual std::optional<Scanned> scan_ids(const ScanLimits& /*limits*/) const { return std::nullopt; }
};

}  // namespace d9d
