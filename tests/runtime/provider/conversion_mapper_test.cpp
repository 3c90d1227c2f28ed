#include "runtime/provider/conversion_mapper.hpp"

#include <gmock/gmock.h>

#include "runtime/plugin/registry.hpp"
#include "runtime/state/mapper/rename.hpp"
#include "tests/runtime/family/golden_model.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class FolderMappers : public testing::Test {
 protected:
  static ConversionMapper choose(const std::string& folder, const std::string& choice,
                                 const Registry& registry = {}) {
    return choose_conversion_mapper(ModelFiles(PosixDisk(), golden_folder(folder)), choice, registry);
  }
};

TEST_F(FolderMappers, WithoutAChoiceLeaveEveryTensorAsItIs) {
  const ConversionMapper chosen = choose("moe", "");

  EXPECT_EQ(inputs_of(*chosen.mapper), ModelFiles(PosixDisk(), golden_folder("moe")).names());
  EXPECT_EQ(outputs_of(*chosen.mapper), inputs_of(*chosen.mapper));
}

TEST_F(FolderMappers, AreTheFormsOfTheFamilyThatConfigJsonNames) {
  const Names fused = outputs_of(*choose("moe", "experts_fused").mapper);
  const Names single = outputs_of(*choose("moe", "experts_one_by_one").mapper);

  EXPECT_TRUE(fused.contains("model.layers.0.mlp.experts.gate_up_proj"));
  EXPECT_FALSE(fused.contains("model.layers.0.mlp.experts.0.gate_proj.weight"));
  EXPECT_TRUE(single.contains("model.layers.0.mlp.experts.0.gate_proj.weight"));
  EXPECT_EQ(outputs_of(*choose("moe", "hugging_face").mapper), single);
}

TEST_F(FolderMappers, OfAnUnknownNameTellWhichThereAre) {
  Registry registry;
  registry.add_mapper("mine", [](const Names&) { return identity("a"); });
  const auto error = [&](const std::string& folder) {
    return error_of([&] { choose(folder, "experts_fussed", registry); });
  };

  EXPECT_THAT(error("moe"),
              AllOf(HasSubstr("no mapper for "), HasSubstr("experts_fused: the experts of a layer"),
                    HasSubstr("mine: a plugin's"), HasSubstr("./rules.yaml")));
  EXPECT_THAT(error("dense_tied"), AllOf(HasSubstr("hugging_face: "), Not(HasSubstr("experts_fused:"))));
}

TEST_F(FolderMappers, OfAPluginGetTheNamesOfTheFolderAndHaveToTakeAllOfThem) {
  Registry registry;
  Names given;
  registry.add_mapper("mine", [&](const Names& stored) {
    given = stored;
    return identity(*stored.begin());
  });

  const std::string error = error_of([&] { choose("moe", "mine", registry); });

  EXPECT_EQ(given, ModelFiles(PosixDisk(), golden_folder("moe")).names());
  EXPECT_THAT(error, HasSubstr("that the mapper mine does not know: "));
}

TEST_F(FolderMappers, OfAFileDoWhatItsRulesSay) {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("rules.yaml", "dtype: float16\nrules: [{do: drop, from: \"model.layers.{rest*}\"}]\n");

  const ConversionMapper chosen = choose("moe", file);

  EXPECT_EQ(outputs_of(*chosen.mapper),
            (Names{"lm_head.weight", "model.embed_tokens.weight", "model.norm.weight"}));
  EXPECT_EQ(chosen.dtype, Dtype::float16);
  EXPECT_GT(chosen.left_out.size(), 10U);
  folder.write("rules.yaml", "rules: [{do: drop, from: nothing}]\n");
  EXPECT_THAT(error_of([&] { choose("moe", file); }), HasSubstr("rule 1 (drop): nothing matches no tensor"));
}

}  // namespace
}  // namespace d9d::test
