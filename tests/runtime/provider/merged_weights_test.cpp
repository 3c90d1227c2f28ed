#include "runtime/provider/merged_weights.hpp"

#include <ATen/ops/empty.h>
#include <gmock/gmock.h>

#include "runtime/provider/hugging_face_model.hpp"
#include "runtime/state/tensor_file/slice_view.hpp"
#include "runtime/tensor/torch_dtype.hpp"
#include "tests/runtime/provider/adapted_checkpoint.hpp"

namespace d9d::test {
namespace {

TEST_F(AdaptedCheckpoint, MergedIntoTheFolderItWasTrainedOnComputesWhatPeftComputes) {
  const FamilyAdapter adapter = started();

  export_hugging_face(disk_, folder_ / "merged", *golden_.model, *adapter.merged(*reader_));

  const LoadedModel merged = load_hugging_face_model(disk_, folder_ / "merged");
  const TensorMap expect = read_safetensors(golden_folder("peft/moe") + "/expect.safetensors");
  const auto outputs = merged.stage->forward({{"input_ids", expect.at("input_ids")}}, {});
  EXPECT_LT(relative_difference(outputs.at("logits"), expect.at("logits")), 1e-5);
}

TEST_F(AdaptedCheckpoint, WeightsAreReadInBoxesWhereNoAdapterChangesThem) {
  const FamilyAdapter adapter = started();
  const auto weights = adapter.merged(*reader_);
  const std::string adapted = "model.layers.0.self_attn.q_proj.weight";
  EXPECT_FALSE(weights->reads_boxes(adapted));
  EXPECT_FALSE(bitwise_equal(weights->read(adapted), golden_.weights.at(adapted))) << "the adapter counts";

  int in_boxes = 0;
  for (const StageParameter& parameter : stage_of(golden_)->parameters()) {
    const std::string& name = parameter.name;
    const at::Tensor& weight = golden_.weights.at(name);
    const TensorSpec& spec = weights->spec(name);
    ASSERT_EQ(spec.shape, weight.sizes().vec());
    Slice box = whole(spec.shape);
    for (std::size_t d = 0; d < box.begin.size(); ++d) box.begin[d] = spec.shape[d] / 2;
    const at::Tensor part = at::empty(box.shape(), at::TensorOptions(scalar_type_of(spec.dtype)));
    weights->read_into(name, box, static_cast<std::byte*>(part.data_ptr()));
    EXPECT_TRUE(bitwise_equal(part, slice_view(weights->read(name), box).contiguous())) << name;
    if (!weights->reads_boxes(name)) continue;
    EXPECT_TRUE(bitwise_equal(weights->read(name), weight)) << name;
    ++in_boxes;
  }
  EXPECT_GT(in_boxes, 5);
}

}  // namespace
}  // namespace d9d::test
