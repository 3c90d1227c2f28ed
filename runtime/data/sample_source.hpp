#pragma once
// Where samples come from. A sample is a pure function of its global index, so the state of a run's data is
// one number and does not depend on how many ranks read (W-28, W-31).

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/file/row_place.hpp"
#include "runtime/data/sample_value.hpp"

namespace d9d {

class RolloutStream;
class SampleStream;

constexpr std::int64_t ignored_label = -100;

struct Sample {
  std::vector<std::int64_t> input_ids;  // [S]
  std::vector<std::int64_t> labels;     // [S], already shifted; ignored_label where there is none
  // For a sample of several documents, [S]: the position at which each token's document begins.
  // Empty: the sample is one document.
  std::vector<std::int64_t> document_starts = {};
  // Further values of a plugin's sample, by name: a score, the pixels of an image. They become
  // tensors fp32 [B, n] of the batch.
  std::map<std::string, std::vector<float>> numbers = {};
  // For a padded sample, [S]: false where a position holds no token. Empty: all hold one. Labels
  // cannot replace it: the question of a chat has no labels, but consists of tokens.
  std::vector<bool> token_mask = {};
  // What else a plugin's sample holds, by name, for a collation: texts, bytes, structs, tensors. Without
  // a collation the tensors of a name are stacked into one, [B, ...], and anything else is refused.
  std::map<std::string, SampleValue> values = {};
  bool operator==(const Sample&) const = default;
};

// Bounds scan_ids(), which stops at the bound that is reached first.
struct ScanLimits {
  std::uint64_t bytes_max = std::uint64_t{1} << 30;
  std::chrono::milliseconds time_max{5000};
};
struct Scanned {
  std::uint64_t samples = 0;  // looked at, counted from the first one; `unit` names them
  std::uint64_t all = 0;      // how many the source has
  const char* unit = "sample";
};

// Immutable once built; any number of threads may read.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  // Samples of one epoch; nothing: the source is endless.
  virtual std::optional<std::uint64_t> num_samples() const = 0;
  // Length S of every sample. With a plugin's collation (collation.hpp): the largest length.
  virtual std::int64_t sequence_length() const = 0;
  // All ids are below this number. Nothing: the source does not know.
  virtual std::optional<std::int64_t> vocab_size() const { return std::nullopt; }
  // Returns the sample with this index, which may be any number: after num_samples() the next epoch
  // begins. Mistakes in the data are input errors.
  virtual Sample at(std::uint64_t index) const = 0;
  // The key of a sorted order (data.order.sorted): the sample's length without padding. Nothing:
  // the source does not know the length, and the sample counts as sequence_length().
  virtual std::optional<std::int64_t> sort_key(std::uint64_t /*index*/) const { return std::nullopt; }
  // Returns the rows of files that a sample was made of, in order, or an empty list where the
  // source does not know them. File names live as long as the source.
  virtual std::vector<RowPlace> places_of(std::uint64_t /*index*/) const { return {}; }
  // Looks through samples that have not been read yet, for ids that the model does not have and for whatever else at()
  // refuses; throws the error of at(). Nothing: all was looked at when the source was built.
  virtual std::optional<Scanned> scan_ids(const ScanLimits& /*limits*/) const { return std::nullopt; }
  // Opens the samples of a source that gives them one after another and refuses at(), as is_stream() says.
  virtual std::shared_ptr<SampleStream> open_stream() const { return nullptr; }
  virtual bool is_stream() const { return false; }
  // The same of one whose samples are made of what the model writes between steps. It is a stream, too, but gives
  // its samples to nothing but a job that trains.
  virtual std::shared_ptr<RolloutStream> open_rollouts() const { return nullptr; }
  virtual bool is_rollouts() const { return false; }
};

}  // namespace d9d
