#pragma once
// Documents that share the rows of a batch, as FlashAttention takes them.

#include <ATen/core/Tensor.h>

#include <optional>

namespace d9d::cuda {

struct Documents {
  // int32 [documents + 1]: the token of the batch at which each begins, then the number of tokens.
  at::Tensor begins;
  int64_t longest = 0;
};

// `first` of VisibleKeys where it is, for each token, the beginning of its document; nothing where it limits keys in
// another way. The host waits where it does not know the values, once for a tensor.
std::optional<Documents> documents_of(const at::Tensor& first);

}  // namespace d9d::cuda
