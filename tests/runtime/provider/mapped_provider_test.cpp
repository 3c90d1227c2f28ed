// LOOP-20: a provider that says by mappers what a folder's tensors become, and nothing else.
#include "runtime/provider/mapped_provider.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include "runtime/plugin/own_model.hpp"
#include "runtime/state/checkpoint/checkpoint_commit.hpp"
#include "runtime/state/checkpoint/checkpoint_writer_core.hpp"
#include "runtime/state/checkpoint/manifest.hpp"
#include "runtime/state/mapper/compose.hpp"
#include "runtime/state/mapper/rename.hpp"
#include "runtime/state/mapper/stack.hpp"
#include "runtime/state/model/model_files.hpp"
#include "tests/runtime/state/scratch.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Two layers, each with a matrix, and a count of batches.
struct Stacked final : StageModule {
  struct Keys {};
  Stacked(const Keys& /*none*/, const StagePosition& position) {
    const at::TensorOptions place(position.device);
    for (int layer = 0; layer < 2; ++layer) {
      if (position.num_stages == 2 && position.stage != layer) continue;
      matrices.push_back(
          {fmt::format("layers.{}.mix", layer), at::zeros({2, 3}, place), Layout::local({2, 3}), {}});
    }
    if (position.is_last()) counts = at::zeros({}, place.dtype(at::kLong));
  }
  TensorMap forward(const TensorMap& inputs, const TensorMap& /*shared*/) override { return inputs; }
  std::vector<StageParameter> parameters() override { return matrices; }
  std::vector<StageBuffer> buffers() override {
    return counts.defined() ? std::vector<StageBuffer>{{"batches", counts}} : std::vector<StageBuffer>{};
  }
  void set_training(bool /*training*/) override {}

  // A folder has both matrices in one tensor.
  static MapperPtr load_mapper(const Keys& /*keys*/, const Names& stored) {
    std::vector<MapperPtr> parts{unstack("mix", {"layers.0.mix", "layers.1.mix"}, 0)};
    if (stored.contains("steps")) parts.push_back(rename("steps", "batches"));
    return parallel(parts);
  }
  static MapperPtr export_mapper(const Keys& /*keys*/, const Names& /*names*/) {
    return parallel({stack({"layers.0.mix", "layers.1.mix"}, "mix", 0), rename("batches", "steps")});
  }

  std::vector<StageParameter> matrices;
  at::Tensor counts;
};

struct Plain final : StageModule {
  struct Keys {};
  Plain(const Keys& /*none*/, const StagePosition& position)
      : all{{"w", at::zeros({4}, at::TensorOptions(position.device)), Layout::local({4}), {}}} {}
  TensorMap forward(const TensorMap& inputs, const TensorMap& /*shared*/) override { return inputs; }
  std::vector<StageParameter> parameters() override { return all; }
  void set_training(bool /*training*/) override {}
  std::vector<StageParameter> all;
};

class MappedModel : public testing::Test {
 protected:
  // A committed checkpoint of these tensors.
  std::string checkpoint(const std::vector<StageParameter>& parameters,
                         const std::vector<StageBuffer>& buffers) {
    std::vector<NamedSlice> slices;
    const auto add = [&](const char* kind, const std::string& name, const at::Tensor& tensor) {
      const Shape shape = tensor.sizes().vec();
      slices.push_back({kind, name, shape, whole(shape), tensor});
    };
    for (const StageParameter& each : parameters) add(parameter_kind, each.name, each.tensor);
    for (const StageBuffer& each : buffers) add(buffer_kind, each.name, each.tensor);
    disk_.make_directories(folder_ / "tmp");
    const ShardReport report = ShardWriter(disk_).write(folder_ / "tmp", "0", slices);
    commit_checkpoint(disk_, folder_ / "tmp", folder_ / "save-1", with_reports({.step = 1}, {report}));
    return folder_ / "save-1";
  }
  // Of tensors under their own names.
  std::string folder_of(const std::vector<std::pair<std::string, at::Tensor>>& tensors) {
    std::vector<TensorSpec> specs;
    for (const auto& [name, tensor] : tensors) specs.push_back({name, Dtype::float32, tensor.sizes().vec()});
    disk_.make_directories(folder_ / "given");
    SafetensorsWriter file(disk_, folder_ / "given/model.safetensors", specs);
    for (const auto& [name, tensor] : tensors) file.write(name, tensor);
    file.finish(/*sync=*/false);
    return folder_ / "given";
  }

  PosixDisk disk_;
  Scratch folder_;
  const own::Model<Stacked> stacked_{{}};
  const own::Model<Plain> plain_{{}};
};

TEST_F(MappedModel, IsWrittenByOneMapperAndReadByTheOther) {
  Stacked trained({}, {});
  trained.matrices[0].tensor.copy_(at::arange(6).view({2, 3}));
  trained.matrices[1].tensor.copy_(at::arange(6, 12).view({2, 3}));
  trained.counts.fill_(77);
  const std::string target = folder_ / "export";

  stacked_.export_model(checkpoint(trained.matrices, trained.buffers()), target);

  const ModelFiles files(disk_, target);
  EXPECT_THAT(files.names(), ElementsAre("mix", "steps"));
  EXPECT_TRUE(at::equal(files.read("mix"), at::arange(12).view({2, 2, 3}).to(at::kFloat)));
  EXPECT_THAT(stacked_.check_source(target), IsEmpty());
  for (const int stage : {0, 1}) {  // of a pipeline: each reads its own
    const StagePosition position{.stage = stage, .num_stages = 2};
    Stacked read({}, position);
    stacked_.load_weights(target, position, read.parameters());
    stacked_.load_buffers(target, position, read.buffers());
    EXPECT_TRUE(
        at::equal(read.matrices.at(0).tensor, trained.matrices[static_cast<std::size_t>(stage)].tensor));
    if (position.is_last()) {
      EXPECT_EQ(read.counts.item<std::int64_t>(), 77);
    }
  }
}

TEST_F(MappedModel, HasTheNamesOfTheModelWithoutMappers) {
  Plain trained({}, {});
  trained.all[0].tensor.fill_(3);
  const std::string target = folder_ / "export";

  plain_.export_model(checkpoint(trained.all, {}), target);
  Plain read({}, {});
  plain_.load_weights(target, {}, read.parameters());

  EXPECT_THAT(ModelFiles(disk_, target).names(), ElementsAre("w"));
  EXPECT_TRUE(at::equal(read.all[0].tensor, trained.all[0].tensor));
}

TEST_F(MappedModel, ThatIsAnotherModelsIsRefusedBeforeAnythingIsRead) {
  const at::Tensor four = at::zeros({4}), five = at::zeros({5});

  EXPECT_THAT(error_of([&] {
                plain_.check_source(folder_of({{"v", four}}));
              }),
              AllOf(HasSubstr("no parameter or buffer \"v\""), HasSubstr("it has \"w\"")));
  EXPECT_THAT(error_of([&] {
                plain_.check_source(folder_of({{"w", four}, {"bias", four}}));
              }),
              HasSubstr("no parameter or buffer \"bias\""));
  EXPECT_THAT(error_of([&] { plain_.check_source(folder_of({{"w", five}})); }), HasSubstr("\"w\""));
  EXPECT_THAT(error_of([&] {
                stacked_.check_source(folder_of({{"w", four}}));
              }),
              HasSubstr("the model does not use: \"w\""));
  EXPECT_THAT(error_of([&] { plain_.check_source(folder_ / "nowhere"); }), HasSubstr("nowhere"));
}

}  // namespace
}  // namespace d9d::test
