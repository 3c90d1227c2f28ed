#pragma once
// Cap'n Proto lists of numbers <-> std::vector: their iterators are no standard iterators.

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
