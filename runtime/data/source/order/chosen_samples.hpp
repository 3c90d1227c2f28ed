#pragma once
// A source of some of the samples of another one, in the files' order.

#include <memory>
#include <utility>

#include "runtime/data/corpus/permutation.hpp"
#include "runtime/data/corpus/row_choice.hpp"
#include "runtime/data/source/source_over.hpp"

namespace d9d {

class ChosenSamples final : public SourceOver {
 public:
  // `source` must not be endless. Errors as RowChoice.
  ChosenSamples(std::shared_ptr<const SampleSource> source, const RowChoiceConfig& rows, bool shuffle)
      : SourceOver(std::move(source)),
        choice_(source_->num_samples().value(), rows),
        order_(choice_.count(), shuffle, rows.seed) {}
  std::optional<std::uint64_t> num_samples() const override { return choice_.count(); }

 private:
  std::uint64_t index_of(std::uint64_t index) const override { return choice_.row_at(order_.item_at(index)); }

  const RowChoice choice_;
  const EpochOrder order_;
};

}  // namespace d9d
