#include "runtime/trace/file/trace_file.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/runtime/trace/trace_fixture.hpp"
#include "tests/support/file_text.hpp"

namespace d9d::trace {
namespace {

TEST_F(TraceFolder, TheNewestTraceHasThePlainNameAndEarlierOnesAreNumberedByAge) {
  const auto folder = file("").parent_path();
  const auto write = [&](const std::string& text, const std::string& label = "") {
    const TraceFile trace(folder, label);
    std::ofstream(trace.draft()) << text;
    return trace.publish();
  };
  const auto text_of = [&](const std::string& name) { return test::text_of_file(folder / name); };

  EXPECT_EQ(write("first"), folder / "trace.json.gz");
  write("second");
  write("third");
  write("window", "step_4");
  write("window again", "step_4");

  EXPECT_EQ(text_of("trace.json.gz"), "third");
  EXPECT_EQ(text_of("trace-1.json.gz"), "first");
  EXPECT_EQ(text_of("trace-2.json.gz"), "second");
  EXPECT_EQ(text_of("step_4.trace.json.gz"), "window again");
  EXPECT_FALSE(std::filesystem::exists(TraceFile(folder, "").draft()));
}

}  // namespace
}  // namespace d9d::trace
