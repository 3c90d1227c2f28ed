#include "runtime/state/weights/quantised_names.hpp"

#include <gmock/gmock.h>

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// As published folders of these quantisers name them.
TEST(QuantisedNames, TellWhoPackedTheWeights) {
  const auto expect = [](const char* name, const char* quantiser) {
    EXPECT_THAT(quantiser_of({"model.norm.weight", name}), AllOf(HasSubstr(quantiser), HasSubstr(name)));
  };

  expect("model.layers.0.self_attn.q_proj.qweight", "GPTQ or AWQ");
  expect("model.layers.0.self_attn.q_proj.weight_packed", "compressed-tensors");
  expect("model.layers.0.self_attn.q_proj.weight.absmax", "bitsandbytes");
  expect("model.layers.0.self_attn.q_proj.SCB", "bitsandbytes");
  expect("model.layers.0.mlp.experts.gate_up_proj_blocks", "MXFP4");
  expect("model.layers.0.self_attn.q_proj.weight_scale_2", "modelopt");
  expect("model.layers.0.self_attn.q_proj.biases", "MLX");
}

TEST(QuantisedNames, AreNotThoseOfTransformers) {
  EXPECT_EQ(quantiser_of({"model.layers.0.self_attn.q_proj.bias", "model.layers.0.self_attn.q_proj.weight",
                          "model.layers.0.mlp.gate.e_score_correction_bias", "lm_head.weight"}),
            "");
}

}  // namespace
}  // namespace d9d
