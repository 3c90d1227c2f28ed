#include "runtime/state/checkpoint/checkpoint_source.hpp"

#include <ATen/ops/empty.h>

#include "tests/runtime/state/checkpoint/checkpoint_support.hpp"

namespace d9d {
namespace {

TEST(CheckpointSource, ReadsWholeTensorsAndBoxesOfOneKind) {
  const test::Scratch scratch;
  test::QuickDisk disk;
  test::save(disk, scratch.path(), 2, 3, 2);
  const auto checkpoint = CheckpointReader::open(disk, scratch / "save-2");
  const CheckpointSource source(*checkpoint, "exp_avg");

  for (const auto& [kind, name, tensor] : test::state_at(2)) {
    if (kind != "exp_avg") continue;
    EXPECT_TRUE(source.has(name));
    EXPECT_EQ(source.spec(name), spec_of(name, tensor));
    EXPECT_TRUE(test::same(source.read(name), tensor));
  }
  const Slice box{{1, 2}, {6, 4}};
  const at::Tensor part = at::empty(box.shape());
  source.read_into("model.embed.weight", box, static_cast<std::byte*>(part.data_ptr()));
  EXPECT_TRUE(test::same(part, slice_view(source.read("model.embed.weight"), box)));
  EXPECT_THAT(test::error_of([&] { source.spec("nothing"); }),
              testing::HasSubstr("holds no \"exp_avg\" of \"nothing\""));
}

}  // namespace
}  // namespace d9d
