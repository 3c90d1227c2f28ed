// MOD-31 and MOD-54: a backend that the device or the model cannot have is refused before the start.
#include "runtime/job/rule/backend_rules.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/job/job_text.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_job::error_of;
using testing_job::load;

TEST(BackendRules, LetTheJobChooseWhatItsDeviceHas) {
  const NodeConfig absent = load().job.node;
  EXPECT_EQ(absent.attention, kernels::AttentionBackend::auto_);
  EXPECT_EQ(absent.grouped_product, kernels::GroupedBackend::auto_);
  const NodeConfig node = load({"node.attention=library", "node.grouped_product=expert_by_expert"}).job.node;
  EXPECT_EQ(node.attention, kernels::AttentionBackend::library);
  EXPECT_EQ(node.grouped_product, kernels::GroupedBackend::expert_by_expert);
  EXPECT_EQ(error_of({"node.device=cuda", "node.attention=composed"}), "no error");
  EXPECT_EQ(error_of({"node.device=cuda", "node.attention=library", "node.grouped_product=library",
                      "model_provider.dtype=bfloat16"}),
            "no error");
}

TEST(BackendRules, RefuseWhatTheDeviceLacks) {
  EXPECT_THAT(error_of({"node.attention=eager"}), HasSubstr("node.attention"));
  EXPECT_THAT(error_of({"node.attention=composed"}), HasSubstr("node.attention: composed is for cuda alone"));
  EXPECT_THAT(error_of({"node.grouped_product=library"}),
              HasSubstr("node.grouped_product: library is for cuda alone"));
  EXPECT_THAT(error_of({"node.device=cuda", "node.attention=own", "node.grouped_product=own"}),
              AllOf(HasSubstr("node.attention: own has loops for CPUs alone"),
                    HasSubstr("node.grouped_product: own has loops for CPUs alone")));
}

// MOD-30: a combination that a backend does not compute.
TEST(BackendRules, RefuseShapesAndTypesThatABackendDoesNotCompute) {
  EXPECT_THAT(error_of({"node.attention=own", "model_provider.model.head_dim=520"}),
              HasSubstr("own computes heads of at most 512, and the model's have 520"));
  EXPECT_THAT(error_of({"node.device=cuda", "node.attention=library", "node.grouped_product=library"}),
              AllOf(HasSubstr("node.attention: library on cuda computes bfloat16 alone"),
                    HasSubstr("node.grouped_product: library on cuda computes bfloat16 alone")));
  EXPECT_THAT(error_of({"node.device=cuda", "node.attention=library", "model_provider.dtype=bfloat16",
                        "model_provider.model.head_dim=260"}),
              HasSubstr("the model's have 260 and 260"));
}

}  // namespace
}  // namespace d9d
