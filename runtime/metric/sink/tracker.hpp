#pragma once
// A run of an experiment tracker, to which numbers are written. One thread uses it; code that must
// not wait for a disk uses an actor in between. Disk errors are environment errors.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

namespace d9d {

// What sets a value apart from others of its name: {"subset": "validation"}. A tracker that has no contexts gets their
// values in front of the name: flat_name().
using PointContext = std::map<std::string, std::string>;

struct Point {
  std::string name;  // "loss", "metrics/accuracy"
  std::int64_t step = 0;
  PointContext context;
};

// `integer`: a count, written without a decimal point where the backend can. `is_time`: seconds since 1970;
// backends that stamp every value with its time leave it out.
struct Scalar {
  double value = 0;
  bool integer = false;
  bool is_time = false;
};

// counts[i] is the number of values in [edges[i], edges[i + 1]); without edges, in [i, i + 1).
struct Histogram {
  std::vector<double> counts;
  std::vector<double> edges = {};  // one more than counts, ascending; or none

  double edge(std::size_t i) const { return edges.empty() ? static_cast<double>(i) : edges[i]; }
};

struct TextRecord {
  std::string text;
};

// The bytes of a PNG file.
struct Picture {
  std::string png;
};

using TrackerValue = std::variant<Scalar, Histogram, TextRecord, Picture>;

class TrackerRun {
 public:
  virtual ~TrackerRun() = default;

  virtual void write(const Point& point, const TrackerValue& value) = 0;
  // Makes the values of `step` so far visible to readers.
  virtual void end_step(std::int64_t /*step*/) {}
  // Settings of the run; keys of nested objects are joined by `/`.
  virtual void hparams(const nlohmann::json& /*hparams*/) {}

  // Makes everything written so far visible to readers.
  virtual void flush() {}
  // Announces close(): nothing more will be written, and several runs may prepare for their end
  // at the same time.
  virtual void begin_close() {}
  // Flushes; later writes are a bug. The destructor closes too, but swallows errors.
  virtual void close() { flush(); }
};

// For backends without contexts: the context's values and the name, joined by `/` (TRACK-11).
std::string flat_name(const Point& point);
// Leaves of nested objects and lists by their `/`-joined path.
std::vector<std::pair<std::string, nlohmann::json>> flat_hparams(const nlohmann::json& hparams);
// A leaf as text for people: a string without quotes.
std::string text_of(const nlohmann::json& leaf);

}  // namespace d9d
