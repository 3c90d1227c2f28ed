#pragma once
// The store as c10d knows it; for the .cpp files of the backends and the CUDA plugin.

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <memory>

namespace d9d::comm {

struct StoreHandle {
  c10::intrusive_ptr<c10d::Store> store;
};

}  // namespace d9d::comm
