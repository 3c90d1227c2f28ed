// Who may include whom: what the CMakeLists.txt files say as DEPS and ORDER, see libraries.hpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "tests/tidy/libraries.hpp"
#include "tests/tidy/source_tree.hpp"

namespace d9d::tidy {
namespace {

using Folders = std::set<std::string>;

bool is_generated(const std::string& path) {
  return path.find('/') == std::string::npos;  // d9d_source_id.h
}

// Calls use(from, to, source, path) for every include of a file of this project by another one.
template <class Use>
void for_each_include(Use use) {
  for (const Source& source : sources()) {
    if (source.path.starts_with("tests/") || source.path.ends_with(".capnp")) continue;
    for (const std::string& line : source.lines) {
      const std::string path = included(line);
      if (path.empty() || path.front() != '"' || is_generated(path)) continue;
      use(source.folder(), room_of(path.substr(1)), source.path, path.substr(1, path.size() - 2));
    }
  }
}

TEST(Arrows, EveryIncludeFollowsAnArrow) {
  for_each_include([](const std::string& from, const std::string& to, const std::string& file,
                      const std::string& header) {
    ASSERT_TRUE(rooms().contains(from)) << file << ": give its folder a d9d_library() in a CMakeLists.txt";
    EXPECT_TRUE(from == to || rooms().at(from).may_include.contains(to))
        << file << " includes " << header << "; " << from << " may not know " << to << " (DEPS of " << from
        << "/CMakeLists.txt): hand it in from above, or move the common part to a folder that both may know";
  });
}

TEST(Arrows, EveryDependencyOfALibraryIsUsed) {
  std::map<std::string, Folders> used;
  for_each_include([&](const std::string& from, const std::string& to, const std::string&,
                       const std::string&) { used[from].insert(to); });
  for (const auto& [name, room] : rooms()) {
    if (name == "examples") continue;  // they link the whole of libd9d.so
    for (const std::string& dep : room.may_include) {
      EXPECT_TRUE(used[name].contains(dep))
          << name << " includes nothing of " << dep << ": take it off its DEPS";
    }
  }
}

TEST(Arrows, InsideARoomTheyFollowItsOrder) {
  for_each_include(
      [](const std::string& from, const std::string& to, const std::string& file, const std::string& header) {
        if (from != to || !rooms().contains(from) || from == "examples") return;
        const Room& room = rooms().at(from);
        EXPECT_LE(place_in_order(room, from, header), place_in_order(room, from, file))
            << file << " includes " << header << ", which stands after it in ORDER of " << from
            << "/CMakeLists.txt";
      });
}

TEST(Arrows, EveryPlaceOfAnOrderIsThere) {
  for (const auto& [name, room] : rooms()) {
    for (const std::string& place : room.order) {
      const std::string prefix = place == "." ? name + "/" : name + "/" + place;
      const bool there = std::any_of(sources().begin(), sources().end(), [&](const Source& source) {
        const std::size_t end = prefix.size();
        return source.path.starts_with(prefix) &&
               (place == "." || source.path[end] == '/' || source.path[end] == '.');
      });
      EXPECT_TRUE(there) << name << "/CMakeLists.txt: ORDER names " << place << ", which is gone";
    }
  }
}

TEST(Arrows, NoActorIncludesAnotherActorsHeader) {
  Folders actors;
  for (const Source* source : sources_under({"actors"})) {
    for (const std::string& line : source->lines) {
      const bool declares = line.find(" final : public Actor") != std::string::npos ||
                            line.find(" final : public StepLoop") != std::string::npos;
      if (declares && source->is_header()) actors.insert("\"" + source->path + "\"");
    }
  }
  ASSERT_GE(actors.size(), 13U);
  for (const Source* source : sources_under({"actors"})) {
    const std::string stem = source->path.substr(0, source->path.rfind('.'));
    if (source->folder() == "actors/job") continue;
    for (const std::string& line : source->lines) {
      const std::string path = included(line);
      // coordinator_end.cpp is a part of coordinator.hpp's actor.
      const bool own = path.size() > 6 && (stem + "_").starts_with(path.substr(1, path.size() - 6) + "_");
      EXPECT_FALSE(actors.contains(path) && !own)
          << source->path << " includes " << path
          << ": actors know handles and messages; only the cast knows all";
    }
  }
}

TEST(Arrows, CafStaysInActorsCore) {
  for (const Source* source : sources_under({"actors", "messages", "kernels", "runtime", "examples"})) {
    if (source->folder() == "actors/core") continue;
    for (const std::string& line : source->lines) {
      EXPECT_FALSE(included(line).starts_with("<caf/"))
          << source->path << ": " << line << "; wrap what is needed in actors/core";
    }
  }
}

// The folders of runtime/family: model_type, as code spells it.
std::set<std::string> family_names() {
  const std::string root = "runtime/family/";
  std::set<std::string> names;
  for (const Source* source : sources_under({"runtime/family"})) {
    if (!source->path.ends_with("/family.cpp")) continue;
    names.insert(source->path.substr(root.size(), source->path.find('/', root.size()) - root.size()));
  }
  return names;
}

// In lower case, without what spellings differ by: Qwen2Moe and qwen2_moe are one name.
std::string spelled(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c != '_' && c != '-') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

// The families that the line names in some spelling (Llama, build_llama_stage), the longest name at each
// place. A digit behind a name makes it another one: llama3 is a kind of rotary embedding.
std::set<std::string> families_named(const std::string& line, const std::set<std::string>& families) {
  const std::string text = spelled(code_of(line));
  std::set<std::string> named;
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string longest;
    for (const std::string& family : families) {
      const std::string name = spelled(family);
      const std::size_t end = at + name.size();
      const bool digit = end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]));
      if (text.compare(at, name.size(), name) == 0 && !digit && name.size() > spelled(longest).size())
        longest = family;
    }
    if (!longest.empty()) named.insert(longest);
  }
  return named;
}

