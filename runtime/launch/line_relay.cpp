#include "runtime/launch/line_relay.hpp"

#include <utility>

namespace d9d {
namespace {

constexpr std::size_t line_bytes_max = 1 << 16;

}  // namespace

std::string LineRelay::add(std::string_view piece) {
  std::string lines;
  for (std::size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
    lines += mark_ + std::exchange(open_, {}) + std::string(piece.substr(0, end + 1));
    piece.remove_prefix(end + 1);
  }
  open_ += piece;
  if (open_.size() > line_bytes_max) lines += rest();
  return lines;
}

std::string LineRelay::rest() {
  if (open_.empty()) return {};
  return mark_ + std::exchange(open_, {}) + "\n";
}

}  // namespace d9d
