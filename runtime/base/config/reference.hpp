#pragma once
// The reference of all keys, collected from the described structs and printed as Markdown.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace d9d::config {

struct Row {
  std::string key;  // its full path
  std::string type;
  std::string fallback;  // the default, or "required"
  std::string unit;
  std::string meaning;
};

struct Table {
  std::string title;  // the path of the section
  std::vector<Row> rows;
};

class Reference {
 public:
  void add(Table table) { tables_.push_back(std::move(table)); }
  // A sentence below the table's title.
  void note(const std::string& title, std::string_view text) { notes_[title] = std::string(text); }

  const std::vector<Table>& tables() const { return tables_; }
  std::string markdown() const;

 private:
  std::vector<Table> tables_;
  std::map<std::string, std::string> notes_;
};

}  // namespace d9d::config