TEST(Arrows, OnlyAFamilysFolderNamesIt) {
  const std::set<std::string> families = family_names();
  ASSERT_TRUE(families.contains("qwen3"));
  for (const Source* source : sources_under({"actors", "examples", "kernels", "messages", "runtime"})) {
    if (source->path == "runtime/family/families.cpp") continue;  // one line for each
    for (const std::string& line : source->lines) {
      for (const std::string& family : families_named(line, families)) {
        EXPECT_TRUE(source->path.starts_with("runtime/family/" + family + "/"))
            << source->path << ": " << line << "; ask the model through runtime/family/family_model.hpp, or "
            << "give the family's own code a place in its folder";
      }
    }
  }
}

bool is_torch(const std::string& path) {
  return path.starts_with("<ATen/") || path.starts_with("<torch/") || path.starts_with("<c10/");
}

// The chain of includes by which a header comes to see torch; empty when it does not.
std::string way_to_torch(const Source& header) {
  std::map<std::string, std::string> by{{header.path, ""}};  // who included it
  std::vector<const Source*> open{&header};
  while (!open.empty()) {
    const Source& source = *open.back();
    open.pop_back();
    for (const std::string& line : source.lines) {
      const std::string path = included(line);
      if (path.empty()) continue;
      if (is_torch(path)) {
        std::string chain = path;
        for (std::string at = source.path; !at.empty(); at = by.at(at)) chain = at + " -> " + chain;
        return chain;
      }
      const Source* next = find_source(path.substr(1, path.size() - 2));
      if (next != nullptr && by.emplace(next->path, source.path).second) open.push_back(next);
    }
  }
  return {};
}

TEST(Arrows, TorchKeepsToItsRing) {
  const Folders without{"messages", "runtime/base", "runtime/mesh", "runtime/trace",
                        "actors",   "actors/cli",   "actors/core",  "actors/job"};
  for (const Source& source : sources()) {
    for (const std::string& line : source.lines) {
      const std::string path = included(line);
      EXPECT_NE(path, "<torch/torch.h>")
          << source.path << ": costs 15 s of compile time; take ATen/core/Tensor.h "
          << "and the ATen/ops header of each operation";
      EXPECT_FALSE(is_torch(path) && source.path.ends_with(".cu"))
          << source.path << ": " << line
          << "; a kernel sees raw pointers, the .cpp beside it unwraps tensors";
    }
    if (!source.is_header() || !without.contains(source.folder())) continue;
    const std::string chain = way_to_torch(source);
    EXPECT_TRUE(chain.empty()) << chain << "; headers of " << source.folder()
                               << " see no torch: forward-declare, or move the include to the .cpp";
  }
}

}  // namespace
}  // namespace d9d::tidy
