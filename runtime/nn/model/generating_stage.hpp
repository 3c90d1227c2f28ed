#pragma once
// A stage that goes on with sequences of which it has seen the beginnings. A StageModule may implement it
// beside that interface; one that does not cannot generate.

#include <memory>

#include "runtime/nn/attention/block_cache.hpp"
#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

// What a stage keeps of sequences; made and read by the stage alone.
class StageCache {
 public:
  virtual ~StageCache() = default;
};

class GeneratingStage {
 public:
  virtual ~GeneratingStage() = default;

  // An empty cache. Input error that says why where the model, or one of its strategies, cannot generate.
  virtual std::unique_ptr<StageCache> make_cache(const CacheSize& size) const = 0;
  // StageModule::forward() of the new tokens: input_ids int64 [1, T] on the first stage, T = tokens.counted(),
  // else what the stage before gave; positions follow from `tokens`. Ids and `shared` may be on the host where the
  // model is on a device. Without gradients, on the compute thread. The same calls on all ranks of the stage.
  virtual TensorMap extend(const TensorMap& inputs, const TensorMap& shared, StageCache& cache,
                           const NewTokens& tokens) = 0;
};

}  // namespace d9d
