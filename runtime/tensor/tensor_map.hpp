#pragma once
// The batch, transfer and output type of the whole framework: named tensors, iterated in name order.

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <string_view>

namespace d9d {

using TensorMap = std::map<std::string, at::Tensor>;

// Returns the tensor of that name. If it is absent, an input error lists the names of the map.
// `what` names the map.
const at::Tensor& tensor_at(const TensorMap& map, std::string_view name, const char* what);

}  // namespace d9d
