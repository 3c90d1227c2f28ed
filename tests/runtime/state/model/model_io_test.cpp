#include <gtest/gtest.h>

#include "tests/support/live_bytes.hpp"
#include "tests/runtime/state/model/model_support.hpp"

namespace d9d {
namespace {

using test::applied;
using test::blank_like;
using test::counting;
using test::error_of;
using test::folder_state;
using test::same;
using test::Scratch;
using test::to_folder;
using test::to_model;
using test::write_folder;
using testing::HasSubstr;

TEST(ModelIo, LoadsThroughAMapperAndExportsTheSameFolderAgain) {
  const Scratch scratch;
  test::QuickDisk disk;
  write_folder(disk, scratch / "in", folder_state());
  const auto expected = applied(*to_model(), folder_state());
  const auto model = blank_like(expected);

  const auto report = load_model_state(disk, scratch / "in", to_model(), model);
  publish_model_state(disk, scratch / "out", test::write_share(disk, scratch / "out", to_folder(), model));
  const auto again = blank_like(folder_state());
  load_model_state(disk, scratch / "out", identities_of(again), again);

  test::expect_same(model, expected);
  test::expect_same(again, folder_state());
  EXPECT_EQ(report.num_tensors, expected.size());
}

TEST(ModelIo, ReadsAFolderOfHuggingFaceWithIndexAndWithout) {
  PosixDisk disk;
  const std::string golden = D9D_SOURCE_DIR "/tests/golden/state_model/";
  for (const char* folder : {"sharded", "single"}) {
    TensorMap state{{"a.weight", counting({6, 5})},
                    {"b.weight", counting({7}, at::kBFloat16)},
                    {"c", counting({2, 3}, at::kLong)}};
    const auto loaded = blank_like(state);

    load_model_state(disk, golden + folder, identities_of(state), loaded);

    test::expect_same(loaded, state);
  }
}

TEST(ModelIo, WritesShardsUpToTheLimitAndTheIndexLast) {
  const Scratch scratch;
  test::QuickDisk disk;
  const TensorMap state{{"a", counting({10})}, {"b", counting({10})}, {"c", counting({10})}};

  write_folder(disk, scratch.path(), state, 80);

  std::vector<std::string> files;
  for (const auto& entry : disk.list(scratch.path())) files.push_back(entry.name);
  EXPECT_EQ(files,
            (std::vector<std::string>{"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                                      "model.safetensors.index.json"}));
  EXPECT_EQ(read_text(disk, scratch / "model.safetensors.index.json", 10000), R"({
  "metadata": {
    "total_size": 120
  },
  "weight_map": {
    "a": "model-00001-of-00002.safetensors",
    "b": "model-00001-of-00002.safetensors",
    "c": "model-00002-of-00002.safetensors"
  }
}
)");
}

TEST(ModelIo, IsKilledAtAnyMomentWithoutLeavingAHalfExportThatLoads) {
  bool died = true;
  for (int changes = 0; died; ++changes) {
    const Scratch scratch;
    test::DyingDisk dying(changes);
    try {
      write_folder(dying, scratch / "out", folder_state());
    } catch (const Error&) {
    }
    died = dying.died();
    if (!dying.exists(scratch / "out/model.safetensors.index.json")) continue;

    const auto loaded = blank_like(folder_state());
    load_model_state(PosixDisk(), scratch / "out", identities_of(loaded), loaded);
    test::expect_same(loaded, folder_state());
  }
}

TEST(ModelIo, ANewExportLeavesNothingOfTheOlderOne) {
  const Scratch scratch;
  test::QuickDisk disk;
  write_folder(disk, scratch.path(), folder_state(), 300);

  write_folder(disk, scratch.path(), {{"only", counting({3})}});

  ASSERT_EQ(disk.list(scratch.path()).size(), 1U);
  EXPECT_EQ(disk.list(scratch.path())[0].name, "model.safetensors");
}

TEST(ModelIo, ConvertsFloatingPointOnExportAndOnLoad) {
  const Scratch scratch;
  test::QuickDisk disk;
  const TensorMap state{{"w", counting({300}) / 7}, {"n", counting({3}, at::kLong)}};

  publish_model_state(
      disk, scratch.path(),
      test::write_share(disk, scratch.path(), identities_of(state), state, {.dtype = at::kBFloat16}));
  const SafetensorsReader reader(disk, scratch / "model.safetensors");
  const TensorMap loaded{{"w", at::zeros({300})}, {"n", at::zeros({3}, at::TensorOptions(at::kLong))}};
  load_model_state(disk, scratch.path(), identities_of(state), loaded);

  EXPECT_TRUE(same(reader.read("w"), state.at("w").to(at::kBFloat16)));
  EXPECT_TRUE(same(reader.read("n"), state.at("n")));
  EXPECT_TRUE(same(loaded.at("w"), state.at("w").to(at::kBFloat16).to(at::kFloat)));
}

TEST(ModelIo, SeveralWritersShareTheWorkAndOnePublishes) {
  const Scratch scratch;
  test::QuickDisk disk;
  const auto model = applied(*to_model(), folder_state());
  std::vector<WrittenShard> shards;

  for (const int writer : {0, 1}) {
    const auto share = shard(to_folder(), 2, writer);
    TensorMap mine;
    for (const auto& name : inputs_of(*share)) mine[name] = model.at(name);
    const auto written = written_shards_from_json(to_json(test::write_share(
        disk, scratch.path(), share, mine, {.shard_bytes_max = 400, .writer = std::to_string(writer)})));
    shards.insert(shards.end(), written.begin(), written.end());
  }
  publish_model_state(disk, scratch.path(), shards);

  const auto loaded = blank_like(folder_state());
  load_model_state(disk, scratch.path(), identities_of(loaded), loaded);
  test::expect_same(loaded, folder_state());
  EXPECT_THAT(error_of([&] {
                publish_model_state(disk, scratch.path(), {shards[0], shards[0]});
              }),
              HasSubstr("two writers"));
}

TEST(ModelIo, EachStageOfAPipelineWritesAndLoadsItsOwnPart) {
  const Scratch scratch;
  test::QuickDisk disk;
  const auto model = applied(*to_model(), folder_state());
  std::vector<TensorMap> stages(2);
  for (const auto& [name, tensor] : model)
    stages[name.starts_with("layers.1") || name == "norm.weight"][name] = tensor;
  std::vector<WrittenShard> shards;
  for (int stage = 0; stage < 2; ++stage) {
    Names mine;
    for (const auto& [name, tensor] : stages[stage]) mine.insert(name);
    const auto written = test::write_share(disk, scratch.path(), restrict_to_inputs(to_folder(), mine),
                                           stages[stage], {.writer = std::to_string(stage)});
    shards.insert(shards.end(), written.begin(), written.end());
  }
  publish_model_state(disk, scratch.path(), shards);

  for (const auto& stage : stages) {
    const auto loaded = blank_like(stage);
    load_model_state(disk, scratch.path(), to_model(), loaded, {.part_of_model = true});
    test::expect_same(loaded, stage);
  }
}

TEST(ModelIo, ReadsOnlyTheSlicesThatARankHolds) {
  const Scratch scratch;
  test::QuickDisk disk;
  write_folder(disk, scratch.path(), folder_state(), 1 << 20);
  std::map<std::string, Destination> destinations;
  std::uint64_t bytes = 0;
  const auto expected = applied(*to_model(), folder_state());
  for (const auto& [name, tensor] : expected) {  // Rank 1 of 2: half of the experts, of the rows elsewhere.
    const Layout layout(tensor.sizes().vec(), {{"ep", 2, 1, Placement::shard(0)}});
    const auto local = at::full(layout.local_slice().shape(), -1, tensor.options());
    destinations[name] = {local, layout.global_shape(), layout.local_slice()};
    bytes += local.nbytes();
  }

  const auto report = load_model_state(disk, scratch.path(), to_model(), destinations);

  for (const auto& [name, destination] : destinations)
    EXPECT_TRUE(same(destination.tensor, slice_view(expected.at(name), destination.slice))) << name;
  EXPECT_EQ(report.bytes_read, bytes);
}

TEST(ModelIo, AppliesTheGroupWhereAMapperComputesValues) {
  class Negated final : public StateMapper {
   public:
    Negated() : StateMapper({{{"w"}, {"w", "copy"}}}) {}

   private:
    TensorMap map(const StateGroup&, const TensorMap& inputs) const override {
      return {{"w", -inputs.at("w")}, {"copy", inputs.at("w")}};
    }
  };
  const Scratch scratch;
  test::QuickDisk disk;
  write_folder(disk, scratch.path(), {{"w", counting({6})}});
  const auto whole_copy = at::zeros({6}), second_half = at::zeros({3});

  load_model_state(disk, scratch.path(), std::make_shared<Negated>(),
                   {{"copy", {whole_copy, {6}, {{0}, {6}}}}, {"w", {second_half, {6}, {{3}, {6}}}}});

  EXPECT_TRUE(same(whole_copy, counting({6})));
  EXPECT_TRUE(same(second_half, -(counting({3}) + 3)));
}

TEST(ModelIo, ConvertsAModelInTheMemoryOfItsLargestGroup) {
  const Scratch scratch;
  test::QuickDisk disk;
  constexpr std::int64_t layers = 24, rows = 256;
  TensorMap state;
  std::vector<MapperPtr> parts;
  for (std::int64_t i = 0; i < layers; ++i) {
    const auto name = fmt::format("l{}.", i);
    for (const char* part : {"a", "b"}) state[name + part] = counting({rows, 64});
    parts.push_back(
        sequential({stack({name + "a", name + "b"}, name + "x", 0), transpose(name + "x", 1, 2)}));
  }
  write_folder(disk, scratch / "in", state, 400'000);
  const std::int64_t model_bytes = layers * 2 * rows * 64 * 4, group_bytes = model_bytes / layers;
  const auto mapper = parallel(parts);
  std::vector<TensorSpec> specs;
  for (std::int64_t i = 0; i < layers; ++i)
    specs.push_back({fmt::format("l{}.x", i), Dtype::float32, {2, 64, rows}});
  state.clear();

  const test::LiveBytes live;
  ModelWriter writer(disk, scratch / "out", identities_of_outputs(*mapper), specs,
                     {.shard_bytes_max = 400'000});
  read_model_state(disk, scratch / "in", mapper,
                   [&](const std::string& name, const at::Tensor& tensor) { writer.put(name, tensor); });
  publish_model_state(disk, scratch / "out", writer.finish());

  EXPECT_GE(live.peak(), group_bytes);
  EXPECT_LE(live.peak(), 3 * group_bytes);  // Inputs, stacked, transposed.
  EXPECT_LT(3 * group_bytes, model_bytes / 4);
  EXPECT_EQ(live.now(), 0);
}

}  // namespace
}  // namespace d9d
