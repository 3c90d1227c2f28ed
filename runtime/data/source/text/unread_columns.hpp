#pragma once
// The columns of a table that a source does not read.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/data/chat/unread_fields.hpp"
#include "runtime/data/file/table_format.hpp"

namespace d9d {

class UnreadColumns {
 public:
  // Errors as columns_of_table(). Keeps a reference to `unread`.
  UnreadColumns(const std::string& file, TableFormat format, const std::vector<std::string>& read,
                UnreadFields& unread);
  // Adds the columns to `unread`, with the number of rows that were read.
  ~UnreadColumns();
  UnreadColumns(const UnreadColumns&) = delete;
  UnreadColumns& operator=(const UnreadColumns&) = delete;

  void add_row() { ++rows_; }

 private:
  std::vector<std::string> columns_;
  UnreadFields& unread_;
  std::uint64_t rows_ = 0;
};

}  // namespace d9d
