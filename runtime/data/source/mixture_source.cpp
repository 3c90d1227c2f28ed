#include "runtime/data/source/mixture_source.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

std::vector<WeightedSource> checked(std::vector<WeightedSource> parts) {
  D9D_REQUIRE(!parts.empty(), "data.parts is empty; give at least one part");
  const std::int64_t length = parts.front().source->sequence_length();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::int64_t own = parts[i].source->sequence_length();
    D9D_REQUIRE(
        own == length,
        "data.parts.{}: its samples have {} tokens, those of part 0 have {}; give all parts one length", i,
        own, length);
  }
  return parts;
}

std::vector<double> weights_of(const std::vector<WeightedSource>& parts) {
  std::vector<double> weights;
  for (const WeightedSource& part : parts) weights.push_back(part.weight);
  return weights;
}

std::optional<std::uint64_t> first_end(const std::vector<WeightedSource>& parts, const Interleave& order) {
  std::optional<std::uint64_t> end;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].end) continue;
    const std::uint64_t own = order.sample_of({i, *parts[i].end});
    end = std::min(end.value_or(own), own);
  }
  return end;
}

}  // namespace

MixtureSource::MixtureSource(std::vector<WeightedSource> parts)
    : parts_(checked(std::move(parts))),
      order_(weights_of(parts_)),
      num_samples_(first_end(parts_, order_)) {}

std::optional<std::int64_t> MixtureSource::vocab_size() const {
  std::int64_t largest = 0;
  for (const WeightedSource& part : parts_) {
    const auto own = part.source->vocab_size();
    if (!own) return std::nullopt;
    largest = std::max(largest, *own);
  }
  return largest;
}

Sample MixtureSource::at(std::uint64_t index) const {
  const Interleave::Turn turn = order_.at(index);
  return parts_[turn.part].source->at(turn.number);
}

std::optional<std::int64_t> MixtureSource::sort_key(std::uint64_t index) const {
  const Interleave::Turn turn = order_.at(index);
  return parts_[turn.part].source->sort_key(turn.number);
}

std::vector<RowPlace> MixtureSource::places_of(std::uint64_t index) const {
  const Interleave::Turn turn = order_.at(index);
  return parts_[turn.part].source->places_of(turn.number);
}

// Each part with the limits of the whole: they are there for the sake of the user's patience.
std::optional<Scanned> MixtureSource::scan_ids(const ScanLimits& limits) const {
  std::optional<Scanned> worst;
  for (const WeightedSource& part : parts_) {
    const auto own = part.source->scan_ids(limits);
    if (own && (!worst || own->samples < own->all)) worst = own;
  }
  return worst;
}

}  // namespace d9d
