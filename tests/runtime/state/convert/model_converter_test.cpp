#include "runtime/state/convert/model_converter.hpp"

#include <c10/util/Half.h>

#include "runtime/state/model/model_files.hpp"
#include "tests/runtime/state/held_tensors.hpp"
#include "tests/runtime/state/model/model_support.hpp"

namespace d9d {
namespace {

using test::applied;
using test::counting;
using test::expect_same;
using test::folder_state;
using testing::HasSubstr;

// Knows the largest piece that was read or written at once.
class PieceDisk final : public test::QuickDisk {
 public:
  std::size_t largest() const { return largest_; }
  void forget() { largest_ = 0; }

 private:
  void before_read(std::size_t bytes) const override { largest_ = std::max(largest_, bytes); }
  void before_write(std::size_t bytes) override { largest_ = std::max(largest_, bytes); }
  mutable std::size_t largest_ = 0;
};

class ModelConverter : public testing::Test {
 protected:
  TensorMap read_all(const std::string& folder) {
    const ModelFiles files(disk_, folder);
    TensorMap state;
    for (const auto& name : files.names()) state[name] = files.read(name);
    return state;
  }
  std::size_t convert(const MapperPtr& mapper, const ConversionOptions& options = {}) {
    const ModelFiles files(disk_, scratch_ / "in");
    const auto shards = convert_model_state(files, mapper, disk_, scratch_ / "out", options);
    publish_model_state(disk_, scratch_ / "out", shards);
    return shards.size();
  }
  std::string bytes_of(const std::string& path) { return read_text(disk_, scratch_ / path, 1 << 20); }

  const test::Scratch scratch_;
  PieceDisk disk_;
};

TEST_F(ModelConverter, MakesOfEveryGraphWhatApplyMakesHoweverSmallTheBoxes) {
  test::write_folder(disk_, scratch_ / "in", folder_state());

  for (const std::uint64_t box : {4, 20, 64, 1 << 20}) {
    convert(test::to_model(), {.box_bytes = box});
    expect_same(read_all(scratch_ / "out"), applied(*test::to_model(), folder_state()));
  }
}

TEST_F(ModelConverter, LeavesEveryByteWhereNothingChanges) {
  TensorMap state = folder_state();
  state["scalar"] = counting({});
  state["empty"] = counting({0, 3});
  state["ids"] = counting({3}, at::kLong);
  test::write_folder(disk_, scratch_ / "in", state, 300);

  const auto shards = convert(identities_of(state), {.shard_bytes_max = 300});

  EXPECT_GT(shards, 2U);
  expect_same(read_all(scratch_ / "out"), state);
  for (const auto& entry : disk_.list(scratch_ / "in"))
    EXPECT_EQ(bytes_of("in/" + entry.name), bytes_of("out/" + entry.name)) << entry.name;
}

TEST_F(ModelConverter, ReadsAndWritesATensorOfAnySizeInBoxes) {
  const TensorMap state{{"w", counting({200, 50})}, {"v", counting({3, 7, 100})}};
  test::write_folder(disk_, scratch_ / "in", state, 1 << 20);
  disk_.forget();

  convert(identities_of(state), {.box_bytes = 1000});

  EXPECT_LE(disk_.largest(), 1000U);
  expect_same(read_all(scratch_ / "out"), state);
}

TEST_F(ModelConverter, ConvertsDtypesOfAllAndOfSingleTensors) {
  const TensorMap state{
      {"w", counting({30, 5}) / 7}, {"n", counting({5}) / 3}, {"i", counting({4}, at::kLong)}};
  test::write_folder(disk_, scratch_ / "in", state, 1 << 20);

  convert(identities_of(state),
          {.dtype = Dtype::bfloat16, .dtypes = {{"n", Dtype::float16}}, .box_bytes = 64});

  expect_same(
      read_all(scratch_ / "out"),
      {{"w", state.at("w").to(at::kBFloat16)}, {"n", state.at("n").to(at::kHalf)}, {"i", state.at("i")}});
}

// Computes values, so its pieces are unknown.
class Doubled final : public StateMapper {
 public:
  Doubled() : StateMapper({{{"a"}, {"b", "c"}}}) {}

