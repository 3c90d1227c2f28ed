#include "runtime/state/model_shards.hpp"

#include "tests/runtime/state/model_support.hpp"

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

TEST(ModelShards, RefuseATensorThatIsLargerThanAShardAndOneThatIsUnfinished) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  const at::Tensor matrix = test::counting({6, 5});

  EXPECT_THAT(test::error_of([&] {
                ModelShards(disk, scratch.path(), {spec_of("matrix", matrix)}, {.shard_bytes_max = 100});
              }),
              HasSubstr("\"matrix\" has 120 bytes, more than a shard may have (100); allow larger shards"));
  ModelShards shards(disk, scratch.path(), {spec_of("matrix", matrix)});
  shards.write_at("matrix", 0, matrix.narrow(0, 0, 4));
  EXPECT_THAT(test::error_of([&] { shards.write_at("matrix", 20, matrix); }),
              HasSubstr("has 120 bytes, 200 come"));
  EXPECT_THAT(test::error_of([&] { shards.write_at("matrix", 0, matrix); }), HasSubstr("are written twice"));
  EXPECT_THAT(test::error_of([&] { shards.finish(); }), HasSubstr("1 planned tensors were not written"));
}

}  // namespace
}  // namespace d9d
