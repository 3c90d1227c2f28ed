// Words with better replacements, conditional code, the fixed top level, READMEs.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "tests/tidy/source_tree.hpp"

namespace d9d::tidy {
namespace {

struct Banned {
  const char* word;  // cheap to find; the pattern decides
  const char* pattern;
  const char* instead;
  std::vector<std::string> where;
  std::set<std::string> except;
  bool headers_only = false;
};

const std::vector<std::string> shipped_folders{"actors", "kernels", "messages", "runtime"};
const std::vector<std::string> all_folders{"actors", "examples", "kernels", "messages", "runtime", "tests"};

const std::vector<Banned>& banned() {
  static const std::vector<Banned> words{
      {"xit(",
       R"(\b(exit|_Exit|quick_exit)\()",
       "throw an Error; only main ends the process",
       shipped_folders,
       {"actors/cli/main.cpp", "actors/d9d_node.cpp", "actors/core/crash_report.cpp",
        "actors/job/run/leave_watch.cpp"}},
      {"std::cout",
       R"(std::cout)",
       "log, or the Console that a command is given",
       shipped_folders,
       {"actors/cli/main.cpp", "actors/cli/own_program.cpp"}},
      {"sleep",
       R"(\bsleep_for\(|\busleep\()",
       "a promise, or the virtual clock of ActorWorld",
       {"tests"},
       {}},
      {"using namespace", R"(^using namespace)", "write the names out", all_folders, {}, true},
      {"static ",
       R"(^\s*static (?!const\b|constexpr\b|constinit\b|thread_local\b|inline\b|_assert)[^(]*[;=])",
       "hand the state in; no mutable globals",
       shipped_folders,
       {}},
      {"TODO(now", R"(\bTODO\(now\))", "do it, or say soon, someday, perf or test", all_folders, {}},
  };
  return words;
}

TEST(Tidy, BannedWordsHaveTheirReplacement) {
  for (const Banned& word : banned()) {
    const std::regex pattern(word.pattern);
    for (const Source* source : sources_under(word.where)) {
      if (word.except.contains(source->path) || source->path.starts_with("tests/tidy/")) continue;
      if (word.headers_only && !source->is_header()) continue;
      for (std::size_t i = 0; i < source->lines.size(); ++i) {
        if (source->lines[i].find(word.word) == std::string::npos) continue;
        const bool comment_counts = word.word == std::string("TODO(now");
        const std::string text = comment_counts ? source->lines[i] : code_of(source->lines[i]);
        EXPECT_FALSE(std::regex_search(text, pattern))
            << source->path << ":" << i + 1 << ": " << source->lines[i] << "\n  instead: " << word.instead;
      }
    }
  }
}

// "std::mutex lock;" at the left edge, outside functions, that is not constant.
bool declares_mutable_global(const std::string& code) {
  static const std::regex global(R"(^(thread_local |inline )*[A-Za-z_][\w:<>, *&()]* \w+( = .*|\{.*\})?;$)");
  static const std::regex other(
      R"(^(inline )?(const|constexpr|constinit|using|typedef|return|namespace|class|struct|enum|friend|extern|template|public|concept)\b)");
  static const std::regex function(R"(\) *(const)?;$|\).*= (default|delete);$)");
  return std::regex_search(code, global) && !std::regex_search(code, other) &&
         !std::regex_search(code, function) && code.find("* const ") == std::string::npos;
}

// Each with its reason; the list only gets shorter.
TEST(Tidy, NoGlobalIsMutable) {
  const std::set<std::string> allowed{
      "runtime/base/log.cpp: thread_local std::string current_place;",  // a log line says which actor's thread
      "runtime/base/log.cpp: thread_local const std::uint64_t* current_step = nullptr;",  // and step wrote it;
      "runtime/base/log.cpp: thread_local std::string_view current_coordinates;",  // where its rank is,
      "runtime/base/log.cpp: std::mutex before_line_mutex;",  // the process has one standard error, so the
      "runtime/base/log.cpp: std::function<void()> before_line;",  // progress bar above it is the process's too
      // a test's program, which is linked with Arrow, says so before main; nobody is there to hand it on
      "runtime/data/table/tables.cpp: std::mutex readers_mutex;",
      // a span must not cost a lock: which ring this thread used last
      "runtime/trace/record/recorder.cpp: thread_local const void* cached_identity = nullptr;",
      "runtime/trace/record/recorder.cpp: thread_local std::shared_ptr<const char> cached_identity_owner;",
      "runtime/trace/record/recorder.cpp: thread_local void* cached_slot = nullptr;",
  };
  std::set<std::string> found;
  for (const Source* source : sources_under(shipped_folders)) {
    for (const std::string& line : source->lines) {
      const std::string code = code_of(line);
      if (!declares_mutable_global(code.substr(0, code.find_last_not_of(' ') + 1))) continue;
      found.insert(source->path + ": " + code.substr(0, code.find_last_not_of(' ') + 1));
    }
  }
  for (const std::string& global : found) {
    EXPECT_TRUE(allowed.contains(global)) << global << "\n  instead: hand the state in";
  }
  for (const std::string& global : allowed) {
    EXPECT_TRUE(found.contains(global)) << global << " is gone: take it off the list";
  }
}

// What functions keep for the process and change: how many a file has, and why; the numbers only get smaller.
TEST(Tidy, StaticsThatChangeAreCounted) {
  const std::map<std::string, int> allowed{
      {"kernels/memory/caching_allocator.cpp", 1},  // torch asks for memory without saying of whom,
      {"kernels/memory/host_values.cpp", 1},    // and knows nothing but tensors: what the host knows of them,
      {"kernels/ops/backend.cpp", 1},           // by which code they are computed,
      {"kernels/run_op.cpp", 1},                // the op tables of the devices that were loaded,
      {"runtime/device/known_devices.cpp", 1},  // these devices,
      {"runtime/device/host_waits.cpp", 1},     // what waited for them,
      {"runtime/device/memory_report.cpp", 1},  // and who uses them
      {"runtime/device/work_name.cpp", 1},      // texts that traces and reports refer to until the end
      {"runtime/base/log.cpp", 1},              // the process has one standard error
      {"runtime/family/families.cpp", 1},  // what plugins add to the language of job files and folders: their
      {"runtime/peft/own_methods.cpp",
       1},  // libraries stay for the process, too, and all that reads knows them
      // A device is the process's, and memory on it may be freed after all else. Each is in a library of its own.
      {"runtime/devices/cuda/cuda_device.cpp", 4},
      {"runtime/devices/cuda/kernel_log.cpp", 1},
      {"runtime/devices/delayed/backend.cpp", 1},
      {"runtime/devices/delayed/delayed_device.cpp", 1},
      {"runtime/devices/delayed/device_time.cpp", 1},
      {"runtime/devices/delayed/machine.cpp", 3},
      {"runtime/devices/delayed/nccl/emulated.cpp", 1},
      {"runtime/devices/delayed/op_table.cpp", 1},
      {"runtime/devices/delayed/order_check.cpp", 1},
      {"runtime/devices/delayed/stream_waits.cpp", 1},
  };
  const std::regex kept(R"(static (constinit |const auto \w+ = (new |std::make_(unique|shared)<)))");
  std::map<std::string, int> found;
  for (const Source* source : sources_under(shipped_folders)) {
    for (const std::string& line : source->lines) {
      if (std::regex_search(code_of(line), kept)) ++found[source->path];
    }
  }
  EXPECT_EQ(found, allowed) << "instead of another one: hand the state in";
}

TEST(Tidy, AMutableGlobalIsToldFromOtherDeclarations) {
  for (const char* line : {"std::mutex lock;", "thread_local int depth = 0;", "std::atomic<int> count{0};"}) {
    EXPECT_TRUE(declares_mutable_global(line)) << line;
  }
  for (const char* line : {"const int depth = 0;", "class Lock;", "using A = B;", "int f(int a);",
                           "  int member_;", "extern int kept;", "thread_local_t f();"}) {
    EXPECT_FALSE(declares_mutable_global(line)) << line;
  }
}

bool declares_camel_constant(const std::string& code) {
  static const std::regex constant(R"(\bconst(expr|init)?\b[^;(=]*\bk[A-Z]\w*\s*[={\[(])");
  return code.find("const") != std::string::npos && std::regex_search(code, constant);
}

TEST(Tidy, ConstantsAreSnakeCase) {
  for (const Source* source : sources_under(all_folders)) {
    if (source->path == "tests/tidy/tidy_test.cpp") continue;
    for (std::size_t i = 0; i < source->lines.size(); ++i) {
      EXPECT_FALSE(declares_camel_constant(code_of(source->lines[i])))
          << source->path << ":" << i + 1 << ": " << source->lines[i]
          << "\n  instead: snake_case, as functions and variables";
    }
  }
}

TEST(Tidy, ACamelConstantIsToldFromItsUse) {
  for (const char* line : {"constexpr int kSize = 4;", "const std::string kName{\"a\"};",
                           "static constexpr double kAll[] = {1};"}) {
    EXPECT_TRUE(declares_camel_constant(line)) << line;
  }
  for (const char* line :
       {"const at::Tensor x = y.to(at::kFloat);", "constexpr int size = 4;", "f(kSize);"}) {
    EXPECT_FALSE(declares_camel_constant(line)) << line;
  }
}

// What a build lacks is a stub file that CMake chooses (no_nccl.cpp).
// Each line here has its reason; the list only gets shorter.
TEST(Tidy, ConditionalCodeIsAFileOfItsOwn) {
  const std::set<std::string> allowed{
      "actors/core/tsan_order.hpp",                 // a fence that only the thread sanitizer cannot see
      "kernels/graph/node_pointer.hpp",             // LibTorch's releases, also for plugins
      "kernels/optimizer/stochastic_rounding.hpp",  // keywords of nvcc, for functions that host and GPU share
      "runtime/base/rng_normal.cpp",             // clones for instruction sets are an attribute of GCC on x86
      "runtime/comm/shared_memory/meeting.cpp",  // the pause instruction has no portable name
  };
  const std::regex pattern(R"(^\s*#\s*(if|ifdef|ifndef|elif)\b)");
  for (const Source* source : sources_under(shipped_folders)) {
    if (allowed.contains(source->path)) continue;
    for (std::size_t i = 0; i < source->lines.size(); ++i) {
      if (source->lines[i].find('#') == std::string::npos) continue;
      EXPECT_FALSE(std::regex_search(source->lines[i], pattern))
          << source->path << ":" << i + 1 << ": " << source->lines[i]
          << "\n  instead: put the alternatives in two files and let CMakeLists.txt choose one";
    }
  }
}

// What git ignores at the top level: lines such as "/runs/". Runs of users lie there.
std::set<std::string> ignored_at_top(const std::filesystem::path& root) {
  std::set<std::string> names;
  std::ifstream in(root / ".gitignore");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("/")) continue;
    line.erase(0, 1);
    if (line.ends_with("/")) line.pop_back();
    names.insert(line);
  }
  return names;
}

