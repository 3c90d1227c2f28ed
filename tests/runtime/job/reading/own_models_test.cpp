// What real plugins add is in tests/e2e/plugin/own_family_test.cpp.
#include "runtime/job/reading/own_models.hpp"

#include <gmock/gmock.h>

#include "runtime/base/host/users_library.hpp"
#include "runtime/family/families.hpp"
#include "runtime/family/own/own_decoder.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct AddedDecoder final : OwnDecoder {
  const ModelKeys& keys() const override {
    static const ModelKeys all = decoder_keys("added", "AddedForCausalLM");
    return all;
  }
};

TEST(OwnModels, ErrorsNameWhoRegisters) {
  ModelRegistry registry("the plugin a.so");
  registry.add_family(std::make_unique<FamilyOf<AddedDecoder>>("added", ""));

  EXPECT_NE(find_family("added"), nullptr);
  EXPECT_THAT(error_of([&] { registry.add_family(std::make_unique<FamilyOf<AddedDecoder>>("added", "")); }),
              AllOf(HasSubstr("the plugin a.so registers the family \"added\""), HasSubstr("has already")));
  EXPECT_THAT(error_of([&] { registry.add_adapter_method("stack", nullptr); }),
              HasSubstr("the plugin a.so registers the adapter method \"stack\", which d9d has already"));
}

TEST(OwnModels, ALibraryWithoutAnyIsLeftToWhoLoadsThePlugin) {
  const std::size_t before = families().size();

  load_own_models("libm.so.6");
  load_own_models("no_such_library.so");

  EXPECT_EQ(families().size(), before);
  EXPECT_THAT(error_of([] { require_same_headers("libm.so.6"); }), HasSubstr("does not say which d9d"));
}

}  // namespace
}  // namespace d9d::test
