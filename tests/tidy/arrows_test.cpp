// Who may include whom. The one table of the arrows; CMake's DEPS enforce the same when linking.
#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <set>

#include "tests/tidy/source_tree.hpp"

namespace d9d::tidy {
namespace {

using Folders = std::set<std::string>;

// A folder may include itself, runtime/tensor (torch-free tickets and layouts) where it stands below, and
// what its row names.
const std::map<std::string, Folders>& arrows() {
  static const Folders runtime{"runtime/base",   "runtime/comm",  "runtime/data",   "runtime/mesh",
                               "runtime/metric", "runtime/net",   "runtime/family", "runtime/pipeline",
                               "runtime/rank",   "runtime/state", "runtime/task",   "runtime/tensor",
                               "runtime/trace",  "runtime/train"};
  // Inside nn each room knows those before it.
  static const Folders nn{"runtime/nn/shard", "runtime/nn/block", "runtime/nn/model", "runtime/nn/plan"};
  static const Folders below_nn{"kernels", "runtime/base", "runtime/mesh", "runtime/comm", "runtime/tensor"};
  static const auto with = [](Folders folders, const Folders& more) {
    folders.insert(more.begin(), more.end());
    return folders;
  };
  static const std::map<std::string, Folders> table{
      {"messages", {}},
      {"kernels", {}},
      {"kernels/cuda", {"kernels", "runtime/base", "runtime/comm", "runtime/mesh"}},  // a plugin over d9d
      {"runtime/base", {}},
      {"runtime/trace", {"runtime/base"}},
      {"runtime/mesh", {"runtime/base"}},
      {"runtime/net", {"runtime/base"}},
      {"runtime/comm", {"runtime/base", "runtime/mesh", "runtime/net"}},
      {"runtime/tensor", {"runtime/base", "runtime/mesh"}},
      {"runtime/data", {"runtime/base", "runtime/mesh", "runtime/tensor"}},
      {"runtime/nn/shard", below_nn},
      {"runtime/nn/block", with(below_nn, {"runtime/nn/shard"})},
      {"runtime/nn/model", with(below_nn, {"runtime/nn/shard", "runtime/nn/block"})},
      {"runtime/nn/plan", with(below_nn, {"runtime/nn/shard", "runtime/nn/block", "runtime/nn/model"})},
      {"runtime/state", {"runtime/base", "runtime/mesh", "runtime/comm", "runtime/tensor"}},
      {"runtime/family", with(with(below_nn, nn), {"runtime/state"})},
      {"runtime/pipeline", {"kernels", "runtime/base", "runtime/mesh", "runtime/comm", "runtime/tensor"}},
      {"runtime/train", {"kernels", "runtime/base", "runtime/mesh", "runtime/comm", "runtime/tensor"}},
      {"runtime/metric", {"runtime/base", "runtime/mesh", "runtime/comm", "runtime/tensor"}},
      {"runtime/task", with(nn, {"runtime/base", "runtime/mesh", "runtime/tensor", "runtime/family",
                                 "runtime/state", "runtime/metric", "runtime/train", "runtime/data"})},
      {"runtime/rank", with(with(runtime, nn), {"kernels"})},
      {"actors/core", {"messages", "runtime/base", "runtime/net", "runtime/trace"}},
      {"actors", with(with(runtime, nn), {"actors/core", "messages"})},
      {"actors/job", with(with(runtime, nn), {"actors", "actors/core", "messages"})},
      {"actors/cli", with(with(runtime, nn), {"actors/job"})},
      {"examples", with(with(runtime, nn), {"actors", "actors/core", "actors/job", "messages", "kernels"})},
  };
  return table;
}

bool is_generated(const std::string& path) {
  return path.find('/') == std::string::npos;  // d9d_source_id.h
}

TEST(Arrows, EveryIncludeFollowsAnArrow) {
  for (const Source& source : sources()) {
    const std::string from = source.folder();
    if (from == "tests" || source.path.ends_with(".capnp")) continue;
    ASSERT_TRUE(arrows().contains(from)) << source.path << ": give its folder a row in the table of arrows";
    for (const std::string& line : source.lines) {
      const std::string path = included(line);
      if (path.empty() || path.front() != '"' || is_generated(path)) continue;
      const std::string to = Source{path.substr(1), {}}.folder();
      EXPECT_TRUE(from == to || from == "examples" || arrows().at(from).contains(to))
          << source.path << " includes " << path << "; " << from << " may not know " << to
          << ": hand it in from above, or move the common part to a folder that both may know";
    }
  }
}

TEST(Arrows, NoActorIncludesAnotherActorsHeader) {
  Folders actors;
  for (const Source* source : sources_under({"actors"})) {
    for (const std::string& line : source->lines) {
      if (line.find(" final : public Actor ") != std::string::npos && source->is_header())
        actors.insert("\"" + source->path + "\"");
    }
  }
  ASSERT_GE(actors.size(), 12U);
  for (const Source* source : sources_under({"actors"})) {
    const std::string stem = source->path.substr(0, source->path.rfind('.'));
    if (source->folder() == "actors/job") continue;
    for (const std::string& line : source->lines) {
      const std::string path = included(line);
      EXPECT_FALSE(actors.contains(path) && path != "\"" + stem + ".hpp\"")
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
    const std::size_t end = source->path.find('/', root.size());
    if (end != std::string::npos) names.insert(source->path.substr(root.size(), end - root.size()));
  }
  return names;
}

// Whether the line names it in some spelling (Llama, build_llama_stage). A digit behind it makes it another
// name: llama3 is a kind of rotary embedding.
bool names_family(const std::string& line, const std::string& family) {
  std::string lower = code_of(line);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (std::size_t at = lower.find(family); at != std::string::npos; at = lower.find(family, at + 1)) {
    const std::size_t end = at + family.size();
    if (end == lower.size() || !std::isdigit(static_cast<unsigned char>(lower[end]))) return true;
  }
  return false;
}

TEST(Arrows, OnlyAFamilysFolderNamesIt) {
  const std::set<std::string> families = family_names();
  ASSERT_TRUE(families.contains("qwen3"));
  for (const Source* source : sources_under({"actors", "examples", "kernels", "messages", "runtime"})) {
    if (source->path == "runtime/family/families.cpp") continue;  // one line for each
    for (const std::string& family : families) {
      if (source->path.starts_with("runtime/family/" + family + "/")) continue;
      for (const std::string& line : source->lines) {
        EXPECT_FALSE(names_family(line, family))
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
