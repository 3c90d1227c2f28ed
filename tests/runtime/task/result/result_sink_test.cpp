#include "runtime/task/result/result_sink.hpp"

#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

TEST(MakeResults, GivesTheFormatThatIsAskedFor) {
  const test::TemporaryFolder folder;
  for (const auto& [format, file] :
       std::map<ResultFormat, std::string>{{ResultFormat::jsonl, "00001.jsonl"},
                                           {ResultFormat::safetensors, "00001-000000000004.safetensors"}}) {
    const auto results = make_results({folder.path() / "results", 1}, format);
    results->add({{4}, {{"tokens", at::tensor({5L})}}});
    results->flush();

    EXPECT_TRUE(std::filesystem::exists(folder.path() / "results" / file));
    EXPECT_EQ(results->takes_texts(), format == ResultFormat::jsonl);
  }
}

}  // namespace
}  // namespace d9d
