#include <gtest/gtest.h>

#include <thread>

#include "tests/runtime/state/checkpoint/checkpoint_support.hpp"

namespace d9d {
namespace {

using test::counting;
using test::error_of;
using test::same;
using test::save;
using test::state_at;
using testing::HasSubstr;

TEST(Checkpoint, IsReadBackBitForBitByTheSameMesh) {
  const test::Scratch scratch;
  PosixDisk disk;
  save(disk, scratch.path(), 10);

  const auto reader = CheckpointReader::open(disk, scratch / "save-10");

  for (int rank = 0; rank < 2; ++rank)
    for (const auto& part : test::part_of_rank(state_at(10), 2, 1, rank))
      EXPECT_TRUE(same(reader->read(part.kind, part.name, part.slice), part.tensor)) << part.name;
  EXPECT_EQ(reader->manifest().step, 10U);
  EXPECT_EQ(reader->manifest().data_cursor, 320U);
  EXPECT_EQ(reader->manifest().job_hash, "job");
  EXPECT_EQ(reader->extra(), R"({"lr":{"step":3},"metrics":[1.5]})");
}

TEST(Checkpoint, OfAnyMeshIsLoadedByAnyOther) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  const std::vector<std::pair<int, int>> meshes{{1, 1}, {2, 1}, {1, 2}, {3, 2}, {8, 1}};

  std::uint64_t step = 0;
  for (const auto& [rows, columns] : meshes) {
    save(disk, scratch.path(), ++step, rows, columns);
    const auto reader = CheckpointReader::open(disk, scratch / checkpoint_name(step));
    for (const auto& [new_rows, new_columns] : meshes)
      for (int rank = 0; rank < new_rows * new_columns; ++rank)
        for (const auto& part : test::part_of_rank(state_at(step), new_rows, new_columns, rank))
          ASSERT_TRUE(same(reader->read(part.kind, part.name, part.slice), part.tensor))
              << rows << "x" << columns << " -> " << new_rows << "x" << new_columns << " " << part.name;
    for (const auto& [kind, name, tensor] : state_at(step))
      EXPECT_TRUE(same(reader->read(kind, name), tensor));
  }
}

TEST(Checkpoint, ReadsOnlyTheStoredSlicesThatOverlap) {
  const test::Scratch scratch;
  test::CountingDisk disk;
  const auto big = counting({1000, 100});
  std::vector<NamedSlice> slices;
  for (std::int64_t i = 0; i < 10; ++i) {
    const Slice rows{{i * 100, 0}, {i * 100 + 100, 100}};
    slices.push_back({"param", "w", {1000, 100}, rows, slice_view(big, rows)});
  }
  const auto report = ShardWriter(disk).write(scratch / "save-1.tmp-x", "node-0", slices);
  commit_checkpoint(disk, scratch / "save-1.tmp-x", scratch / "save-1", with_reports({.step = 1}, {report}));
  const auto reader = CheckpointReader::open(disk, scratch / "save-1");
  reader->read("param", "w", Slice{{0, 0}, {1, 1}});  // Opens the file.
  const auto before = disk.bytes_read();

  EXPECT_TRUE(same(reader->read("param", "w", Slice{{300, 0}, {500, 100}}), big.narrow(0, 300, 200)));

  EXPECT_EQ(disk.bytes_read() - before, 200U * 100 * 4);
}

TEST(Checkpoint, IsReadByAllRanksOfAProcessThroughOneReader) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  save(disk, scratch.path(), 1, 3, 2);
  const auto reader = CheckpointReader::open(disk, scratch / "save-1");

  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 4; ++rank)
    ranks.emplace_back([&, rank] {
      for (const auto& part : test::part_of_rank(state_at(1), 2, 2, rank))
        EXPECT_TRUE(same(reader->read(part.kind, part.name, part.slice), part.tensor)) << part.name;
    });
  for (auto& rank : ranks) rank.join();
}

TEST(Checkpoint, NamesTheTensorThatItDoesNotHold) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  save(disk, scratch.path(), 1);
  const auto reader = CheckpointReader::open(disk, scratch / "save-1");

  EXPECT_THAT(error_of([&] { reader->read("param", "model.head"); }),
              HasSubstr("no \"param\" of \"model.head\""));
}

TEST(Checkpoint, CatchesEveryFlippedBitAndNamesTheTensor) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  save(disk, scratch.path(), 1, 1, 1);
  const auto path = scratch / "save-1/rank-0.safetensors";
  const auto clean = CheckpointReader::open(disk, scratch / "save-1");
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path));
  std::int64_t data_bytes = 0;
  for (const auto& [kind, name, tensor] : state_at(1))
    data_bytes += static_cast<std::int64_t>(tensor.nbytes());

  for (std::int64_t offset = 1; offset <= size; offset += 3) {
    test::flip_bit(path, offset);
    const auto damage = damage_of(disk, {1, scratch / "save-1"}, Check::contents);
    ASSERT_TRUE(damage.has_value()) << offset;
    EXPECT_THAT(*damage, HasSubstr("rank-0.safetensors"));
    if (offset <= data_bytes) {
      EXPECT_THAT(*damage, HasSubstr("wrong bytes in tensor"));
      const auto reader = CheckpointReader::open(disk, scratch / "save-1");
      const auto read_all = [&] {
        for (const auto& [kind, name, tensor] : state_at(1)) reader->read(kind, name);
      };
      EXPECT_THAT(error_of(read_all), HasSubstr("is damaged"));
    }
    test::flip_bit(path, offset);
  }
  EXPECT_FALSE(damage_of(disk, {1, scratch / "save-1"}, Check::contents).has_value());
}

