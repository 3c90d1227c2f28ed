// Functions that only tests call: code that no job runs and every reader reads.
#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <set>

#include "tests/tidy/code_text.hpp"

namespace d9d::tidy {
namespace {

// Offered to plugins: libd9d.so is also a library, its headers are installed.
const Names& for_plugins() {
  static const Names names{
      // mappers of a model provider's own files, and the pieces of a distributed writer
      "distribute",
      "identities_of_outputs",
      "prefix_scope",
      "read_model_state",
      "restrict_to_inputs",
      "select_child_modules",
      "written_shards_from_json",
      // what a task does with other ranks, and with the model
      "full_tensor",
      "gather_object",
      "in_turn",
      // masks and biases of a model's own attention
      "bias_of_mask",
      "set_bias",
      // batches of a collation: rows filled up, trees
      "pad_token_mask",
      // questions to a mesh
      "groups_of",
      "has_context_parallel_replicate",
      "has_context_parallel_shard",
      "has_data_parallel_replicate",
      "has_pipeline_parallel",
      "is_distributed",
      // metrics of a task
      "accumulated_weight",
      "accuracy",
      "f1",
      "precision",
      // what a plugin defines
      "d9d_register",
      "d9d_register_models",
      "d9d_register_actors",
      // fine-tuning of a model
      "merge_peft",
  };
  return names;
}

// What a test has to look at and a job has not.
const Names& for_tests() {
  static const Names names{"caps",          "drain",  "incomplete", "other_words",       "peek_header",
                           "plant_fault",   "reseed", "restart",    "set_table_readers", "step_count",
                           "use_host_table"};
  return names;
}

// The word that ends before `end`.
std::string word_before(const std::string& text, std::size_t end) {
  std::size_t begin = end;
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

// "Type Class::name(" at the left edge defines name.
bool defines_member(const std::string& text, std::size_t at) {
  const std::size_t begin = text.rfind('\n', at) + 1;
  const std::string before = text.substr(begin, at - begin);
  return before.find_first_of("=(") == std::string::npos && is_word(before.front()) &&
         !before.starts_with("return");
}

// Whether text[at, end) is a function's name in its declaration or
// definition: a type stands before it and a parenthesis after it.
bool is_declared(const std::string& text, std::size_t at, std::size_t end) {
  static const Names no_types{"return", "co_return", "throw", "else",   "new",   "delete", "case",
                              "if",     "while",     "for",   "switch", "catch", "not"};
  if (end >= text.size() || text[end] != '(') return false;
  std::size_t before = at;
  while (before > 0 && (text[before - 1] == ' ' || text[before - 1] == '\n')) --before;
  if (before < 3) return false;
  const char last = text[before - 1];
  if (before == at) return last == ':' && text[before - 2] == ':' && defines_member(text, at);
  if (is_word(last)) {
    const std::string type = word_before(text, before);
    return !no_types.contains(type) && std::isdigit(static_cast<unsigned char>(type.front())) == 0;
  }
  // "Type& name(" and not "a & name(".
  if (last != '&' && last != '*' && last != '>') return false;
  const bool is_and = last == '&' && text[before - 2] == '&';
  const char one_before = text[before - (is_and ? 3 : 2)];
  return one_before != ' ' && one_before != '\n' && one_before != '=' && one_before != '-';
}

struct Uses {
  std::map<std::string, std::string> declared;  // name -> header
  Names used;
};

// What overrides is judged by what it overrides.
bool overrides(const std::string& text, std::size_t end) {
  const std::size_t stop = text.find_first_of(";{", end);
  return text.substr(end, stop - end).find(" override") != std::string::npos;
}

void add_uses(Uses& uses, const Source& source) {
  const std::string text = code_text(source);
  const bool declares = !source.is_cpp() && !source.path.starts_with("examples/");
  for (std::size_t at = 0; at < text.size();) {
    if (!is_word(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string word = text.substr(at, end - at);
    if (!is_declared(text, at, end)) {
      uses.used.insert(word);
    } else if (declares && !overrides(text, end)) {
      uses.declared.emplace(word, source.path);
    }
    at = end;
  }
}

// Name -> header, of what nothing outside tests/ calls.
std::map<std::string, std::string> unused() {
  Uses uses;
  for (const Source* source : sources_under({"actors", "examples", "kernels", "messages", "runtime"})) {
    if (!source->path.ends_with(".capnp")) add_uses(uses, *source);
  }
  std::map<std::string, std::string> found;
  for (const auto& [name, header] : uses.declared) {
    if (!uses.used.contains(name) && !name.starts_with("__")) found.emplace(name, header);
  }
  return found;
}

TEST(Unused, EveryPublicFunctionIsCalledByMoreThanTests) {
  for (const auto& [name, header] : unused()) {
    const bool listed = for_plugins().contains(name) || for_tests().contains(name);
    EXPECT_TRUE(listed) << header << ": nothing but tests calls " << name << "(): use it or delete it";
  }
}

TEST(Unused, TheListsNameOnlyWhatIsUnused) {
  const auto found = unused();
  for (const Names* list : {&for_plugins(), &for_tests()}) {
    for (const std::string& name : *list) {
      EXPECT_TRUE(found.contains(name))
          << name << " is used or gone: take it off its list in unused_test.cpp";
    }
  }
}

TEST(Unused, ACallIsToldFromADeclaration) {
  const std::string text =
      "int a(int);\nT& b(x);\nint y = 3 & c(1);\nreturn d(2);\nvoid S::e() {\n  f(1);\n  S::g(2);\n"
      "  const T h(3);\n  if (a && k(4)) {\n";
  const auto declared = [&](const std::string& name) {
    const std::size_t at = text.find(name + "(");
    return is_declared(text, at, at + 1);
  };
  for (const char* name : {"a", "b", "e", "h"}) EXPECT_TRUE(declared(name)) << name;
  for (const char* name : {"c", "d", "f", "g", "k"}) EXPECT_FALSE(declared(name)) << name;
}

}  // namespace
}  // namespace d9d::tidy
