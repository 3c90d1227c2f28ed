#include "runtime/data/source/documents.hpp"

#include <glob.h>

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/data/mapped_file.hpp"

namespace d9d {
namespace {

constexpr std::string_view blank_characters = " \t\r";

// The document of one file that is being read: what they all need to say where they are.
struct Place {
  const std::string& file;
  std::string_view text;           // of the file
  std::uint64_t bytes_before = 0;  // of the files before it
  const UseDocument& use;

  // `read`: where in the file's text the document ends.
  void say(std::string_view document, std::string where, const char* read) const {
    use({document, std::move(where), bytes_before + static_cast<std::uint64_t>(read - text.data())});
  }
};

// Calls with each line without its end (\n or \r\n), and its number from 1.
template <class Use>
void for_each_line(std::string_view text, Use&& use) {
  std::size_t number = 1;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    use(line, number);
    begin = end + 1;
  }
}

const char* end_of(std::string_view text) {
  return text.data() + text.size();
}

void use_file(const Place& place) {
  if (!place.text.empty()) place.say(place.text, place.file, end_of(place.text));
}

void use_lines(const Place& place) {
  for_each_line(place.text, [&](std::string_view line, std::size_t number) {
    if (!line.empty()) place.say(line, fmt::format("{}:{}", place.file, number), end_of(line));
  });
}

void use_paragraphs(const Place& place) {
  std::string_view paragraph;
  std::size_t first = 0;
  const auto flush = [&] {
    if (!paragraph.empty()) place.say(paragraph, fmt::format("{}:{}", place.file, first), end_of(paragraph));
    paragraph = {};
  };
  for_each_line(place.text, [&](std::string_view line, std::size_t number) {
    if (line.find_first_not_of(blank_characters) == std::string_view::npos) return flush();
    if (paragraph.empty()) {
      first = number;
      paragraph = line;
    }
    paragraph = {paragraph.data(), static_cast<std::size_t>(end_of(line) - paragraph.data())};
  });
  flush();
}

void use_jsonl(const Place& place, const std::string& field) {
  for_each_line(place.text, [&](std::string_view line, std::size_t number) {
    if (line.find_first_not_of(blank_characters) == std::string_view::npos) return;
    const std::string where = fmt::format("{}:{}", place.file, number);
    const nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
    D9D_REQUIRE(object.is_object(), "{}: not a JSON object; expected one a line, as in {{\"{}\": \"...\"}}",
                where, field);
    const auto found = object.find(field);
    D9D_REQUIRE(found != object.end() && found->is_string(),
                "{}: no text under \"{}\"; name the key with data.text_field", where, field);
    const auto& document = found->get_ref<const std::string&>();
    if (!document.empty()) place.say(document, where, end_of(line));
  });
}

void use_text(const Place& place, DocumentUnit unit) {
  switch (unit) {
    case DocumentUnit::file:
      return use_file(place);
    case DocumentUnit::paragraph:
      return use_paragraphs(place);
    case DocumentUnit::line:
      return use_lines(place);
  }
}

}  // namespace

std::vector<std::string> expand_files(const std::vector<std::string>& files) {
  std::vector<std::string> out;
  for (const std::string& name : files) {
    if (name.find_first_of("*?[") == std::string::npos) {
      out.push_back(name);
      continue;
    }
    glob_t found{};
    const int status = ::glob(name.c_str(), 0, nullptr, &found);
    if (status == 0) out.insert(out.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
    ::globfree(&found);
    D9D_REQUIRE(status == 0, "data.files: nothing matches {}", name);
  }
  D9D_REQUIRE(!out.empty(), "data.files is empty; name at least one file");
  return out;
}

void for_each_document(const TextDataConfig& config, const UseDocument& use) {
  std::uint64_t bytes_before = 0;
  for (const std::string& name : expand_files(config.files)) {
    const MappedFile file(name);
    const Place place{name, file.text(), bytes_before, use};
    if (config.format == TextFormat::jsonl) {
      use_jsonl(place, config.text_field);
    } else {
      use_text(place, config.document);
    }
    bytes_before += file.bytes().size();
  }
}

}  // namespace d9d
