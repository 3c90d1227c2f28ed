#include "runtime/tokenizer/model/byte_trie.hpp"

#include <algorithm>

namespace d9d {
namespace {

// Entries that share their first `depth` bytes, and the node which these lead to.
struct TrieRange {
  std::size_t begin;
  std::size_t end;
  std::size_t depth;
  std::size_t node;
};

}  // namespace

ByteTrie::ByteTrie(std::vector<Entry> entries) {
  std::ranges::sort(entries);
  std::erase_if(entries, [](const Entry& entry) { return entry.first.empty(); });
  first_.fill(none);
  // Level by level, so that the children of a node get indices in a row.
  std::vector<TrieRange> ranges{{0, entries.size(), 0, none}};
  for (std::size_t next = 0; next < ranges.size(); ++next) {
    const TrieRange range = ranges[next];
    std::size_t at = range.begin;
    // Entries that end here come first; of equal ones the last has the highest number.
    while (at < range.end && entries[at].first.size() == range.depth)
      nodes_[range.node].value = entries[at++].second;
    if (range.depth > 0) nodes_[range.node].children = static_cast<std::uint32_t>(nodes_.size());
    while (at < range.end) {
      const char byte = entries[at].first[range.depth];
      std::size_t end = at;
      while (end < range.end && entries[end].first[range.depth] == byte) ++end;
      ranges.push_back({at, end, range.depth + 1, nodes_.size()});
      if (range.depth == 0) {
        first_[static_cast<unsigned char>(byte)] = static_cast<std::uint32_t>(nodes_.size());
      } else {
        ++nodes_[range.node].num_children;
      }
      nodes_.emplace_back();
      labels_.push_back(byte);
      at = end;
    }
  }
}

}  // namespace d9d
