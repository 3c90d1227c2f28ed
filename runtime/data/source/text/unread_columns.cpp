#include "runtime/data/source/text/unread_columns.hpp"

#include <algorithm>
#include <set>

#include "runtime/data/table/tables.hpp"

namespace d9d {

UnreadColumns::UnreadColumns(const std::string& file, TableFormat format,
                             const std::vector<std::string>& read, UnreadFields& unread)
    : unread_(unread) {
  std::set<std::string> seen(read.begin(), read.end());
  for (std::string& name : columns_of_table(file, format))
    if (seen.insert(name).second) columns_.push_back(std::move(name));
}

UnreadColumns::~UnreadColumns() {
  for (const std::string& name : columns_) unread_.add_of_rows(name, rows_);
}

}  // namespace d9d
