#pragma once
// The text inside an .npy file that says dtype, order and shape: a Python dict, written by numpy in one way
// but readable in any order of keys and with any spaces.

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

// Anything but a dict with exactly these three keys is an input error.
NpyHeader parse_npy_header(std::string_view text);
std::string to_text(const NpyHeader& header);

}  // namespace d9d
