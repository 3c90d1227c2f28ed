#include "runtime/data/corpus/row_choice.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/data/corpus/permutation.hpp"

namespace d9d {
namespace {

// The number of the order in which rows are held out; orders of reading are numbered from 0.
constexpr std::uint64_t held_out_order = ~std::uint64_t{0};

std::uint64_t held_out_of(std::uint64_t rows, const ValidationKeys& keys) {
  const auto wanted =
      keys.samples
          ? static_cast<std::uint64_t>(*keys.samples)
          : static_cast<std::uint64_t>(std::llround(static_cast<double>(rows) * keys.fraction.value_or(0)));
  D9D_REQUIRE(wanted > 0,
              "data.validation.fraction: {} of {} is none; give more data, or data.validation.samples",
              keys.fraction.value_or(0), counted(rows, "row"));
  D9D_REQUIRE(wanted < rows,
              "data.validation: {} held out of {}, so none is left to train on; hold out fewer", wanted,
              counted(rows, "row"));
  return wanted;
}

}  // namespace

RowChoice::RowChoice(std::uint64_t rows, const RowChoiceConfig& config) {
  if (config.max_samples) rows = std::min(rows, static_cast<std::uint64_t>(*config.max_samples));
  if (!config.validation) {
    add(0, rows);
    return;
  }
  const std::uint64_t held_out = held_out_of(rows, *config.validation);
  const Permutation order(rows, config.seed, held_out_order);
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i < held_out; ++i) out.push_back(order(i));
  std::ranges::sort(out);
  if (config.validation->side == DataSide::validation) {
    for (const std::uint64_t row : out) add(row, row + 1);
    return;
  }
  log::info("data.validation: {} of {} held out, drawn by the seed {}", held_out, counted(rows, "row"),
            config.seed);
  std::uint64_t begin = 0;
  for (const std::uint64_t row : out) {
    add(begin, row);
    begin = row + 1;
  }
  add(begin, rows);
}

void RowChoice::add(std::uint64_t begin, std::uint64_t end) {
  if (begin == end) return;
  const bool goes_on = !runs_.empty() && runs_.back().row + (count_ - runs_.back().first) == begin;
  if (!goes_on) runs_.push_back({count_, begin});
  count_ += end - begin;
}

std::uint64_t RowChoice::length_of(std::size_t run) const {
  return (run + 1 < runs_.size() ? runs_[run + 1].first : count_) - runs_[run].first;
}

std::uint64_t RowChoice::row_at(std::uint64_t chosen) const {
  D9D_CHECK(chosen < count_, "row {} of {} chosen ones", chosen, count_);
  const Run& run = *std::prev(std::ranges::upper_bound(runs_, chosen, {}, &Run::first));
  return run.row + (chosen - run.first);
}

}  // namespace d9d
