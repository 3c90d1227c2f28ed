#include "runtime/nn/attention/attention.hpp"

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr const char* no_cache =
    "a block of the model keeps nothing of earlier tokens (Attention::make_cache), so it cannot generate; "
    "implement make_cache and forward_cached for it";

}  // namespace

std::unique_ptr<BlockCache> Attention::make_cache(const CacheSize& /*size*/) const {
  throw Error(ErrorKind::input, no_cache);
}

at::Tensor Attention::forward_cached(const at::Tensor& /*x*/, const at::Tensor& /*cos*/,
                                     const at::Tensor& /*sin*/, BlockCache& /*cache*/,
                                     const NewTokens& /*tokens*/) const {
  throw Error(ErrorKind::input, no_cache);
}

}  // namespace d9d
