#pragma once
// Visits the tensors in an argument or a result of an op, in order: for_tensors(routing, f) calls
// f(scores), f(probs), f(experts). Looks into structs, which are aggregates, and into lists; for a value without
// tensors it calls nothing.

#include <boost/pfr/core.hpp>

#include <memory>
#include <type_traits>

#include "kernels/ops/table.hpp"

namespace d9d::kernels {

template <class T, class F>
void for_tensors(T& value, F&& f) {
  using Value = std::remove_const_t<T>;
  if constexpr (std::is_same_v<Value, at::Tensor>) {
    f(value);
  } else if constexpr (requires { value.begin(); }) {
    for (auto& item : value) for_tensors(item, f);
  } else if constexpr (std::is_aggregate_v<Value> && !std::is_trivially_copyable_v<Value>) {
    boost::pfr::for_each_field(value, [&](auto& field) { for_tensors(field, f); });
  } else {
    // What is copied as bytes contains no tensor. ExpertFactor::gathered contains one that belongs to no argument.
    static_assert(std::is_trivially_copyable_v<Value> || std::is_same_v<Value, std::shared_ptr<at::Tensor>>);
  }
}

}  // namespace d9d::kernels
