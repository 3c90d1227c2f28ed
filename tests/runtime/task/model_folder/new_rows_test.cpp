#include "runtime/task/model_folder/new_rows.hpp"

#include <ATen/ops/allclose.h>
#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/task/hugging_face_model.hpp"
#include "tests/runtime/family/golden_model.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;

TensorMap parameters_of(StageModule& stage) {
  TensorMap out;
  for (const StageParameter& p : stage.parameters()) out[p.name] = p.tensor.detach();
  return out;
}

// New tokens: by hand, the mean of each column.
TEST(NewRows, GiveALargerVocabularyTheMeanOfItsRows) {
  const PosixDisk disk_;
  for (const char* folder : {"moe", "dense_tied"}) {
    const TensorMap before = parameters_of(*load_hugging_face_model(disk_, golden_folder(folder)).stage);
    Qwen3Config config = golden_model(folder).qwen3();
    const std::int64_t rows = config.vocab_size;
    config.vocab_size += 3;
    const auto stage = build_qwen3_stage(config, {});

    check_hugging_face_weights(disk_, golden_folder(folder), config);
    load_hugging_face_weights(disk_, golden_folder(folder), config, {}, stage->parameters());

    const TensorMap after = parameters_of(*stage);
    for (const auto& [name, tensor] : after) {
      const at::Tensor& old = before.at(name);
      EXPECT_TRUE(bitwise_equal(tensor.narrow(0, 0, old.size(0)), old)) << name;
      const bool has_words = name == "model.embed_tokens.weight" || name == "lm_head.weight";
      ASSERT_EQ(tensor.size(0), old.size(0) + (has_words ? 3 : 0)) << name;
      if (!has_words) continue;
      const at::Tensor mean = old.to(at::kDouble).mean(0);
      for (std::int64_t row = rows; row < rows + 3; ++row)
        EXPECT_TRUE(at::allclose(tensor[row].to(at::kDouble), mean, 1e-2, 1e-6)) << name;
    }
    EXPECT_THAT(config_differences(disk_, golden_folder(folder), config),
                testing::Contains(HasSubstr("3 new rows")));
  }
}

}  // namespace
}  // namespace d9d::test
