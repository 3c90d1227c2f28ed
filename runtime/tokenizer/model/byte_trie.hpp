#pragma once
// Maps texts to numbers and finds all of them that a text begins with. Immutable.

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace d9d {

class ByteTrie {
 public:
  using Entry = std::pair<std::string, std::int32_t>;

  ByteTrie() : ByteTrie(std::vector<Entry>()) {}
  // If a text comes twice, the higher number counts. The empty text is left out.
  explicit ByteTrie(std::vector<Entry> entries);

  // Calls each(bytes, number) for all entries that `text` begins with, from the shortest.
  template <class Each>
  void for_each_prefix(std::string_view text, Each&& each) const {
    if (text.empty()) return;
    std::uint32_t node = first_[static_cast<unsigned char>(text[0])];
    for (std::size_t length = 1; node != none; ++length) {
      if (nodes_[node].value >= 0) each(length, nodes_[node].value);
      if (length == text.size()) return;
      node = child_of(node, text[length]);
    }
  }

 private:
  static constexpr std::uint32_t none = 0xFFFFFFFF;
  struct Node {
    std::int32_t value = -1;  // -1: no entry ends here
    std::uint32_t children = 0;
    std::uint32_t num_children = 0;
  };

  std::uint32_t child_of(std::uint32_t node, char byte) const {
    const Node& at = nodes_[node];
    if (at.num_children == 0) return none;
    const char* labels = labels_.data() + at.children;
    const void* found = std::memchr(labels, static_cast<unsigned char>(byte), at.num_children);
    return found ? at.children + static_cast<std::uint32_t>(static_cast<const char*>(found) - labels) : none;
  }

  std::array<std::uint32_t, 256> first_{};  // by the first byte
  std::vector<Node> nodes_;                 // children of a node are beside each other
  std::vector<char> labels_;                // the byte that leads to the node of the same index
};

}  // namespace d9d
