#pragma once
// Collects fields of rows that are not read, and logs each once with a count.

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
  // Adds the fields of messages other than role and content, and tools and documents, unless
  // `reads` accepts them. A null does not count.
  void add_of_conversation(const RowJson& messages, const RowJson& tools, const RowJson& documents,
                           const std::function<bool(std::string_view)>& reads);
  // Logs the fields. Those of a conversation are a warning.
  void say() const;

 private:
  std::map<std::string, std::uint64_t, std::less<>> rows_;    // key -> number of rows that have it
  std::map<std::string, std::uint64_t, std::less<>> beside_;  // tools, documents
  std::map<std::string, std::uint64_t, std::less<>> messages_;
};

}  // namespace d9d
