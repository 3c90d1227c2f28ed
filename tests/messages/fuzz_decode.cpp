// libFuzzer's entry: frames from strangers. Built by clang only; mutate_decode.cpp stands in elsewhere.
#include <cstdint>

#include "tests/messages/read_bytes.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  d9d::test::read_bytes({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
