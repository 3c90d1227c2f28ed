#include "runtime/plugin/registry.hpp"

#include <gmock/gmock.h>

#include "runtime/task/causal_lm_task.hpp"
#include "runtime/train/gradient/gradient_hook.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using ::testing::HasSubstr;

TEST(Registry, MakesWhatItKnowsAndListsTheNamesOtherwise) {
  Registry registry;
  registry.add_task("one", [](const config::Section&) { return std::make_shared<CausalLmTask>(); });

  EXPECT_NE(registry.make_task("one", {}), nullptr);
  EXPECT_THAT(test::error_of([&] { registry.make_task("two", {}); }),
              HasSubstr("no task is called \"two\"; there are: one"));
  EXPECT_THAT(test::error_of([&] {
                registry.add_task("one",
                                  [](const config::Section&) { return std::make_shared<CausalLmTask>(); });
              }),
              HasSubstr("the task \"one\" is registered twice"));
}

TEST(Registry, NamesAFactoryThatThrowsOrMakesNothing) {
  Registry registry;
  registry.add_gradient_hook("none", [](const config::Section&) { return nullptr; });
  registry.add_gradient_hook("bad", [](const config::Section&) -> std::shared_ptr<GradientHook> {
    throw std::runtime_error("no luck");
  });

  EXPECT_THAT(test::error_of([&] { registry.make_gradient_hook("none", {}); }),
              HasSubstr("the factory of the gradient hook \"none\" made none"));
  EXPECT_THAT(test::error_of([&] { registry.make_gradient_hook("bad", {}); }),
              HasSubstr("the factory of the gradient hook \"bad\" threw: no luck"));
}

TEST(Registry, TakesNoEmptyName) {
  Registry registry;

  EXPECT_THAT(test::error_of([&] {
                registry.add_task("",
                                  [](const config::Section&) { return std::make_shared<CausalLmTask>(); });
              }),
              HasSubstr("a task is registered under an empty name"));
}

}  // namespace
}  // namespace d9d
