#include "runtime/tokenizer/codec/template_processor.hpp"

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

std::int32_t checked_id(const JsonSection& id) {
  D9D_REQUIRE(id.integer() >= 0 && id.integer() < token_ids_max, "{} is {}, expected 0 to {}", id.path(),
              id.integer(), token_ids_max - 1);
  return static_cast<std::int32_t>(id.integer());
}

// ["token", id]
std::int32_t id_of_pair(const JsonSection& section) {
  const std::vector<JsonSection> items = section.items();
  D9D_REQUIRE(items.size() == 2, "{} has {} items, expected a token and its id", section.path(),
              items.size());
  return checked_id(items[1]);
}

void add_template(const JsonSection& section, TemplateProcessor& out) {
  TemplateProcessor mine;
  bool seen_text = false;
  for (const JsonSection& piece : section.at("single").items()) {
    if (piece.has("Sequence")) {
      D9D_REQUIRE(!seen_text && piece.at("Sequence").text("id") == "A",
                  "{}: expected the sequence A exactly once", section.path());
      seen_text = true;
      continue;
    }
    const std::string name = piece.at("SpecialToken").text("id");
    auto& side = seen_text ? mine.after : mine.before;
    for (const JsonSection& id : section.at("special_tokens").at(name).at("ids").items()) {
      side.push_back(checked_id(id));
    }
  }
  D9D_REQUIRE(seen_text, "{}.single does not contain the sequence A", section.path());
  out.before.insert(out.before.begin(), mine.before.begin(), mine.before.end());
  out.after.insert(out.after.end(), mine.after.begin(), mine.after.end());
}

void add(const JsonSection& section, TemplateProcessor& out) {
  const std::string type = section.text("type");
  if (type == "Sequence") {
    for (const JsonSection& inner : section.at("processors").items()) add(inner, out);
  } else if (type == "TemplateProcessing") {
    add_template(section, out);
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    out.before.insert(out.before.begin(), id_of_pair(section.at("cls")));
    out.after.push_back(id_of_pair(section.at("sep")));
  } else if (type != "ByteLevel") {
    section.refuse(fmt::format("the post-processor {}", type),
                   "null, ByteLevel, TemplateProcessing, BertProcessing, RobertaProcessing, Sequence");
  }
}

}  // namespace

TemplateProcessor TemplateProcessor::from_json(const JsonSection& section) {
  TemplateProcessor out;
  if (!section.is_null()) add(section, out);
  return out;
}

}  // namespace d9d
