#pragma once
// The caches of one stage's layers, and a pass through the layers with them.

#include <map>
#include <memory>

#include "runtime/nn/model/generating_stage.hpp"

namespace d9d {

struct LayerCaches final : StageCache {
  std::map<std::int64_t, std::unique_ptr<BlockCache>> layers;  // by their index in the model
};

struct CachedPass {
  LayerCaches& caches;
  const NewTokens& tokens;
};

}  // namespace d9d
