#pragma once
// Which instance of a kernel a call takes: by the type of its elements, and by the width of its accesses.

#include <initializer_list>

#include "kernels/cuda/elements.cuh"

namespace d9d::cuda {

// f(T{}) with the type of the elements.
template <class F>
int dispatch(ElementType type, F&& f) {
  return type == ElementType::float32 ? f(float{}) : f(Bf16{});
}

// True if rows of `width` elements can be read 16 bytes at a time. Null rows do not count.
template <class T>
bool takes_packs(std::int64_t width, std::initializer_list<ConstRows> all) {
  if (width % pack_size<T> != 0) return false;
  for (const ConstRows& rows : all)
    if (reinterpret_cast<std::uintptr_t>(rows.data) % 16 != 0 ||
        (rows.data && rows.stride % pack_size<T> != 0))
      return false;
  return true;
}

// f(integral_constant) with the number of elements of one access.
template <class T, class F>
int dispatch_packs(bool packs, F&& f) {
  if (packs) return f(std::integral_constant<int, pack_size<T>>{});
  return f(std::integral_constant<int, 1>{});
}

}  // namespace d9d::cuda
