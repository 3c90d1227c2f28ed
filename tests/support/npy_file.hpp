#pragma once
// The bytes of a .npy file of int32 [rows, columns], format version 1.0.

#include <cstdint>
#include <functional>
#include <string>

namespace d9d::test {

inline std::string npy_file(int rows, int columns, const std::function<std::int32_t(int, int)>& value_at) {
  std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " +
                       std::to_string(columns) + "), }";
  header.append(63 - (10 + header.size()) % 64, ' ').push_back('\n');
  std::string text = std::string("\x93NUMPY\x01\x00", 8);
  text.push_back(static_cast<char>(header.size() & 0xff));
  text.push_back(static_cast<char>(header.size() >> 8));
  text += header;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const std::int32_t value = value_at(row, column);
      text.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
  }
  return text;
}

}  // namespace d9d::test
