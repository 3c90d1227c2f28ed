#pragma once
// Which of n rows (documents, samples) of a source a job reads: the first ones, less those that are held out, or these.

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

// Of a section of data. A section without a seed counts as one with 0 (build_source() fills it in).
template <class Config>
RowChoiceConfig row_choice_of(const Config& config) {
  return {config.max_samples, config.validation, static_cast<std::uint64_t>(config.seed.value_or(0))};
}

// A function of n, the keys and the seed. Memory grows with the rows that are held out.
class RowChoice {
 public:
  // Input error where none would be held out, or none left. Logs what is chosen.
  RowChoice(std::uint64_t rows, const RowChoiceConfig& config);

  struct Run {
    std::uint64_t first = 0;  // as the chosen rows are counted
    std::uint64_t row = 0;    // of all rows
  };
  std::uint64_t count() const { return count_; }
  // Rows that follow each other, in order. Empty where no row is chosen.
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
