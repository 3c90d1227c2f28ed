#pragma once
// Converts lists of numbers between Cap'n Proto and std::vector, because Cap'n Proto's iterators
// are not standard ones.

#include <capnp/list.h>

#include <vector>

namespace d9d {

template <class T, class ListReader>
std::vector<T> to_vector(const ListReader& list) {
  std::vector<T> values(list.size());
  for (unsigned i = 0; i < list.size(); ++i) values[i] = static_cast<T>(list[i]);
  return values;
}

// `list` was made with the size of `values`.
template <class ListBuilder, class Values>
void fill_list(ListBuilder list, const Values& values) {
  for (unsigned i = 0; i < list.size(); ++i) list.set(i, values[i]);
}

}  // namespace d9d
