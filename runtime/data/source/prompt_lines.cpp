#include "runtime/data/source/prompt_lines.hpp"

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/data/source/documents.hpp"
#include "runtime/data/table/table_files.hpp"

namespace d9d {
namespace {

void use_row(std::string_view line, const std::string& field, const WriteMessages& write,
             const std::string& where, const std::function<void(const PromptLine&)>& use) {
  const RowJson row = RowJson::parse(line, nullptr, false);
  const auto found = row.is_object() ? row.find(field) : row.end();
  const bool has_field = row.is_object() && found != row.end();
  if (has_field && found->is_string()) return use({found->get_ref<const std::string&>(), false, where});
  const auto messages = row.is_object() && !has_field ? row.find("messages") : found;
  D9D_REQUIRE(write && row.is_object() && messages != row.end() && messages->is_array(),
              "{}: expected an object with the key \"{}\", a text{}", where, field,
              write ? ", or a list of messages under it or under \"messages\"" : "");
  use({write(*messages, row, where), true, where});
}

}  // namespace

void for_each_prompt(const std::vector<std::string>& files, const std::string& field,
                     const WriteMessages& write, const std::function<void(const PromptLine&)>& use) {
  for (const std::string& file : expand_files(files)) {
    TextDataConfig lines;
    lines.files = {file};
    lines.document = DocumentUnit::line;
    const bool is_json = file.ends_with(".jsonl");
    for_each_document(lines, [&](const Document& line) {
      if (is_json) return use_row(line.text, field, write, line.where, use);
      use({line.text, false, line.where});
    });
  }
}

void for_each_prompt(const std::vector<std::string>& files, const std::string& field,
                     const std::function<void(std::string_view prompt, const std::string& where)>& use) {
  for_each_prompt(files, field, {}, [&](const PromptLine& line) { use(line.text, line.where); });
}

}  // namespace d9d
