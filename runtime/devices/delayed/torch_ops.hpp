#pragma once
// What torch asks of a backend by name, and not by way of its fall-back: new tensors, views, copies, and single
// numbers for the host.

namespace torch {
class Library;
}

namespace d9d::delayed {

void add_torch_ops(torch::Library& aten);

}  // namespace d9d::delayed