 private:
  TensorMap map(const StateGroup&, const TensorMap& inputs) const override {
    return {{"b", inputs.at("a") * 2}, {"c", inputs.at("a") * 3}};
  }
};

TEST_F(ModelConverter, AppliesAMapperThatComputes) {
  test::write_folder(disk_, scratch_ / "in", {{"a", counting({40})}});

  convert(std::make_shared<Doubled>(), {.box_bytes = 8});

  expect_same(read_all(scratch_ / "out"), {{"b", counting({40}) * 2}, {"c", counting({40}) * 3}});
}

// With a tensor that has to be read whole, and a graph that both moves and mixes them.
TEST_F(ModelConverter, ThreadsAndSharesMakeTheFilesThatOneThreadMakesAlone) {
  const MapperPtr mapper = test::to_model();
  test::HeldTensors source(folder_state());
  source.whole_only = "layers.1.experts.0.down";
  std::vector<const StateGroup*> groups;
  for (const auto& group : mapper->groups()) groups.push_back(&group);
  PosixDisk disk;  // the others of these tests are for one thread
  const auto convert_to = [&](const std::string& folder, int threads, int shares) {
    for (int share = 0; share < shares; ++share) {
      const ConversionOptions options{.shard_bytes_max = 200,
                                      .dtype = Dtype::bfloat16,
                                      .box_bytes = 40,
                                      .threads = threads,
                                      .share = {share, shares}};
      const auto shards = convert_model_state(source, *mapper, groups, disk, scratch_ / folder, options);
      publish_model_state(disk, scratch_ / folder, shards, options.share);
    }
  };
  convert_to("alone", 1, 1);
  const auto files = disk.list(scratch_ / "alone");
  ASSERT_GT(files.size(), 4U);

  convert_to("threads", 5, 1);
  convert_to("two", 1, 2);
  convert_to("many", 3, 40);

  for (const char* folder : {"threads", "two", "many"}) {
    ASSERT_EQ(disk.list(scratch_ / folder).size(), files.size()) << folder;
    for (const auto& file : files)
      EXPECT_EQ(bytes_of(fmt::format("{}/{}", folder, file.name)), bytes_of("alone/" + file.name)) << folder;
  }
}

TEST_F(ModelConverter, AFailureInOneThreadEndsAll) {
  test::write_folder(disk_, scratch_ / "in", {{"w", counting({3000})}}, 1 << 20);
  const ModelFiles files(disk_, scratch_ / "in");
  PosixDisk disk;
  disk.make_directories(scratch_ / "out");
  disk.make_directories(scratch_ / "out/model-writer-0-00001.tmp");

  EXPECT_THAT(test::error_of([&] {
                convert_model_state(files, identity("w"), disk, scratch_ / "out",
                                    {.box_bytes = 16, .threads = 4});
              }),
              HasSubstr("cannot create"));
}

TEST_F(ModelConverter, OrdersGroupsByTheNamesGiven) {
  const auto mapper = parallel({stack({"b", "d"}, "bd", 0), identity("a"), identity("c")});

  const auto groups = groups_in_order(*mapper, {"c", "d", "a", "b"});

  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0]->inputs, Names{"c"});
  EXPECT_EQ(groups[1]->inputs, (Names{"b", "d"}));
  EXPECT_THAT(test::error_of([&] {
                groups_in_order(*mapper, {"a", "b", "c"});
              }),
              HasSubstr("the mapper needs 1 more tensor: \"d\""));
  EXPECT_THAT(test::error_of([&] {
                groups_in_order(*mapper, {"a", "b", "c", "d", "e"});
              }),
              HasSubstr("1 tensor without a place in the exported model: \"e\""));
}

TEST_F(ModelConverter, TellsHowFarItIs) {
  test::write_folder(disk_, scratch_ / "in", folder_state());
  std::uint64_t last = 0, total = 0, calls = 0;

  convert(test::to_model(), {.box_bytes = 64, .progress = [&](std::uint64_t done, std::uint64_t all) {
                               EXPECT_GT(done, last);
                               last = done;
                               total = all;
                               ++calls;
                             }});

  EXPECT_EQ(last, total);
  EXPECT_GT(calls, 20U);
}

TEST_F(ModelConverter, RefusesBeforeItWrites) {
  test::write_folder(disk_, scratch_ / "in", folder_state());

  EXPECT_THAT(test::error_of([&] { convert(identity("nothing.weight")); }),
              HasSubstr("lacks tensors that the model needs: \"nothing.weight\""));
  EXPECT_THAT(test::error_of([&] { convert(transpose("norm.weight", 0, 1)); }), HasSubstr("out of range"));
}

}  // namespace
}  // namespace d9d
