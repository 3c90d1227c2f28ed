#include "runtime/model_folder/new_rows.hpp"

#include <ATen/ops/allclose.h>
#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/nn/model/initial_weights.hpp"
#include "runtime/provider/hugging_face_model.hpp"
#include "tests/runtime/family/golden_model.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
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
    const auto stage = config.build_stage({}, {});

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

// As the whole model is drawn from the seed; on a part of the mesh the same.
TEST(NewRows, AreDrawnAsTheModelIsWhereTheJobSaysSo) {
  const PosixDisk disk;
  for (const char* folder : {"moe", "dense_tied"}) {
    Qwen3Config config = golden_model(folder).qwen3();
    const std::int64_t rows = config.vocab_size;
    config.vocab_size += 3;
    const NewRows wish{NewRowValues::drawn, 11};
    const auto stage = config.build_stage({}, {}), fresh = config.build_stage({}, {});
    draw_initial_weights(fresh->parameters(), 11);

    load_hugging_face_weights(disk, golden_folder(folder), config, {}, stage->parameters(), wish);

    const TensorMap after = parameters_of(*stage), drawn = parameters_of(*fresh);
    const TensorMap before = parameters_of(*load_hugging_face_model(disk, golden_folder(folder)).stage);
    for (const char* name : {"model.embed_tokens.weight", "lm_head.weight"}) {
      if (!after.contains(name)) continue;
      EXPECT_TRUE(bitwise_equal(after.at(name).narrow(0, 0, rows), before.at(name))) << name;
      EXPECT_TRUE(bitwise_equal(after.at(name).narrow(0, rows, 3), drawn.at(name).narrow(0, rows, 3)))
          << name;
    }
    EXPECT_THAT(config_differences(disk, golden_folder(folder), config, wish),
                testing::Contains(AllOf(HasSubstr("3 new rows"), HasSubstr("from the seed 11"))));
  }
}

}  // namespace
}  // namespace d9d::test
