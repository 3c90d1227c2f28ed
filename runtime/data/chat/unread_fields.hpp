#pragma once
// What stands in rows and is not read: named once, with a count.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "runtime/data/row_json.hpp"

namespace d9d {

class UnreadFields {
 public:
  void add_of_row(std::string_view key) { ++rows_[std::string(key)]; }
  // What messages have beside role and content, tools and documents, where `reads` does not know them. Nulls are nothing.
  void add_of_conversation(const RowJson& messages, const RowJson& tools, const RowJson& documents,
                           const std::function<bool(std::string_view)>& reads);
  // Logs them: what belongs to a conversation as a warning.
  void say() const;

 private:
  std::map<std::string, std::uint64_t> rows_;    // by key, how many have it
  std::map<std::string, std::uint64_t> beside_;  // tools, documents
  std::map<std::string, std::uint64_t> messages_;
};

}  // namespace d9d
