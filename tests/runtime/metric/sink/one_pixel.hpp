#pragma once
// The smallest picture.

#include <string>
#include <string_view>

namespace d9d::test {

// A PNG file of one pixel, as Python's zlib packs it.
inline std::string png_of_one_pixel() {
  using namespace std::string_view_literals;
  return std::string(
      "\211\120\116\107\015\012\032\012\000\000\000\015\111\110\104\122"
      "\000\000\000\001\000\000\000\001\010\002\000\000\000\220\167\123"
      "\336\000\000\000\014\111\104\101\124\170\234\143\370\317\300\000"
      "\000\003\001\001\000\311\376\222\357\000\000\000\000\111\105\116"
      "\104\256\102\140\202"sv);
}

}  // namespace d9d::test
