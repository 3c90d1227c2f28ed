#pragma once
// What the layers of one stage keep of sequences, and what a pass through them needs of it.

#include <map>
#include <memory>

#include "runtime/nn/model/generating_stage.hpp"

namespace d9d {

struct LayerCaches final : StageCache {
  std::map<std::int64_t, std::unique_ptr<BlockCache>> layers;  // by their index in the model
  std::int64_t tokens = 0;                                     // of a sequence, at most
};

struct CachedPass {
  LayerCaches& caches;
  const NewTokens& tokens;
};

}  // namespace d9d
