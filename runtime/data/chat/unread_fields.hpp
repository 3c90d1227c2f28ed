#pragma once
// What stands in rows and is not read: named once, with a count.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "runtime/data/file/row_json.hpp"

namespace d9d {

class UnreadFields {
 public:
  void add_of_row(std::string_view key) { add_of_rows(key, 1); }
  void add_of_rows(std::string_view key, std::uint64_t rows);
  // What messages have beside role and content, tools and documents, where `reads` does not know them. Nulls are nothing.
  void add_of_conversation(const RowJson& messages, const RowJson& tools, const RowJson& documents,
                           const std::function<bool(std::string_view)>& reads);
  // Logs them: what belongs to a conversation as a warning.
  void say() const;

 private:
  std::map<std::string, std::uint64_t, std::less<>> rows_;    // by key, how many have it
  std::map<std::string, std::uint64_t, std::less<>> beside_;  // tools, documents
  std::map<std::string, std::uint64_t, std::less<>> messages_;
};

}  // namespace d9d
