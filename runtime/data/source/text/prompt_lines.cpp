#include "runtime/data/source/text/prompt_lines.hpp"

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/data/file/json_rows.hpp"
#include "runtime/data/source/text/documents.hpp"
#include "runtime/data/source/text/records.hpp"

namespace d9d {
namespace {

const RowJson* value_at_key(const RowJson& row, const std::string& key) {
  const auto found = row.find(key);
  return found == row.end() || found->is_null() ? nullptr : &*found;
}

void use_rows(const std::string& file, RowFormat format, const std::string& field, const WriteMessages& write,
              const UsePromptLine& use) {
  const std::vector<std::string> columns{field,   "messages",  "system",
                                         "tools", "documents", "chat_template_kwargs"};
  for_each_record({file}, format, columns, [&](const Record& row) {
    const RowJson* prompt = value_at_key(row.columns, field);
    if (prompt == nullptr && write) prompt = value_at_key(row.columns, "messages");
    const bool is_chat = prompt != nullptr && prompt->is_array() && write;
    D9D_REQUIRE(is_chat || (prompt != nullptr && prompt->is_string()),
                "{}: expected an object with the key \"{}\", a text{}; it has {}", row.where, field,
                write ? ", or a list of messages there or under \"messages\"" : "", keys_of_row(row.columns));
    if (is_chat) return use({write(*prompt, row.columns, row.where), row.place, true});
    use({prompt->get_ref<const std::string&>(), row.place});
  });
}

void use_lines(const std::string& file, const UsePromptLine& use) {
  TextDataConfig lines;
  lines.files = {file};
  lines.format = TextFormat::text;
  lines.document = DocumentUnit::line;
  for_each_document(lines, [&](const Document& line) { use({line.text, line.place}); });
}

}  // namespace

void for_each_prompt(const std::vector<std::string>& files, const std::string& field,
                     const WriteMessages& write, const UsePromptLine& use) {
  for (const std::string& file : expand_files(files)) {
    const auto format = format_of_ending(file);
    if (format) {
      use_rows(file, row_format(*format), field, write, use);
    } else {
      use_lines(file, use);
    }
  }
}

void for_each_placed_prompt(const std::vector<std::string>& files, const std::string& field,
                            const UsePlacedPrompt& use) {
  for_each_prompt(files, field, {}, [&](const PromptLine& line) { use(line.text, line.place); });
}

void for_each_prompt(const std::vector<std::string>& files, const std::string& field, const UsePrompt& use) {
  for_each_placed_prompt(
      files, field, [&](std::string_view prompt, const RowPlace& place) { use(prompt, text_of(place)); });
}

}  // namespace d9d
