#pragma once
// The header of an .npy file, which holds dtype, order and shape: a Python dict. NumPy writes it in
// one way; this reader accepts the keys in any order and any spaces.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace d9d {

struct NpyHeader {
  std::string descr;  // such as "<i4"
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

// Input error for anything but a dict with exactly these three keys.
NpyHeader parse_npy_header(std::string_view text);
std::string to_text(const NpyHeader& header);

}  // namespace d9d
