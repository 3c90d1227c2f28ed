#pragma once
// What a Loader actor does, without the actor: packs of one data rank, one step after the other. Its whole
// state is the first global sample of the next step, the same number on every data rank and for every layout.

#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/data/batch_maths.hpp"
#include "runtime/data/pack.hpp"
#include "runtime/data/sample_source.hpp"

namespace d9d {

class LoaderCore {
 public:
  // Begins with global sample `start`. `end`: no step may reach beyond this global sample; nothing: epochs
  // follow each other without end.
  LoaderCore(std::shared_ptr<const SampleSource> source, BatchMaths maths, std::int64_t data_rank,
             std::uint64_t start, std::optional<std::uint64_t> end = std::nullopt);

  // The microbatches of the next step; nothing when no whole step is left.
  std::optional<MicrobatchPack> next();
  // The first global sample of the step that next() will give: what a checkpoint keeps.
  std::uint64_t position() const { return position_; }

 private:
  const std::shared_ptr<const SampleSource> source_;
  const BatchMaths maths_;
  const std::int64_t data_rank_;
  const std::optional<std::uint64_t> end_;
  std::uint64_t position_;
};

}  // namespace d9d
