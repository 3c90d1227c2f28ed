#include "messages/frame.hpp"

namespace d9d {

std::span<const std::byte> Frame::bytes() const {
  return {reinterpret_cast<const std::byte*>(data()), size_bytes()};
}

}  // namespace d9d
