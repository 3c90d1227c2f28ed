#include "actors/cli/view/inspection.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/state/checkpoint/checkpoint_support.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(InspectionOfACheckpoint, NamesEveryTensorOnceWithAllItsFiles) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  test::save(disk, scratch.path(), 10);
  write_text(disk, scratch / "save-10/tokenizer.json", "{}");

  const Inspection found = inspect_folder(disk, scratch / "save-10");

  ASSERT_EQ(found.tensors.size(), 9U) << "three kinds of three tensors";
  const InspectedTensor& embedding = found.tensors[6];
  EXPECT_EQ(embedding.kind, "param");
  EXPECT_EQ(embedding.name, "model.embed.weight");
  EXPECT_EQ(embedding.shape, (Shape{7, 5}));
  EXPECT_THAT(embedding.files, ElementsAre("rank-0.safetensors", "rank-1.safetensors"));
  EXPECT_THAT(found.tensors[8].files, ElementsAre("rank-0.safetensors")) << "a scalar is written by one rank";
  EXPECT_THAT(
      to_text(found),
      AllOf(ContainsRegex("param +F32 +\\[7, 5\\] +rank-0.safetensors,rank-1.safetensors +model.embed"),
            ContainsRegex("param +BF16 +\\[5\\]"), HasSubstr("param: 3 tensors, 41 values, 154B\n"),
            HasSubstr("step: 10\n"), HasSubstr("samples used: 320\n"), HasSubstr("job hash: job\n"),
            HasSubstr("state.lr: 10"), HasSubstr("tokenizer.json  2"), HasSubstr("manifest.json  ")));
  const auto json = to_json(found);
  EXPECT_EQ(json["tensors"][6]["files"].size(), 2U);
  EXPECT_EQ(json["totals"]["param"]["values"], 41);
  EXPECT_EQ(json["other_files"].size(), 2U);
}

TEST(InspectionOfACheckpoint, TellsTheRunThatWroteIt) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  test::save(disk, scratch.path(), 10);
  Manifest manifest = read_manifest(disk, scratch / "save-10");
  manifest.extra = R"({"job": {"trainer": {"run": {"name": "tiny"}}}, "ranks": {"0": {}, "1": {}}})";
  write_text(disk, scratch / "save-10/manifest.json", to_json(manifest));

  const auto facts = inspect_folder(disk, scratch / "save-10").facts;

  EXPECT_EQ(facts["run"], "tiny");
  EXPECT_EQ(facts["ranks"], 2);
}

TEST(InspectionOfAModel, ReadsHeadersAndConfig) {
  const PosixDisk disk;
  const Inspection found = inspect_folder(disk, D9D_SOURCE_DIR "/tests/golden/qwen3/moe");
  const Inspection sharded = inspect_folder(disk, D9D_SOURCE_DIR "/tests/golden/state_model/sharded");

  EXPECT_EQ(found.tensors.size(), 51U);
  EXPECT_EQ(found.facts["model_type"], "qwen3_moe");
  EXPECT_THAT(to_text(found),
              AllOf(ContainsRegex("weight +F32 +\\[61, 24\\] +model.safetensors +lm_head.weight"),
                    HasSubstr("weight: 51 tensors, "), HasSubstr("model_type: qwen3_moe\n")));
  EXPECT_THAT(sharded.tensors.at(1).files, ElementsAre(HasSubstr("of-00003.safetensors")));
}

TEST(InspectionOfAModel, RefusesWhatIsNeither) {
  const PosixDisk disk;
  EXPECT_THAT(test::error_of([&] { inspect_folder(disk, D9D_SOURCE_DIR "/tests"); }),
              HasSubstr("is neither a checkpoint (manifest.json) nor the folder of a model"));
  EXPECT_THAT(test::error_of([&] { inspect_folder(disk, "nowhere"); }), HasSubstr("nowhere is not there"));
}

}  // namespace
}  // namespace d9d
