// Which files may read the memory of tensors: those of one device. All others would read a GPU's memory as the
// host's, or wait for it.
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "tests/tidy/code_text.hpp"
#include "tests/tidy/source_tree.hpp"

namespace d9d::tidy {
namespace {

const std::regex& host_read() {
  static const std::regex pattern(
      R"(\bdata_ptr\b|\bconst_data_ptr\b|\bmutable_data_ptr\b|\baccessor<|\bfrom_blob\(|\.item(<[^>]*>)?\(|\.cpu\(\))");
  return pattern;
}

bool is_of_one_device(const Source& source) {
  return source.path.starts_with("kernels/cpu/") || source.path.starts_with("kernels/cuda/");
}

// Files of runtime/nn that read indices or memory on the host, and why. The list only gets shorter.
const std::set<std::string>& still_on_the_host() {
  static const std::set<std::string> files{
      "runtime/nn/block/feed_forward.cpp",         // counts the tokens of each expert
      "runtime/nn/attention/gated_delta_net.cpp",  // where documents begin, which are computed one by one
      "runtime/nn/attention/rotary.cpp",           // checks positions, finds the longest
      "runtime/nn/model/document_starts.cpp",      // checks them
      "runtime/nn/model/initial_weights.cpp",      // draws initial values
      "runtime/nn/plan/ring_attention.cpp",        // counts the keys before each document
      "runtime/nn/shard/token_dispatch.cpp"        // sizes of an exchange
  };
  return files;
}

TEST(Devices, OnlyTheFilesOfOneDeviceTakePointers) {
  for (const Source* source : sources_under({"kernels", "runtime/family", "runtime/nn"})) {
    if (is_of_one_device(*source) || still_on_the_host().contains(source->path)) continue;
    const std::vector<std::string> lines = code_lines(*source);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      EXPECT_FALSE(std::regex_search(lines[i], host_read()))
          << source->path << ":" << i + 1 << ": " << source->lines[i]
          << "\n  instead: an op of the op table (kernels/ops), whose CPU function in kernels/cpu reads the "
             "memory";
    }
  }
}

TEST(Devices, OnlyRunOpKnowsTheCpusFiles) {
  for (const Source* source : sources_under({"kernels"})) {
    if (is_of_one_device(*source) || source->path == "kernels/run_op.cpp") continue;
    for (const std::string& line : source->lines) {
      EXPECT_FALSE(included(line).starts_with("\"kernels/cpu/"))
          << source->path << ": " << line << "; call run_op(&OpTable::..., tensors)";
    }
  }
}

TEST(Devices, AFileThatReadsNoMemoryLeavesTheList) {
  for (const std::string& path : still_on_the_host()) {
    const Source* const source = find_source(path);
    ASSERT_NE(source, nullptr) << path << " is gone: take it off the list";
    EXPECT_TRUE(std::regex_search(code_text(*source), host_read())) << path << ": take it off the list";
  }
}

}  // namespace
}  // namespace d9d::tidy
