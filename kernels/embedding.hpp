#pragma once

#include <ATen/core/Tensor.h>

namespace d9d::kernels {

// weight[ids]. ids int64 [..] in [0, V), weight [V, H] -> [.., H]. An id outside is an error that names
// it. Gradients are summed per row in the order of the tokens, so they have the same bits in every run
// and with any number of threads.
at::Tensor embedding(const at::Tensor& ids, const at::Tensor& weight);

// The same if `weight` is a part of a vocabulary of `vocab_size` rows, from row `first` on. Ids of other
// rows give zeros, so that the sum over the ranks that hold the parts is weight[ids].
at::Tensor embedding_of_part(const at::Tensor& ids, const at::Tensor& weight, int64_t first,
                             int64_t vocab_size);

}  // namespace d9d::kernels
