#pragma once
// The bytes of .npy files, format version 1.0, as numpy writes them (tests/golden/data compares them).

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace d9d::test {

// `descr` is numpy's name of the dtype, such as "<i4"; `elements` are the array's bytes in C order.
inline std::string npy_bytes(const std::string& descr, const std::vector<std::int64_t>& shape,
                             std::string_view elements) {
  std::string sizes;
  for (const std::int64_t size : shape) sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
  if (shape.size() == 1) sizes += ",";
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + sizes + "), }";
  header.append(63 - (10 + header.size()) % 64, ' ').push_back('\n');
  std::string text = std::string("\x93NUMPY\x01\x00", 8);
  text.push_back(static_cast<char>(header.size() & 0xff));
  text.push_back(static_cast<char>(header.size() >> 8));
  return text.append(header).append(elements);
}

// int32 values of this shape.
inline std::string npy_of(const std::vector<std::int64_t>& shape, const std::vector<std::int32_t>& values) {
  return npy_bytes("<i4", shape,
                   {reinterpret_cast<const char*>(values.data()), values.size() * sizeof values[0]});
}

// int32 [rows, columns].
inline std::string npy_file(int rows, int columns, const std::function<std::int32_t(int, int)>& value_at) {
  std::vector<std::int32_t> values;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) values.push_back(value_at(row, column));
  }
  return npy_of({rows, columns}, values);
}

}  // namespace d9d::test