std::set<std::string> strangers_at_top(const std::filesystem::path& root) {
  const std::set<std::string> fixed{"CMakeLists.txt", "actors",  "examples", "kernels",
                                    "messages",       "runtime", "tests",    "README.md"};
  const std::set<std::string> ignored = ignored_at_top(root);
  std::set<std::string> strangers;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(".") && !fixed.contains(name) && !ignored.contains(name)) strangers.insert(name);
  }
  return strangers;
}

TEST(Tidy, TheTopLevelIsTheFixedOne) {
  for (const std::string& name : strangers_at_top(D9D_SOURCE_DIR)) {
    ADD_FAILURE() << name << " does not belong to the top level: move it into one of its folders";
  }
}

// Both commands of README.md pass in one clone: the first leaves runs/.
TEST(Tidy, WhatTheQuickstartLeavesAtTheTopIsNoStranger) {
  namespace fs = std::filesystem;
  const fs::path clone = fs::path(::testing::TempDir()) / "d9d_tidy_clone";
  fs::remove_all(clone);
  for (const char* folder : {"actors", "build", "runs/quickstart", "notes"})
    fs::create_directories(clone / folder);
  fs::copy_file(fs::path(D9D_SOURCE_DIR) / ".gitignore", clone / ".gitignore");

  const std::set<std::string> strangers = strangers_at_top(clone);
  fs::remove_all(clone);

  EXPECT_EQ(strangers, std::set<std::string>{"notes"});
}

