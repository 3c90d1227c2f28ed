#include "runtime/family/families.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/family/model_key.hpp"

namespace d9d {

// Each is in the file family.cpp of its folder.
const Family* deepseek_v3_family();
const Family* gemma3_text_family();
const Family* gpt_oss_family();
const Family* llama_family();
const Family* mistral_family();
const Family* mixtral_family();
const Family* modernbert_family();
const Family* qwen2_family();
const Family* qwen2_moe_family();
const Family* qwen3_moe_family();
const Family* qwen3_family();
const Family* qwen3_next_family();

namespace {

struct OwnFamily {
  std::unique_ptr<const Family> family;
  std::string origin;
};

// A job file names the families that are known, and so do config.json and all commands: the process has one list.
struct Known {
  std::vector<const Family*> all{
      qwen3_moe_family(),   qwen3_family(),       llama_family(),   qwen2_family(),
      mistral_family(),     qwen2_moe_family(),   mixtral_family(), qwen3_next_family(),
      deepseek_v3_family(), gemma3_text_family(), gpt_oss_family(), modernbert_family(),
  };
  std::vector<OwnFamily> own;
  std::set<const void*> called;
};

Known& known() {
  static const auto all = std::make_unique<Known>();
  return *all;
}

bool is_word(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  });
}

const OwnFamily* own_family(std::string_view name) {
  const auto& own = known().own;
  const auto found =
      std::ranges::find_if(own, [&](const OwnFamily& of) { return of.family->name() == name; });
  return found == own.end() ? nullptr : &*found;
}

}  // namespace

const std::vector<const Family*>& families() {
  return known().all;
}

const Family* find_family(std::string_view name) {
  const auto found = std::find_if(families().begin(), families().end(),
                                  [&](const Family* family) { return family->name() == name; });
  return found == families().end() ? nullptr : *found;
}

void add_family(std::unique_ptr<const Family> family, const std::string& origin) {
  D9D_REQUIRE(family != nullptr, "{} registers a family that is null", origin);
  const std::string name(family->name());
  D9D_REQUIRE(
      is_word(name),
      "{} registers a family called \"{}\"; the name is the model_type of a config.json: use letters, "
      "digits, '_', '-' and '.'",
      origin, name);
  const OwnFamily* const other = own_family(name);
  D9D_REQUIRE(find_family(name) == nullptr,
              "{} registers the family \"{}\", which {} has already; give it another name (model_type)",
              origin, name, other == nullptr ? "d9d" : other->origin);
  known().all.push_back(family.get());
  known().own.push_back({std::move(family), origin});
}

bool is_own(const Family& family) {
  return own_family(family.name()) != nullptr;
}

bool is_first_call(const void* function) {
  return known().called.insert(function).second;
}

std::vector<std::string> Family::required_keys(const nlohmann::json& /*keys*/) const {
  return {"hidden_size",         "num_hidden_layers", "num_attention_heads",
          "num_key_value_heads", "vocab_size",        "intermediate_size"};
}

std::shared_ptr<FamilyModel> Family::read(const JsonReader& in) const {
  auto model = blank();
  read_model(in, *model);
  return model;
}

}  // namespace d9d
