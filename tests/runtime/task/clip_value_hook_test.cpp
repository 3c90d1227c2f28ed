#include "runtime/task/clip_value_hook.hpp"

#include <ATen/ops/full.h>
#include <gmock/gmock.h>

#include "runtime/base/config/parse.hpp"
#include "runtime/train/gradient/gradient_hook.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<GradientHook> hook_of(const std::string& text) {
  return make_clip_value_hook({config::parse(text, "job.yaml"), "gradient_hooks[0]"});
}

TEST(ClipValueHook, BringsElementsOfMatchingGradientsIntoTheLimit) {
  const std::string query = "layers.0.q.weight", norm = "layers.0.norm.weight";
  const Layout layout = Layout::local({2});
  GradientContext context;
  for (const std::string* name : {&query, &norm})
    context.gradients.push_back({*name, layout, {}, at::full({2}, -3.0)});

  EXPECT_EQ(hook_of("{match: '*.q.*', limit: 0.5}")->gradients_reduced(context), HookVerdict::update);

  EXPECT_TRUE(context.gradients[0].gradient.equal(at::full({2}, -0.5)));
  EXPECT_TRUE(context.gradients[1].gradient.equal(at::full({2}, -3.0)));
  hook_of("{limit: 2}")->gradients_reduced(context);
  EXPECT_TRUE(context.gradients[1].gradient.equal(at::full({2}, -2.0)));
}

TEST(ClipValueHook, RefusesALimitThatIsNone) {
  EXPECT_THAT(test::error_of([] { hook_of("{limit: 0}"); }), HasSubstr("gradient_hooks[0].limit"));
  EXPECT_THAT(test::error_of([] { hook_of("{match: '*'}"); }), HasSubstr("limit"));
}

}  // namespace
}  // namespace d9d
