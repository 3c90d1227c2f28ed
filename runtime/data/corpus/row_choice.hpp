#pragma once
// Chooses which of a source's n rows (documents, samples) a job reads: the first ones without those
// held out, or those held out.

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/data/config/row_choice_config.hpp"

namespace d9d {

struct RowChoiceConfig {
  std::optional<std::int64_t> max_samples;
  std::optional<Validation> validation;
  std::uint64_t seed = 0;  // draws the rows that are held out

  bool is_all() const { return !max_samples && !validation; }
};

// Reads the keys of a section of data. A section without a seed counts as one with 0
// (build_source() fills it in).
template <class Config>
RowChoiceConfig row_choice_of(const Config& config) {
  return {config.max_samples, config.validation, static_cast<std::uint64_t>(config.seed.value_or(0))};
}

// The choice depends on n, the keys and the seed alone. Memory grows with the number
// of rows held out.
class RowChoice {
 public:
  // Logs what is chosen. Input error: no row would be held out, or none left.
  RowChoice(std::uint64_t rows, const RowChoiceConfig& config);

  struct Run {
    std::uint64_t first = 0;  // its number among the chosen rows
    std::uint64_t row = 0;    // its number among all rows
  };
  std::uint64_t count() const { return count_; }
  // Stretches of consecutive rows, in order. Empty where no row is chosen.
  const std::vector<Run>& runs() const { return runs_; }
  // Rows of run `run`.
  std::uint64_t length_of(std::size_t run) const;
  std::uint64_t row_at(std::uint64_t chosen) const;

 private:
  void add(std::uint64_t begin, std::uint64_t end);

  std::vector<Run> runs_;
  std::uint64_t count_ = 0;
};

}  // namespace d9d
