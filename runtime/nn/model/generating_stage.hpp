#pragma once
// A stage that can continue sequences whose beginnings it has seen. A StageModule that implements this
// interface, too, can generate texts.

#include <memory>

#include "runtime/nn/attention/block_cache.hpp"
#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

// The caches of a stage for a set of sequences. Only the stage itself makes and reads them.
class StageCache {
 public:
  virtual ~StageCache() = default;
};

class GeneratingStage {
 public:
  virtual ~GeneratingStage() = default;

  // Makes an empty cache. Input error with the reason when the model, or one of
  // its strategies, cannot generate.
  virtual std::unique_ptr<StageCache> make_cache(const CacheSize& size) const = 0;
  // Computes StageModule::forward() of the new tokens. `inputs`: input_ids int64 [1, T], T =
  // tokens.counted(), on the first stage; on the others the outputs of the stage before. Positions follow
  // from `tokens`. Ids and `shared` may be on the host when the model is on a device. No gradients. Call it
  // on the compute thread, and in the same way on all ranks of the stage.
  virtual TensorMap extend(const TensorMap& inputs, const TensorMap& shared, StageCache& cache,
                           const NewTokens& tokens) = 0;
};

}  // namespace d9d
