#pragma once
// The batch, transfer and output type of the whole framework: named tensors, iterated in name order.

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

namespace d9d {

using TensorMap = std::map<std::string, at::Tensor>;

// The tensor of that name; an input error that lists the
// names there are when it is absent. `what` names the map.
const at::Tensor& tensor_at(const TensorMap& map, const std::string& name, const char* what);

}  // namespace d9d
