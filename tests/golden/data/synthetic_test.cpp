#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/data/build_source.hpp"
#include "runtime/data/read_microbatch.hpp"
#include "runtime/data/source/synthetic_source.hpp"

namespace d9d {
namespace {

using Tokens = std::vector<std::int64_t>;

nlohmann::json expected() {
  std::ifstream file(std::string(D9D_SOURCE_DIR) + "/tests/golden/data/expect.synthetic.json");
  return nlohmann::json::parse(file);
}

Tokens row_of(const at::Tensor& tensor, std::int64_t row) {
  const auto* begin = tensor.const_data_ptr<std::int64_t>() + row * tensor.size(1);
  return {begin, begin + tensor.size(1)};
}

TEST(SyntheticGolden, GivesTheSequencesOfTheBenchmarkTokenForToken) {
  const nlohmann::json golden = expected();
  for (const auto& one : golden["sequences"]) {
    EXPECT_EQ(synthetic_sequence(one["index"], one["length"], one["vocab"], one["seed"]),
              one["tokens"].get<Tokens>());
  }
}

TEST(SyntheticGolden, GivesEachDataRankTheRowsAndMicrobatchesThatThePeersGiveIt) {
  const auto split = expected()["split"];
  const auto source = build_source(SyntheticDataConfig{split["seq"], split["vocab"]}, {});
  const BatchMaths maths = batch_maths(split["global_batch"], split["micro"], split["dp"]);
  const auto start = split["step"].get<std::uint64_t>() * split["global_batch"].get<std::uint64_t>();

  for (std::int64_t rank = 0; rank < maths.num_data_ranks; ++rank) {
    const auto& microbatches = split["ranks"][static_cast<std::size_t>(rank)];
    ASSERT_EQ(static_cast<std::size_t>(maths.num_microbatches), microbatches.size());
    for (std::size_t m = 0; m < microbatches.size(); ++m) {
      const TensorMap microbatch = read_microbatch(*source, maths, rank, start, static_cast<std::int64_t>(m));
      for (std::int64_t row = 0; row < maths.microbatch_size; ++row) {
        const auto tokens = microbatches[m][static_cast<std::size_t>(row)].get<Tokens>();
        EXPECT_EQ(row_of(microbatch.at("input_ids"), row), Tokens(tokens.begin(), tokens.end() - 1));
        EXPECT_EQ(row_of(microbatch.at("labels"), row), Tokens(tokens.begin() + 1, tokens.end()));
      }
    }
  }
}

}  // namespace
}  // namespace d9d
