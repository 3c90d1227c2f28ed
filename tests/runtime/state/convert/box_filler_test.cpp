#include "runtime/state/convert/box_filler.hpp"

#include "runtime/state/disk/disk.hpp"
#include "runtime/tensor/torch_dtype.hpp"
#include "tests/runtime/state/held_tensors.hpp"
#include "tests/runtime/state/model/model_support.hpp"

namespace d9d {
namespace {

TEST(BoxFiller, BoxesLieAsTheirFileDoesAndHaveTheOutputsType) {
  const at::Tensor matrix = test::counting({8, 6});
  const test::HeldTensors source{{{"a", matrix}}};
  const MapperPtr mapper = identity("a");
  const StateGroup& group = *mapper->groups().begin();
  const auto shapes = std::make_shared<const TensorMap>(shapes_of(source, group));
  const BoxFiller filler(source, *mapper, 8 * 6 * 4);

  for (const Dtype dtype : {Dtype::float32, Dtype::bfloat16}) {
    for (const std::uint64_t offset :
         {std::uint64_t{0}, std::uint64_t{50'816}, std::uint64_t{4'190'208 + 64}}) {
      const ConversionPiece piece{&group, shapes, {"a", dtype, {8, 6}}, Slice{{2, 0}, {5, 6}}};

      const at::Tensor box = filler.fill(piece, offset);

      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(box.data_ptr()) % disk_block, offset % disk_block);
      EXPECT_TRUE(test::same(box, matrix.narrow(0, 2, 3).to(scalar_type_of(dtype))));
    }
  }
}

}  // namespace
}  // namespace d9d