TEST(Tidy, EveryHeaderBeginsWithPragmaOnce) {
  for (const Source& source : sources()) {
    if (!source.is_header() || source.lines.empty()) continue;
    EXPECT_EQ(source.lines[0], "#pragma once") << source.path << ": make it the first line";
  }
}

TEST(Tidy, EveryFolderOfTheTreeSaysWhatLivesThere) {
  constexpr std::size_t screen = 80;
  const std::filesystem::path root = D9D_SOURCE_DIR;
  std::set<std::string> folders{"actors", "examples", "kernels", "messages", "runtime", "tests"};
  for (const Source* source : sources_under({"runtime"})) folders.insert(source->folder());
  for (const char* part : {"block", "model", "plan", "shard"})
    folders.insert(std::string("runtime/nn/") + part);
  for (const std::string& folder : folders) {
    std::ifstream in(root / folder / "README.md");
    std::size_t lines = 0;
    for (std::string line; std::getline(in, line);) ++lines;
    EXPECT_GT(lines, 0U) << folder << ": write a README.md: what lives there, what it may include, where the "
                         << "next one goes, decisions";
    EXPECT_LE(lines, screen) << folder << "/README.md is longer than " << screen << " lines: shorten it";
  }
}

}  // namespace
}  // namespace d9d::tidy
