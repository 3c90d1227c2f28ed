// tests/ mirrors the tree: runtime/x/y.cpp is tested by tests/runtime/x/y_test.cpp. What has no such file is in
// covered_by.txt, with the test that covers it. D9D_TIDY_WRITE=1 writes the list anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <map>
#include <tuple>
#include <vector>

#include "tests/tidy/source_tree.hpp"

namespace d9d::tidy {
namespace {

constexpr std::size_t unmirrored_max = 259;  // lines of covered_by.txt; only gets smaller

const std::string loops_test_path = "tests/kernels/activation_test.cpp";

const char* list_path() {
  static const std::string path = std::string(D9D_SOURCE_DIR) + "/tests/tidy/covered_by.txt";
  return path.c_str();
}

std::string without_ending(const std::string& path) {
  return path.substr(0, path.rfind('.'));
}

bool is_test(const Source& source) {
  return source.path.starts_with("tests/") && source.path.ends_with("_test.cpp");
}

bool has_mirror(const Source& source) {
  const auto is_tested = [](const std::string& stem) {
    return find_source("tests/" + stem + "_test.cpp") != nullptr;
  };
  const std::string stem = without_ending(source.path), cpu = "kernels/cpu/";
  if (is_tested(stem)) return true;
  // The test of an op runs the CPU's function of it.
  if (!stem.starts_with(cpu)) return false;
  const std::string op = stem.substr(cpu.size());
  for (const char* room : {"kernels/", "kernels/attention/", "kernels/moe/", "kernels/optimizer/"}) {
    if (is_tested(room + op)) return true;
  }
  return false;
}

std::string folder_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

// The sources whose functions a header declares: the one of its name, and those of its folder that have no header.
std::map<std::string, std::vector<std::string>> read_bodies() {
  std::map<std::string, std::vector<std::string>> bodies;
  for (const Source& source : sources()) {
    if (!source.path.ends_with(".cpp")) continue;
    const std::string own = without_ending(source.path) + ".hpp";
    if (find_source(own) != nullptr) {
      bodies[own].push_back(source.path);
      continue;
    }
    for (const std::string& line : source.lines) {
      const std::string path = included(line);
      if (path.empty() || path.front() != '"') continue;
      const std::string header = path.substr(1, path.size() - 2);
      const std::string folder = folder_of(header);
      if (source.path.starts_with(folder + "/")) bodies[header].push_back(source.path);
    }
  }
  return bodies;
}

// How many includes each source is away from a test; a header leads to the sources of its functions.
std::map<std::string, std::size_t> reached_from(const Source& test) {
  static const std::map<std::string, std::vector<std::string>> bodies = read_bodies();
  std::map<std::string, std::size_t> distance{{test.path, 0}};
  std::deque<const Source*> open{&test};
  const auto reach = [&](const std::string& path, std::size_t steps) {
    const Source* next = find_source(path);
    if (next != nullptr && distance.emplace(path, steps).second) open.push_back(next);
  };
  while (!open.empty()) {
    const Source& source = *open.front();
    open.pop_front();
    const std::size_t steps = distance.at(source.path);
    if (const auto found = bodies.find(source.path); found != bodies.end()) {
      for (const std::string& body : found->second) reach(body, steps);
    }
    for (const std::string& line : source.lines) {
      const std::string path = included(line);
      if (!path.empty() && path.front() == '"') reach(path.substr(1, path.size() - 2), steps + 1);
    }
  }
  return distance;
}

// By source, for each test of a unit or an actor: nearer is smaller.
struct Coverage {
  std::map<std::string, std::map<std::string, std::size_t>> tests;
};

const Coverage& coverage() {
  static const Coverage all = [] {
    Coverage coverage;
    for (const Source& source : sources()) {
      if (!is_test(source) || source.path.starts_with("tests/tidy/")) continue;
      for (const auto& [path, steps] : reached_from(source)) coverage.tests[path][source.path] = steps;
    }
    return coverage;
  }();
  return all;
}

bool is_of_cuda(const std::string& test) {
  return test.starts_with("tests/kernels/cuda/") || test.starts_with("tests/runtime/devices/cuda/");
}

// Tests of tests/e2e run the program, which has all sources; others choose loops or a plugin when they run.
bool is_run_by(const std::string& test, const std::string& source) {
  return test.starts_with("tests/e2e/") ||
         (test == loops_test_path && source.starts_with("kernels/cpu/loops/")) ||
         (is_of_cuda(test) && is_of_cuda("tests/" + source));
}

// How many leading folders two paths share.
std::ptrdiff_t common_folders(const std::string& a, const std::string& b) {
  return std::count(a.begin(), std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first, '/');
}

// Smaller is better: a test of the same name elsewhere, then one that includes the header, then a near folder.
auto rank_of(const std::string& source, const std::string& test, std::size_t steps) {
  const std::string stem = without_ending(source).substr(source.rfind('/') + 1);
  const bool other_name = !test.ends_with("/" + stem + "_test.cpp");
  return std::tuple(other_name, steps > 1, -common_folders(test, "tests/" + source), steps, test);
}

// Empty when no test reaches it.
std::string nearest_test(const std::string& source) {
  if (is_of_cuda("tests/" + source)) return "tests/runtime/devices/cuda/cuda_test.cpp";
  if (source.starts_with("kernels/cpu/loops/")) return loops_test_path;
  const auto found = coverage().tests.find(source);
  if (found == coverage().tests.end()) return source.starts_with("actors/") ? "tests/e2e/check_test.cpp" : "";
  const auto better = [&](const auto& a, const auto& b) {
    return rank_of(source, a.first, a.second) < rank_of(source, b.first, b.second);
  };
  return std::min_element(found->second.begin(), found->second.end(), better)->first;
}

std::map<std::string, std::string> listed() {
  std::map<std::string, std::string> list;
  std::ifstream in(list_path());
  std::string source, test;
  while (in >> source >> test) list[source] = test;
  return list;
}

std::vector<std::string> unmirrored() {
  std::vector<std::string> paths;
  for (const Source* source : sources_under({"actors", "kernels", "messages", "runtime"})) {
    if (source->path.ends_with(".cpp") && !has_mirror(*source)) paths.push_back(source->path);
  }
  return paths;
}

bool covers(const std::string& test, const std::string& source) {
  if (find_source(test) == nullptr) return false;
  const auto reached = coverage().tests.find(source);
  const bool includes = reached != coverage().tests.end() && reached->second.contains(test);
  return includes || is_run_by(test, source);
}

// A line that is still true stays as somebody wrote it.
void write_list() {
  const auto list = listed();
  std::ofstream out(list_path());
  for (const std::string& source : unmirrored()) {
    const auto old = list.find(source);
    const bool holds = old != list.end() && covers(old->second, source);
    out << source << " " << (holds ? old->second : nearest_test(source)) << "\n";
  }
}

TEST(Mirror, EverySourceHasATestOfItsNameOrSaysWhichOneCoversIt) {
  if (std::getenv("D9D_TIDY_WRITE") != nullptr) write_list();
  const auto list = listed();
  for (const std::string& source : unmirrored()) {
    EXPECT_TRUE(list.contains(source))
        << source << ": write tests/" << without_ending(source)
        << "_test.cpp, or let D9D_TIDY_WRITE=1 add the "
        << "test that covers it (" << nearest_test(source) << ") to tests/tidy/covered_by.txt";
  }
  EXPECT_LE(list.size(), unmirrored_max) << "tests/tidy/covered_by.txt only gets shorter";
}

TEST(Mirror, EveryLineOfTheListIsTrue) {
  for (const auto& [source, test] : listed()) {
    const Source* file = find_source(source);
    ASSERT_NE(file, nullptr) << source << " is gone: D9D_TIDY_WRITE=1 takes it off tests/tidy/covered_by.txt";
    EXPECT_FALSE(has_mirror(*file)) << source << " has a test of its name: take it off the list";
    EXPECT_TRUE(covers(test, source)) << test << " is gone or does not reach " << source;
  }
}

}  // namespace
}  // namespace d9d::tidy
