#include "runtime/state/model/model_shards.hpp"

#include "tests/runtime/state/model/model_support.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

TEST(ModelShards, PutsPartsTogetherInWhicheverOrderTheyCome) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  const at::Tensor matrix = test::counting({6, 5}), rest = test::counting({3}, at::kBFloat16);
  ModelShards shards(disk, scratch.path(), {spec_of("matrix", matrix), spec_of("rest", rest)},
                     {.shard_bytes_max = 130});

  shards.write_at("matrix", 20, matrix.narrow(0, 4, 2));
  shards.write_at("matrix", 0, matrix.narrow(0, 0, 4));
  shards.write("rest", rest);
  const auto written = shards.finish();

  ASSERT_EQ(written.size(), 1U);
  EXPECT_EQ(written[0].bytes, 126U);
  const SafetensorsReader reader(disk, scratch / written[0].temporary);
  EXPECT_TRUE(test::same(reader.read("matrix"), matrix));
  EXPECT_TRUE(test::same(reader.read("rest"), rest));
}

// As transformers writes it.
TEST(ModelShards, GiveATensorThatIsLargerThanAShardAFileOfItsOwn) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  const at::Tensor matrix = test::counting({6, 5}), vector = test::counting({5});
  ModelShards shards(disk, scratch.path(),
                     {spec_of("first", vector), spec_of("matrix", matrix), spec_of("last", vector)},
                     {.shard_bytes_max = 100});
  for (const char* name : {"first", "last"}) shards.write(name, vector);
  shards.write("matrix", matrix);

  const auto written = shards.finish();

  ASSERT_EQ(written.size(), 3U);
  EXPECT_EQ(written[1].tensors, std::vector<std::string>{"matrix"});
}

TEST(ModelShards, RefuseATensorThatIsUnfinished) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  const at::Tensor matrix = test::counting({6, 5});
  ModelShards shards(disk, scratch.path(), {spec_of("matrix", matrix)});
  shards.write_at("matrix", 0, matrix.narrow(0, 0, 4));
  EXPECT_THAT(test::error_of([&] { shards.write_at("matrix", 20, matrix); }),
              HasSubstr("has 120 bytes, 200 come"));
  EXPECT_THAT(test::error_of([&] { shards.write_at("matrix", 0, matrix); }), HasSubstr("are written twice"));
  EXPECT_THAT(test::error_of([&] { shards.finish(); }), HasSubstr("1 planned tensors were not written"));
}

}  // namespace
}  // namespace d9d
