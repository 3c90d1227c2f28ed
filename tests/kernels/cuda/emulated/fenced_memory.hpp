#pragma once
// Memory for the tensors of a test: it begins as NaN (-1 as an integer), ends at a page that nobody may touch, and is
// gone when it is freed. A kernel that reads or writes beyond a tensor dies at that line.

#include <c10/core/Allocator.h>

namespace d9d::test {

// While it lives, all tensors of the CPU are made in such memory. They may outlive it. One at a time.
class FencedMemory {
 public:
  FencedMemory();
  ~FencedMemory();
  FencedMemory(const FencedMemory&) = delete;
  FencedMemory& operator=(const FencedMemory&) = delete;

 private:
  at::Allocator* previous_;
};

}  // namespace d9d::test