TEST(Checkpoint, VerifiesAStoredSliceAlsoWhenOnlyAPartOfItIsWanted) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  const auto report = ShardWriter(disk).write(scratch / "save-1.tmp-x", "node-0",
                                              {{"param", "w", {100}, {{0}, {100}}, counting({100})}});
  commit_checkpoint(disk, scratch / "save-1.tmp-x", scratch / "save-1", with_reports({.step = 1}, {report}));
  test::flip_bit(scratch / "save-1/node-0.safetensors", 2);  // In the last element.

  const auto reader = CheckpointReader::open(disk, scratch / "save-1");

  EXPECT_THAT(error_of([&] {
                reader->read("param", "w", Slice{{0}, {1}});
              }),
              HasSubstr("\"param/w@0:100\" is damaged"));
}

TEST(Checkpoint, FallsBackToTheNewestGoodOneAndSaysWhy) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  for (const std::uint64_t step : {1, 2, 3, 4, 5, 20}) save(disk, scratch.path(), step);
  test::flip_bit(scratch / "save-20/rank-1.safetensors", 5);
  std::filesystem::resize_file(scratch / "save-5/rank-0.safetensors", 100);
  std::filesystem::remove(scratch / "save-4/rank-1.safetensors");
  std::filesystem::remove(scratch / "save-3/manifest.json");
  test::flip_bit(scratch / "save-2/manifest.json", 200);

  const auto choice = newest_good_checkpoint(disk, scratch.path(), Check::contents);

  ASSERT_TRUE(choice.checkpoint.has_value());
  EXPECT_EQ(choice.checkpoint->step, 1U);
  ASSERT_EQ(choice.refused.size(), 5U);
  EXPECT_THAT(choice.refused[0],
              testing::AllOf(HasSubstr("save-20/rank-1.safetensors"), HasSubstr("checksum mismatch")));
  EXPECT_THAT(choice.refused[1],
              testing::AllOf(HasSubstr("save-5/rank-0.safetensors"), HasSubstr("has 100 bytes")));
  EXPECT_THAT(choice.refused[2],
              testing::AllOf(HasSubstr("save-4/rank-1.safetensors"), HasSubstr("missing")));
  EXPECT_THAT(choice.refused[3], HasSubstr("save-3/manifest.json"));
  EXPECT_THAT(choice.refused[4],
              testing::AllOf(HasSubstr("save-2/manifest.json"), HasSubstr("checksum mismatch")));
}

TEST(Checkpoint, OfTheQuickCheckLooksAtSizesOnly) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  save(disk, scratch.path(), 7);
  test::flip_bit(scratch / "save-7/rank-1.safetensors", 5);

  EXPECT_FALSE(damage_of(disk, {7, scratch / "save-7"}, Check::sizes).has_value());
  EXPECT_TRUE(damage_of(disk, {7, scratch / "save-7"}, Check::contents).has_value());
}

TEST(Checkpoint, ThatWasRenamedToAnotherStepIsRefused) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  save(disk, scratch.path(), 7);
  disk.rename(scratch / "save-7", scratch / "save-9");

  EXPECT_THAT(*damage_of(disk, {9, scratch / "save-9"}, Check::sizes), HasSubstr("manifest of step 7"));
}

TEST(Checkpoint, LeftoversOfAKilledRunAreIgnoredAndRemoved) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  save(disk, scratch.path(), 1);
  ShardWriter(disk).write(scratch / "save-2.tmp-77", "rank-0", test::part_of_rank(state_at(2), 1, 1, 0));
  for (const char* other : {"save-", "save-x", "save-03", "save-4x", "notes", "notes.tmp-1"})
    disk.make_directories(scratch / other);
  std::ofstream(scratch / "save-5") << "a file";

  EXPECT_EQ(test::steps_in(disk, scratch.path()), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(remove_stale(disk, scratch.path()), (std::vector<std::string>{"save-2.tmp-77"}));
  EXPECT_FALSE(disk.exists(scratch / "save-2.tmp-77"));
  EXPECT_TRUE(disk.exists(scratch / "notes.tmp-1"));
  EXPECT_TRUE(find_checkpoints(disk, scratch / "nowhere").empty());
  EXPECT_FALSE(newest_good_checkpoint(disk, scratch / "nowhere", Check::contents).checkpoint.has_value());
}

TEST(Checkpoint, RotationKeepsTheNewestAndWhatIsKnownToBeDamaged) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  for (const std::uint64_t step : {2, 10, 9, 100}) save(disk, scratch.path(), step, 1, 1);

  const auto removed = rotate_checkpoints(disk, scratch.path(), 2, {2});

  EXPECT_EQ(removed, (std::vector<std::string>{"save-9"}));
  EXPECT_EQ(test::steps_in(disk, scratch.path()), (std::vector<std::uint64_t>{100, 10, 2}));
  EXPECT_EQ(disk.list(scratch.path()).size(), 3U);
}

}  // namespace
}  // namespace d9d
